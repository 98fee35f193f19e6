"""The explanation of one request for candidates, as a value.

``explain`` computes it, and the method ``document`` turns it into JSON. Field names and codes are
stable; later releases may add fields. Rows, unmet requirements and remedies have the field
``text`` with their sentence; it names providers that the requirement identifies by UUID. ``text``
turns the JSON into a text and a log line.
"""

# ruff: noqa: D102 - the base class documents the methods of all requirements
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from enum import Enum, auto
from typing import Any, Final, TypeAlias

from placement.core.model import ProviderState
from placement.core.request import RequestGroup
from placement.core.requirement import (
    ForbiddenRootTrait,
    ForbiddenTrait,
    GroupsRequirement,
    HasInventory,
    InEach,
    InTree,
    InUnits,
    IsFree,
    Isolate,
    MemberOf,
    NotMemberOf,
    OneProviderPerTree,
    ProviderRequirement,
    RequiredTrait,
    Requirement,
    RootTrait,
    SameSubtree,
)
from placement.core.text import NO_NAMES, Names, timestamp
from placement_insight.documents import Json, document
from placement_insight.explain import facts
from placement_insight.explain.changes import Change, Remedy


class _OfGroups(Requirement):
    """A requirement on the providers of groups together; ``shown`` are the groups to spell."""

    __slots__ = ()
    parameter = ""
    unmet_form = "not together: {value}"
    subject = "resource_classes"

    @property
    def shown(self) -> tuple[RequestGroup, ...]:
        raise NotImplementedError

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for group in self.shown for name in group.resources))

    def value(self, names: Names = NO_NAMES) -> str:
        return "&".join(text for group in self.shown for text in group.spelled(names))

    def spelled(self, _suffix: str = "", names: Names = NO_NAMES) -> str:
        return self.value(names)


@dataclass(frozen=True, slots=True)
class OneProvider(_OfGroups):
    """One provider meets all of a group."""

    code = "one_provider"
    unmet_form = "no single provider for {value}"
    group: RequestGroup

    @property
    def shown(self) -> tuple[RequestGroup, ...]:
        return (self.group,)


@dataclass(frozen=True, slots=True)
class TraitTogether(_OfGroups):
    """One of the providers of the unsuffixed group has one of the traits of a list."""

    code = "combined"
    requirement: ProviderRequirement
    group: RequestGroup

    @property
    def shown(self) -> tuple[RequestGroup, ...]:
        traits = tuple(each for each in self.group.requirements if each.can_be_joint)
        return (RequestGroup("", self.group.resources, traits),)


@dataclass(frozen=True, slots=True)
class AmountTogether(_OfGroups):
    """The providers have the sum of the amounts of a class that several groups request."""

    code = "combined"
    resource_class: str
    groups: tuple[RequestGroup, ...]

    @property
    def needed(self) -> int:
        """The sum of the amounts."""
        return sum(group.resources.get(self.resource_class, 0) for group in self.groups)

    @property
    def shown(self) -> tuple[RequestGroup, ...]:
        return tuple(RequestGroup(group.suffix, group.resources) for group in self.groups)


JointCondition: TypeAlias = TraitTogether | AmountTogether | GroupsRequirement
"""A condition between the slots of a request."""

REQUIREMENTS: Final[tuple[type[Requirement], ...]] = (
    *(RootTrait, ForbiddenRootTrait, NotMemberOf, MemberOf, InEach, InTree),
    *(RequiredTrait, ForbiddenTrait, HasInventory, InUnits, IsFree),
    *(OneProvider, TraitTogether, AmountTogether),
    *(Isolate, SameSubtree, OneProviderPerTree),
)
"""What a host can fail, in the order of the funnel."""

CODES: Final = tuple(dict.fromkeys(requirement.code for requirement in REQUIREMENTS))
"""The reasons for the loss of a root, in the order of the funnel."""

PLACES: Final = {requirement: CODES.index(requirement.code) for requirement in REQUIREMENTS}
"""The place of each requirement in the order of the funnel."""

UNDETERMINED: Final = "undetermined"
"""The reason of an empty response that was not explained within the budget."""
NO_PROVIDERS: Final = "no_providers"
"""The reason of an empty response if no roots exist."""


