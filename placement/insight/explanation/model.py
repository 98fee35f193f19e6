"""The explanation of one request for candidates, as a value.

``explain`` computes it; ``text`` turns it into JSON, a text and a log line. The codes and the
names of the fields are those of the JSON document, and are stable.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

_NO_DETAIL: Mapping[str, object] = MappingProxyType({})

CODES = (
    "root_trait",
    "forbidden_aggregate",
    "aggregate",
    "in_tree",
    "trait",
    "forbidden_trait",
    "no_inventory",
    "unit",
    "capacity",
    "one_provider",
    "combined",
    "isolate",
    "same_subtree",
    "one_provider_per_tree",
)
"""Why a root is lost, in the order of the funnel."""


@dataclass(frozen=True, slots=True)
class ProviderName:
    """A provider, as an operator and as a client know it."""

    uuid: str
    name: str


@dataclass(frozen=True, slots=True)
class FunnelRow:
    """How many roots one requirement removes of those that met everything before it.

    ``group`` is the suffix, ``requirement`` is spelled as in the query. ``detail`` says what
    there is instead; its keys depend on the code, see the API reference.
    """

    code: str
    group: str
    requirement: str
    lost: int
    left: int
    detail: Mapping[str, object] = field(default_factory=lambda: _NO_DETAIL)


@dataclass(frozen=True, slots=True)
class Amounts:
    """The requested amount of a class beside what one provider has of it.

    ``free`` is the capacity less what is used, negative if the provider is overcommitted.
    A provider without inventory of the class has 0 everywhere.
    """

    resource_class: str
    needed: int
    free: int
    capacity: int
    used: int
    reserved: int
    min_unit: int
    max_unit: int
    step_size: int


@dataclass(frozen=True, slots=True)
class Unmet:
    """One requirement that a root does not meet, at the provider that comes closest to it.

    ``traits`` and ``aggregates`` are missing, or in the way if the code is ``forbidden_trait``,
    ``forbidden_aggregate`` or the requirement begins with an exclamation mark.
    """

    code: str
    group: str
    requirement: str
    provider: ProviderName | None = None
    amounts: Amounts | None = None
    traits: tuple[str, ...] = ()
    aggregates: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NearMiss:
    """A root that does not fit, and what it lacks.

    If ``complete``, the search confirmed that the root fits once it has what it lacks.
    """

    root: ProviderName
    unmet: tuple[Unmet, ...]
    complete: bool


@dataclass(frozen=True, slots=True)
class Remedy:
    """A change to the request after which ``roots`` roots have a candidate.

    ``query`` is the changed request. ``change`` is "drop" (of ``requirement``; the request has
    ``instead`` what the API demands then), "amount" (``resource_class`` of ``group`` lowered
    to ``to``), or "both": the two ``changes`` together.
    """

    change: str
    roots: int
    query: str = ""
    requirement: str = ""
    instead: str = ""
    group: str = ""
    resource_class: str = ""
    to: int = 0
    changes: tuple["Remedy", ...] = ()


@dataclass(frozen=True, slots=True)
class Explanation:
    """What each requirement of a request removes, which roots come closest, and what would help.

    ``fits`` roots have a candidate around them; it is None if the funnel did not finish, and
    otherwise the sum of all losses and ``fits`` is ``roots``. ``remedies`` is empty unless
    asked for. ``undetermined`` names what did not finish within the budget: "funnel",
    "near_misses", "remedies", or a requirement whose remedy was not computed.
    """

    query: str
    roots: int
    fits: int | None
    funnel: tuple[FunnelRow, ...]
    near_misses: tuple[NearMiss, ...] = ()
    remedies: tuple[Remedy, ...] = ()
    undetermined: tuple[str, ...] = ()
