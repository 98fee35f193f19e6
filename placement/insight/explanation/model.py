"""The explanation of one request for candidates, as a value.

``explain`` computes it, and ``document`` turns it into JSON with the same codes and field names,
which are stable. ``text`` turns the JSON into a text and a log line.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

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
"""The reasons for the loss of a root, in the order of the funnel."""


@dataclass(frozen=True, slots=True)
class ProviderName:
    """The UUID and the name of a provider."""

    uuid: str
    name: str


@dataclass(frozen=True, slots=True)
class FunnelRow:
    """The number of roots that one requirement removes from the roots left by earlier rows.

    ``group`` is the suffix, ``requirement`` is spelled as in the query. ``detail`` has facts about
    the existing providers. Its keys depend on the code: see the API reference.
    """

    code: str
    group: str
    requirement: str
    lost: int
    left: int
    detail: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Amounts:
    """The requested amount of a class, and the inventory and usage of one provider.

    ``free`` is the capacity minus the used amount. It is negative if the provider is
    overcommitted.
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
class TreeAmounts:
    """The free amounts of a class in one tree, which together are enough and alone are not.

    ``providers`` is the number of providers with free capacity, ``largest`` the largest amount.
    """

    free: int
    providers: int
    largest: int


@dataclass(frozen=True, slots=True)
class Unmet:
    """One requirement that a root does not meet, with the provider that comes closest to it.

    ``traits`` and ``aggregates`` are the missing ones. They are the forbidden ones of the provider
    if the code is ``forbidden_trait`` or ``forbidden_aggregate``, or if the requirement forbids a
    trait with an exclamation mark. ``shared`` is whether the provider is in another tree, which
    shares it with the root. ``tree`` is set if several providers of the tree have the amount
    together.
    """

    code: str
    group: str
    requirement: str
    provider: ProviderName | None = None
    amounts: Amounts | None = None
    traits: tuple[str, ...] = ()
    aggregates: tuple[str, ...] = ()
    shared: bool = False
    tree: TreeAmounts | None = None

    @property
    def is_forbidden(self) -> bool:
        """Whether the provider has the traits or aggregates, and the requirement forbids them."""
        return "=!" in self.requirement

    @property
    def is_sum(self) -> bool:
        """Whether ``amounts`` are sums over all providers that the root can use."""
        return self.code == "combined"


@dataclass(frozen=True, slots=True)
class NearMiss:
    """A root that does not fit, and the requirements that it does not meet.

    If ``complete``, the search confirmed that the root fits once it meets these requirements.
    """

    root: ProviderName
    unmet: tuple[Unmet, ...]
    complete: bool


@dataclass(frozen=True, slots=True)
class Remedy:
    """A change to the request after which ``roots`` roots have a candidate.

    ``query`` is the changed request. ``change`` is "drop" (``requirement`` is removed;
    ``instead`` is the parameter that the API then requires), "amount" (the amount of
    ``resource_class`` in ``group`` is lowered to ``to``), "split" (the amount is divided among
    ``parts`` groups, with at most ``to`` each), "unsuffix" (the group loses its suffix:
    ``instead`` replaces ``requirement``), or "both": the two ``changes`` together. ``alike`` are
    the suffixes of all groups in which the same change has the same result.
    """

    change: str
    roots: int
    query: str = ""
    requirement: str = ""
    instead: str = ""
    group: str = ""
    resource_class: str = ""
    to: int = 0
    parts: int = 0
    alike: tuple[str, ...] = ()
    changes: tuple["Remedy", ...] = ()


@dataclass(frozen=True, slots=True)
class Explanation:
    """The losses of a request by requirement, the closest roots, and changes that would help.

    ``fits`` is the number of roots with a candidate, None if the funnel did not finish. If the
    funnel finished, the sum of all losses and ``fits`` is ``roots``. ``remedies`` is empty unless
    the caller requests remedies. If the caller asks about one ``root``, ``near_misses`` has this
    root only, unless it fits; ``root`` has its UUID, its name and whether it ``fits``, which is
    None if the funnel did not finish. ``undetermined`` names the computations that did not finish
    within the budget: "funnel", "near_misses", "remedies". ``names`` has the names of the
    providers whose trees the request names, by UUID.
    """

    query: str
    roots: int
    fits: int | None
    funnel: tuple[FunnelRow, ...]
    near_misses: tuple[NearMiss, ...] = ()
    remedies: tuple[Remedy, ...] = ()
    undetermined: tuple[str, ...] = ()
    root: Mapping[str, object] | None = None
    names: Mapping[str, str] = field(default_factory=dict)
