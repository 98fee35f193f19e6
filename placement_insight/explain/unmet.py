"""Near misses: what a root lacks, with its facts, words and JSON."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum, StrEnum, auto
from functools import reduce
from typing import Any, Final, TypeAlias, cast

import numpy as np

from placement.core import capacity
from placement.core.model import SHARING_TRAIT, ProviderState
from placement.core.request import RequestGroup
from placement.core.requirement import (
    HasInventory,
    InUnits,
    IsFree,
    MemberOf,
    ProviderRequirement,
    RequiredTrait,
    Requirement,
)
from placement.core.snapshot.rows import mask_of
from placement.core.snapshot.snapshot import Snapshot
from placement.core.text import Names
from placement_insight.documents import Json
from placement_insight.explain import facts
from placement_insight.explain.facts import json_fields
from placement_insight.explain.groups import Scene
from placement_insight.explain.provider_facts import named, tree_amounts, usages
from placement_insight.explain.requirements import AmountTogether

MOST_LISTED = 4

# --- the facts


class Link(StrEnum):
    """What is missing to use another provider: for a group, a single one with all classes."""

    PROVIDER = "provider"
    SHARING_TRAIT = "sharing_trait"
    AGGREGATE = "aggregate"
    TREE = "tree"


@dataclass(frozen=True, slots=True)
class Beside:
    """A provider that could be used with the missing link.

    ``others`` are the classes of the group that the provider without this class has.
    """

    provider: facts.ProviderName
    missing: Link
    resource_class: str
    others: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.provider.name} {_LINKED[self.missing].format(self.resource_class)}"


_LINKED: Final = {
    Link.PROVIDER: "has {}",
    Link.SHARING_TRAIT: f"of the same aggregate has it, without the trait {SHARING_TRAIT}",
    Link.AGGREGATE: "has it and shares it, with other aggregates",
    Link.TREE: "has it, in another tree",
}


@dataclass(frozen=True, slots=True)
class NoAmounts:
    """No facts: a condition without an amount."""


@dataclass(frozen=True, slots=True)
class UnusedTrait:
    """A provider has the trait, but supplies nothing; or ``supplies``, but lacks other traits."""

    unused: facts.ProviderName
    supplies: bool


@dataclass(frozen=True, slots=True)
class OfAmount:
    """``amounts`` are of one provider, or of all providers that the root can use."""

    amounts: facts.CapacityFacts


class NotFree(OfAmount):
    """A provider has too little free."""


class NotInUnits(OfAmount):
    """The units of a provider do not admit the amount."""


@dataclass(frozen=True, slots=True)
class AllocatableOn:
    """The most that one consumer can have on a provider."""

    provider: facts.ProviderName
    allocatable: int

    def __str__(self) -> str:
        return f"{self.allocatable} on {self.provider.name}"


@dataclass(frozen=True, slots=True)
class SumIsShort(OfAmount):
    """The providers have too little together, or not in the amounts of the groups.

    ``on`` are those that meet the conditions of a group, the largest amount first.
    """

    on: tuple[AllocatableOn, ...]

    def text(self, groups: Iterable[RequestGroup], names: Names) -> str:
        """Return the sum; if it is enough, what each group needs, and what is where."""
        amounts, name = self.amounts, self.amounts.resource_class
        if amounts.free < amounts.needed:
            return f"{amounts} together"
        needed = (
            f"{group.resources[name]}{facts.in_group(names, group.suffix)}"
            for group in groups
            if name in group.resources
        )
        return f"not together: {name} {_listed(needed)}; allocatable: {_listed(map(str, self.on))}"


def _listed(texts: Iterable[str]) -> str:
    listed = list(texts) or ["nothing"]
    more = [f"{len(listed) - MOST_LISTED} more"] if len(listed) > MOST_LISTED else []
    return ", ".join([*listed[:MOST_LISTED], *more])


@dataclass(frozen=True, slots=True)
class OnlyTogether(OfAmount):
    """Several providers of the tree have the amount together, and none has it alone."""

    tree: facts.TreeAmounts


@dataclass(frozen=True, slots=True)
class Absent(OfAmount):
    """No provider that the root can use has the class; one of another tree may have it."""

    beside: Beside | None


@dataclass(frozen=True, slots=True)
class Apart(OfAmount):
    """Another provider of the tree has the class, but not the other classes of the group."""

    beside: Beside


UnmetFacts: TypeAlias = (
    NoAmounts | UnusedTrait | NotFree | NotInUnits | SumIsShort | OnlyTogether | Absent | Apart
)


# --- the values and their words


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
    facts: UnmetFacts
    shared: bool
    is_named: bool
    change: str = ""

    def text(self, names: Names, groups: Iterable[str] = ()) -> str:
        """Return what the group, or all of these groups, lack: amounts, or else in words."""
        where, provider = facts.in_group(names, *(groups or (self.group,))), self.provider.name
        at = f"{provider}: " if self.is_named else ""
        match self.facts:
            case UnusedTrait(other, supplies):
                but = "not all of the other traits" if supplies else "supplies none of the amounts"
                text = f"{other.name} has {' or '.join(self.names)}, but {but}"
            case OnlyTogether(amounts, tree):
                text = tree.together(amounts.resource_class) + where
            case Apart(_, beside):
                having = f"{provider} has {' and '.join(beside.others)}"
                text = f"{having}, {beside}, none has all{where}"
            case SumIsShort() as short if isinstance(self.requirement, AmountTogether):
                text = short.text(self.requirement.groups, names)
            case NotFree(amounts):
                text = f"{at}{amounts}{where}"
            case NotInUnits(amounts):
                limits = amounts.min_unit, amounts.max_unit, (amounts.step_size,)
                text = at + facts.outside(amounts.resource_class, amounts.needed, *limits) + where
            case _:
                text = f"{at}{self.requirement.unmet(names, self.names)}{where}"
                if isinstance(self.facts, Absent) and self.facts.beside:
                    text = f"{text}: {self.facts.beside}"
        return text

    def document(self, names: Names) -> Json:
        """Return the unmet requirement as a JSON object."""
        fields: dict[str, Any] = json_fields(self.facts)
        amounts = fields.pop("amounts", {})
        return {
            "code": self.requirement.code,
            "group": self.group,
            "requirement": self.requirement.spelled(self.group),
            "provider": json_fields(self.provider),
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
        """Return the requirements in words, equal ones once; of one, that everything else fits."""
        equal: dict[tuple[bool, str], dict[str, Unmet]] = {}
        for unmet in self.unmet:
            key = bool(unmet.group), replace(unmet, group="").text(names)
            equal.setdefault(key, {})[unmet.group] = unmet
        lacks = [next(iter(each.values())).text(names, each) for each in equal.values()]
        is_complete = self.completeness is Completeness.CONFIRMED
        is_all = len(lacks) == 1 and is_complete and not isinstance(self.unmet[0].facts, OfAmount)
        return ", ".join(lacks) + ("; everything else fits" if is_all else "")

    def document(self, names: Names) -> Json:
        """Return the root as a JSON object."""
        return {
            **json_fields(self.root),
            "unmet": [unmet.document(names) for unmet in self.unmet],
            "text": self.text(names),
            "complete": self.completeness is Completeness.CONFIRMED,
            **({"cut": True} if self.completeness is Completeness.CUT else {}),
        }


# --- what the roots lack


def near_misses(scene: Scene, closest: Iterable[Closest]) -> Iterator[NearMiss]:
    """Yield the roots with the facts about what they lack."""
    groups = {group.suffix: group for group in scene.slotted.request.groups}
    for each in closest:
        in_groups = [(lack, groups.get(lack.group, RequestGroup())) for lack in each.lacks]
        unmet = (_unmet(scene, each, group, lack) for lack, group in in_groups)
        yield NearMiss(named(scene.snapshot, each.root), tuple(unmet), each.completeness)


def _unmet(scene: Scene, closest: Closest, group: RequestGroup, lack: Lack) -> Unmet:
    """Return what a root lacks, with the amounts, and with what else its tree has.

    The provider is named if the sentence would be false of another provider of the tree.
    """
    snapshot, root, usable = scene.snapshot, closest.root, closest.usable
    row = snapshot.forest.row_of[lack.provider]
    provider, shared = named(snapshot, row), row not in snapshot.forest.members(root)
    is_named, own = False, cast("UnmetFacts", NoAmounts())
    match lack.requirement:
        case ProviderRequirement() as condition:
            own, others = _of_condition(snapshot, root, group, condition, lack.names)
            may_be_root = not group.suffix or condition.is_forbidding
            is_named = others and not (row == root and may_be_root)
        case AmountTogether(name) as joint:
            own = _sum(scene, usable, name, joint.needed)
        case HasInventory() | InUnits() | IsFree() as amount:
            own = _of_amount(scene, root, group, amount, row)
            able = sum(amount.resource_class in each.inventories for each in usable)
            is_named = row != root and able > 1
            if isinstance(amount, HasInventory):
                classes = snapshot.entries.state(row).inventories.keys() & group.resources.keys()
                of_several = bool(group.suffix) and bool(able or (classes and row != root))
                is_named = of_several or (row != root and bool(able))
    values = lack.requirement, lack.group, provider, lack.names, own
    return Unmet(*values, shared=shared, is_named=shared or is_named)


def _sum(scene: Scene, usable: Sequence[ProviderState], name: str, needed: int) -> SumIsShort:
    """Return the sum of a class, and what providers have that meet the conditions of a need."""
    amounts = ((need, amount) for need in scene.needs for amount in need.amounts)
    meeting = [need.meeting for need, amount in amounts if amount.resource_class == name]
    able = np.logical_or.reduce(meeting).any(axis=0)
    row_of = scene.snapshot.forest.row_of
    on = [
        AllocatableOn(facts.ProviderName(state.provider.uuid, state.provider.name), amount)
        for state in usable
        for amount in [capacity.allocatable(*each) for each in usages([state], name)]
        if amount > 0 and able[row_of[state.provider.uuid]]
    ]
    on.sort(key=lambda each: -each.allocatable)
    return SumIsShort(_amounts(usable, name, needed), tuple(on))


def _of_condition(
    snapshot: Snapshot,
    root: int,
    group: RequestGroup,
    condition: ProviderRequirement,
    names: Iterable[str],
) -> tuple[UnmetFacts, bool]:
    """Return the facts of a condition, and whether a provider of the tree meets it.

    A provider without a class of the group may well have no forbidden trait.
    """
    met, states = condition.providers(snapshot), snapshot.entries.state
    meeting = [row for row in snapshot.forest.members(root) if met[row]]
    serving = [row for row in meeting if states(row).inventories.keys() & group.resources.keys()]
    is_joint = isinstance(condition, RequiredTrait) and not group.suffix
    if is_joint and (not serving or len(group.resources) > 1):
        having = (row for row in serving or meeting if not states(row).traits.isdisjoint(names))
        if (row := next(having, None)) is not None:
            return UnusedTrait(named(snapshot, row), bool(serving)), True
    return NoAmounts(), bool(serving if condition.is_forbidding else meeting)


def _of_amount(
    scene: Scene,
    root: int,
    group: RequestGroup,
    requirement: HasInventory | InUnits | IsFree,
    row: int,
) -> UnmetFacts:
    snapshot, name, needed = scene.snapshot, requirement.resource_class, requirement.amount
    rows, states = snapshot.forest.members(root), snapshot.entries.state
    amounts = _amounts([states(row)], name, needed)
    if not isinstance(requirement, HasInventory):
        (met,) = (each.needs[0].meeting[0] for each in scene.groups if each.requested == group)
        together = tree_amounts((states(row) for row in rows if met[row]), name, needed)
        kind = NotFree if isinstance(requirement, IsFree) else NotInUnits
        return OnlyTogether(amounts, together) if together else kind(amounts)
    classes = tuple(each for each in group.resources if each in states(row).inventories)
    having = [at for at in rows if name in states(at).inventories]
    if group.suffix and classes and having and row in rows:
        return Apart(amounts, Beside(named(snapshot, having[0]), Link.PROVIDER, name, classes))
    return Absent(amounts, _beside(snapshot, root, name, group))


def _amounts(providers: Iterable[ProviderState], name: str, needed: int) -> facts.CapacityFacts:
    """Return the sums of inventories and usage of a class over some providers."""
    by_provider = list(usages(providers, name))
    total = sum(capacity.integer_capacity(inventory) for inventory, _ in by_provider)
    used = sum(amount for _, amount in by_provider)
    is_one = len(by_provider) == 1  # of several, an overcommitted one takes nothing from others
    return facts.CapacityFacts(
        resource_class=name,
        needed=needed,
        free=total - used if is_one else sum(capacity.free(*each) for each in by_provider),
        capacity=total,
        used=used,
        reserved=sum(inventory.reserved for inventory, _ in by_provider),
        min_unit=min((inventory.min_unit for inventory, _ in by_provider), default=0),
        max_unit=max((inventory.max_unit for inventory, _ in by_provider), default=0),
        step_size=min((inventory.step_size for inventory, _ in by_provider), default=0),
        state=(capacity.occupation(*by_provider[0]) or None) if is_one else None,
    )


def _beside(snapshot: Snapshot, root: int, name: str, group: RequestGroup) -> Beside | None:
    """Return a provider of another tree that has a class, and why the root cannot use it.

    It is in an aggregate of the root's tree and has no class of this tree (else it is another
    host), or shares its inventory with others, or its name begins with the name of the root. If it
    is shared with the root, the reason is told only if it is the tree that the group names.
    """
    trees, sharing = snapshot.tree_aggregates, snapshot.sharing.mask(snapshot.size)
    having = mask_of(snapshot.column(name).rows, snapshot.size) & (snapshot.forest.root != root)
    aggregates = frozenset(trees.aggregates[trees.number.item(root)])
    in_aggregates = MemberOf(aggregates).providers(snapshot)
    is_in_tree = any(each.named_provider for each in group.requirements)
    states = map(snapshot.entries.state, snapshot.forest.members(root))
    own = frozenset[str]().union(*(state.inventories for state in states))
    same = (mask_of(snapshot.column(each).rows, snapshot.size) for each in own)
    pools = having & ~reduce(np.logical_or, same, sharing)
    serves = bool(group.suffix) or not own.isdisjoint(group.resources)
    for link, rows in (
        (Link.SHARING_TRAIT, pools & in_aggregates & (serves and not sharing[root])),
        (Link.TREE, having & in_aggregates & sharing & is_in_tree),
        (Link.AGGREGATE, having & ~in_aggregates & sharing),
    ):
        if rows.any():
            return Beside(named(snapshot, int(np.argmax(rows))), link, name)
    host = named(snapshot, root).name
    providers = (named(snapshot, row) for row in np.flatnonzero(having).tolist())
    parts = (each for each in providers if each.name.startswith(host) and each.name != host)
    part = next((each for each in parts if not each.name[len(host)].isalnum()), None)
    return None if part is None else Beside(part, Link.TREE, name)