@dataclass(frozen=True, slots=True)
class FunnelRow:
    """The number of roots that one requirement removes from the roots left by earlier rows.

    ``group`` is the suffix. ``facts`` are about the existing providers. ``change`` is the sentence
    of the recorded change that explains the row, empty if there is none.
    """

    requirement: Requirement
    group: str
    lost: int
    left: int
    facts: facts.Facts
    change: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """The traits and aggregates of the requirement, or the classes that are short."""
        if isinstance(self.requirement, TraitTogether):
            return ()  # no class is
        return (
            self.facts.short if isinstance(self.facts, facts.SumFacts) else self.requirement.names
        )

    def text(self, names: Names) -> str:
        """Return the reason in words."""
        phrase = self.facts.phrase() or self.requirement.unmet(names)
        is_whole = isinstance(self.requirement, OneProvider)
        return phrase + ("" if is_whole else facts.in_group(self.group, names))

    def document(self, names: Names) -> Json:
        """Return the row as a JSON object."""
        return {
            "code": self.requirement.code,
            "group": self.group,
            "requirement": self.requirement.spelled(self.group),
            "lost": self.lost,
            "left": self.left,
            "detail": _fields(self.facts, self.group),
            "text": self.text(names),
            "note": self.facts.note(names),
            **({"change": self.change} if self.change else {}),
        }


# --- unmet requirements


@dataclass(frozen=True, slots=True)
class Lack:
    """One requirement that a root does not meet, at the provider that comes closest to it.

    ``names`` are the traits or aggregates that the provider lacks, or must not have.
    """

    requirement: Requirement
    group: str
    provider: str
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Closest:
    """The row of a root that does not fit, what it lacks, and the providers that it can use.

    ``distance`` is the number of unmet requirements; one on a class that it cannot use counts
    twice.
    """

    root: int
    lacks: Sequence[Lack]
    usable: Sequence[ProviderState]
    completeness: "Completeness"
    distance: int


@dataclass(frozen=True, slots=True)
class Unmet:
    """A lack with its facts.

    ``shared`` is whether the provider is in another tree, which shares it with the root,
    ``is_named`` whether another provider may be meant. ``change``: see ``FunnelRow``.
    """

    requirement: Requirement
    group: str
    provider: facts.ProviderName
    names: tuple[str, ...]
    facts: facts.UnmetFacts
    shared: bool
    is_named: bool
    change: str = ""

    def text(self, names: Names) -> str:
        """Return the requirement as amounts, or in words if it has no amounts."""
        where, provider = facts.in_group(self.group, names), self.provider.name
        at = f"{provider}: " if self.is_named else ""
        text = f"{at}{self.requirement.unmet(names, self.names)}{where}"
        match self.facts:
            case facts.UnusedTrait(other):
                traits = " or ".join(self.names)
                text = f"{other.name} has {traits}, but supplies none of the amounts"
            case facts.OnlyTogether(amounts, tree):
                text = tree.together(amounts.resource_class) + where
            case facts.Apart(_, beside):
                having = f"{provider} has {' and '.join(beside.others)}"
                text = f"{having}, {beside}, none has all{where}"
            case facts.SumIsShort(amounts) if amounts.free < amounts.needed:
                text = f"{amounts} together"
            case facts.NotFree(amounts):
                text = f"{at}{amounts}{where}"
            case facts.NotInUnits(amounts):
                limits = amounts.min_unit, amounts.max_unit, (amounts.step_size,)
                text = at + facts.outside(amounts.resource_class, amounts.needed, *limits) + where
            case facts.Absent(_, facts.Beside() as beside):
                text = f"{text}: {beside}"
        return text

    def document(self, names: Names) -> Json:
        """Return the unmet requirement as a JSON object."""
        fields: dict[str, Any] = _fields(self.facts)
        amounts = fields.pop("amounts", {})
        return {
            "code": self.requirement.code,
            "group": self.group,
            "requirement": self.requirement.spelled(self.group),
            "provider": _fields(self.provider),
            **({self.requirement.subject: self.names} if self.names else {}),
            **({"shared": True} if self.shared else {}),
            **fields,
            **amounts,
            "text": self.text(names),
            **({"change": self.change} if self.change else {}),
        }


class Completeness(Enum):
    """Whether a list of unmet requirements is known to be all of them.

    ``NOT_CONFIRMED``: a group forbids what another one lacks. ``CUT``: the time limit passed.
    """

    CONFIRMED = auto()
    NOT_CONFIRMED = auto()
    CUT = auto()


@dataclass(frozen=True, slots=True)
class NearMiss:
    """A root that does not fit, and the requirements that it does not meet.

    If they are ``CONFIRMED``, the search found that the root fits once it meets them.
    """

    root: facts.ProviderName
    unmet: tuple[Unmet, ...]
    completeness: Completeness

    def text(self, names: Names) -> str:
        """Return the requirements in words, and that all others are met if it is one condition."""
        lacks = dict.fromkeys(unmet.text(names) for unmet in self.unmet)
        is_complete = self.completeness is Completeness.CONFIRMED
        is_all = (
            len(lacks) == 1 and is_complete and not isinstance(self.unmet[0].facts, facts.OfAmount)
        )
        return ", ".join(lacks) + ("; everything else fits" if is_all else "")

    def document(self, names: Names) -> Json:
        """Return the root as a JSON object."""
        return {
            **_fields(self.root),
            "unmet": [unmet.document(names) for unmet in self.unmet],
            "text": self.text(names),
            "complete": self.completeness is Completeness.CONFIRMED,
            **({"cut": True} if self.completeness is Completeness.CUT else {}),
        }


@dataclass(frozen=True, slots=True)
class Explanation:
    """The losses of a request by requirement, the closest roots, and changes that would help.

    ``fits`` is the number of roots with a candidate, None if the funnel did not finish. If the
    funnel finished, the sum of all losses and ``fits`` is ``roots``. ``remedies`` is empty unless
    the caller requests remedies. If the caller asks about one ``root``, ``near_misses`` has this
    root only, unless it fits; ``root_fits`` is None if the funnel did not finish. ``undetermined``
    names the computations that did not finish within the budget: "funnel", "near_misses",
    "remedies". ``names`` has the names of the providers whose trees the request names, by UUID,
    and the numbers of the ``numbered`` groups, by suffix.
    """

    query: str
    microversion: str
    roots: int
    fits: int | None
    funnel: tuple[FunnelRow, ...]
    near_misses: tuple[NearMiss, ...] = ()
    remedies: tuple[Remedy[Change], ...] = ()
    undetermined: tuple[str, ...] = ()
    root: facts.ProviderName | None = None
    root_fits: bool | None = None
    names: Names = field(default_factory=dict)
    numbered: tuple[RequestGroup, ...] = ()

    @property
    def last(self) -> FunnelRow | None:
        """The row that removed the last roots of a request that no root fits."""
        return self.funnel[-1] if self.funnel and self.fits == 0 else None

    @property
    def reason(self) -> str:
        """The code of the reason why a request has no candidates."""
        if self.fits is None:
            return UNDETERMINED
        return self.last.requirement.code if self.last else NO_PROVIDERS

    def document(self) -> Json:
        """Return the JSON document of an explanation that was computed now."""
        names = self.names
        of_root = {**_fields(self.root), "fits": self.root_fits} if self.root else None
        optional = {"groups": [*self._groups()], "root": of_root}
        return document(
            query=self.query,
            microversion=self.microversion,
            at=timestamp(datetime.now(UTC)),
            roots=self.roots,
            fits=self.fits,
            funnel=[row.document(names) for row in self.funnel],
            near_misses=[miss.document(names) for miss in self.near_misses],
            remedies=[remedy.document(names) for remedy in self.remedies],
            undetermined=self.undetermined,
            **{name: value for name, value in optional.items() if value},
        )

    def _groups(self) -> Iterator[Json]:
        for group in self.numbered:
            number, parameters = self.names[group.suffix], replace(group, suffix="")
            spelled = "&".join(parameters.spelled(self.names))
            text = f"group {number}: {spelled}, suffix {group.suffix}"
            yield {"group": group.suffix, "number": number, "text": text}


def _fields(value: facts.Facts | facts.ProviderName | facts.UnmetFacts, suffix: str = "") -> Json:
    """Return the fields that are not None; the requirement of a fact is spelled."""
    if isinstance(value, facts.Facts) and value.excluded:
        provider, requirement = value.excluded.provider, value.excluded.requirement
        spelled = {"code": requirement.code, "requirement": requirement.spelled(suffix)}
        excluded = {"provider": _fields(provider), **spelled}
        return {**_fields(replace(value, excluded=None)), "excluded": excluded}
    return asdict(
        value, dict_factory=lambda pairs: {name: each for name, each in pairs if each is not None}
    )
