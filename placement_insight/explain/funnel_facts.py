"""The facts in a row of the funnel: the existing providers and amounts.

``lost`` are the roots that the requirement removed.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np

from placement.core.requirement import (
    InEach,
    InTree,
    MemberOf,
    ProviderRequirement,
    RequiredTrait,
    RootTrait,
)
from placement.core.search.anchors import roots_in_aggregates, roots_of
from placement.core.search.filters import AmountCondition, Condition
from placement.core.search.slots import SlottedRequest
from placement.core.snapshot.columns import MAX_FREE
from placement.core.snapshot.rows import AmountArray, Mask, Numbers
from placement.core.snapshot.snapshot import Snapshot
from placement_insight.explain.facts import (
    EqualGroups,
    Excluded,
    Facts,
    FreeFacts,
    InventoryFacts,
    MemberFacts,
    OutsideSharer,
    PartsFacts,
    RootFacts,
    SumFacts,
    TraitFacts,
    TreeAmounts,
    TreeFacts,
    UnitFacts,
    Unused,
)
from placement_insight.explain.groups import Group, GroupNeed, Providers, meeting, reached_roots
from placement_insight.explain.near_miss_facts import named, tree_amounts


def of_root_condition(snapshot: Snapshot, condition: Condition, _lost: Mask) -> Facts:
    """Return how many providers have a required trait, and how many of them are roots."""
    if not isinstance(condition.requirement, RootTrait):
        return Facts()
    return RootFacts(
        providers=int(np.count_nonzero(condition.local)),
        roots=int(np.count_nonzero(condition.local & snapshot.forest.is_root)),
    )


def of_condition(snapshot: Snapshot, group: Group, condition: Condition, lost: Mask) -> Facts:
    """Return the number of providers that meet a requirement, and one that cannot serve the group.

    A root may be lost although it is in the aggregate, or reaches a provider with the trait.
    """
    match condition.requirement:
        case InTree(uuid):
            return TreeFacts(uuid in snapshot.forest.row_of)
        case RequiredTrait() as requirement:
            having = requirement.providers(snapshot)
            facts = _trait_facts(snapshot, group, condition, int(np.count_nonzero(having)))
            if facts.without:  # says the same of other providers than roots
                having = having & snapshot.forest.is_root
            return replace(facts, unused=_unused(snapshot, group, requirement, having, lost))
        case MemberOf() | InEach() as requirement:
            names, having = requirement.names, requirement.providers(snapshot)
            is_one = isinstance(requirement, MemberOf)
            return MemberFacts(
                members=int(np.count_nonzero(having)),
                outside=_shared_from_outside(snapshot, group, condition, lost),
                also_excluded=names if group.group.unwanted.issuperset(names) else None,
                unused=_unused(snapshot, group, requirement, having, lost) if is_one else None,
            )
    return Facts()


def _shared_from_outside(
    snapshot: Snapshot, group: Group, condition: Condition, lost: Mask
) -> OutsideSharer | None:
    """Return a sharing provider outside the aggregate that lost roots in the aggregate need.

    No provider that is in the aggregate and can serve these roots has the classes of a need.
    """
    members = lost & roots_of(snapshot, condition.local)
    for need in group.needs:
        depending = members & ~reached_roots(snapshot, need.considered & meeting(condition))
        outside = np.flatnonzero(need.considered[1] & ~condition.shared).tolist()
        aggregates = _aggregates(snapshot, depending) if outside else frozenset()
        for row in outside:
            shared = snapshot.entries.state(row).aggregates
            if shared & aggregates:
                roots = depending & roots_in_aggregates(snapshot, shared)
                return OutsideSharer(
                    provider=named(snapshot, row),
                    resource_classes=tuple(amount.resource_class for amount in need.amounts),
                    roots=int(np.count_nonzero(roots)),
                )
    return None


def _aggregates(snapshot: Snapshot, roots: Mask) -> frozenset[str]:
    """Return the aggregates of the trees of some roots."""
    trees = snapshot.tree_aggregates
    numbers = np.unique(trees.number[roots]).tolist()
    return frozenset[str]().union(*(trees.aggregates[number] for number in numbers))


def _unused(
    snapshot: Snapshot, group: Group, requirement: ProviderRequirement, having: Mask, lost: Mask
) -> Unused | None:
    """Return the lost roots of whose trees a provider has the names, and not all classes."""
    present = [amount.present for need in group.needs for amount in need.amounts]
    having = having & lost[snapshot.forest.root]
    rows = np.flatnonzero(having & ~reduce(np.logical_and, present, having))
    if not len(rows):
        return None
    first, roots = rows.item(0), len(np.unique(snapshot.forest.root[rows]))
    return Unused(
        named(snapshot, first),
        roots,
        requirement.names,
        is_all=roots == int(np.count_nonzero(lost)),
        partly=any(bool(mask[first]) for mask in present),
    )


def _trait_facts(
    snapshot: Snapshot, group: Group, condition: Condition, having: int
) -> TraitFacts:
    """Return a provider with the trait that fails another requirement of its group.

    Without a provider that has both the trait and the classes, return the classes.
    """
    able = [(need, meeting(condition) & need.considered) for need in group.needs]
    classes = [amount.resource_class for need in group.needs for amount in need.amounts]
    if not any(providers.any() for _, providers in able):
        together = (len(classes) > 1 and bool(group.suffix)) or None
        return TraitFacts(having, without=tuple(classes) or None, together=together)
    for need, providers in able:
        for other in need.conditions:
            failing = np.flatnonzero((providers & ~meeting(other)).any(axis=0)).tolist()
            if failing and not (providers & meeting(other)).any():
                excluded = Excluded(named(snapshot, failing[0]), other.requirement)
                return TraitFacts(having, excluded=excluded)
    return TraitFacts(having)


@dataclass(frozen=True, slots=True)
class OfAmount:
    """The facts about a class of a need, and the providers that the conditions left."""

    snapshot: Snapshot
    need: GroupNeed
    amount: AmountCondition
    providers: Providers

    def inventory(self, _lost: Mask) -> InventoryFacts:
        """Return the number of providers with an inventory of the class."""
        return InventoryFacts(self.amount.resource_class, len(self.amount.column.rows))

    def units(self, lost: Mask) -> UnitFacts:
        """Return the widest limits of the considered providers, and whether all are equal."""
        column = self.amount.column
        considered, tree = self._considered(lost)
        excluded = self._excluded(self.amount.unit, lost)
        facts = UnitFacts(
            self.amount.resource_class, self.amount.amount, tree=tree, excluded=excluded
        )
        if not considered.any():
            return facts
        numbers = np.unique(column.unit_rule[considered]).tolist()
        unit_rules = [column.unit_rules[number] for number in numbers]
        largest = column.max_unit[considered]
        return replace(
            facts,
            min_unit=min(low for low, _ in unit_rules),
            max_unit=int(largest.max()),
            step_sizes=tuple(sorted({step for _, step in unit_rules})),
            uniform=len(unit_rules) == 1 and bool((largest == largest[0]).all()),
        )

    def free(self, lost: Mask) -> FreeFacts:
        """Return the largest free amount and its provider."""
        column = self.amount.column
        considered, tree = self._considered(lost)
        excluded = self._excluded(self.amount.enough, lost)
        facts = FreeFacts(
            self.amount.resource_class, self.amount.amount, tree=tree, excluded=excluded
        )
        able = considered & self.amount.unit[column.rows]
        if not able.any():
            return facts
        at = int(np.argmax(np.where(able, column.allocatable, -2)))
        return replace(
            facts,
            free=max(int(column.allocatable[at]), 0),
            provider=named(self.snapshot, int(column.rows[at])),
        )

    def _excluded(self, able: Mask, lost: Mask) -> Excluded | None:
        """Return a provider of a lost root that is able, and a condition that it does not meet."""
        considered = self.need.considered[0] & able & lost[self.snapshot.forest.root]
        for row in np.flatnonzero(considered).tolist():
            for each in self.need.conditions:
                if not each.local[row]:
                    return Excluded(named(self.snapshot, row), each.requirement)
        return None

    def _considered(self, lost: Mask) -> tuple[Mask, TreeAmounts | None]:
        """Return a mask of the rows of the column that are considered at one of the lost roots.

        With it, the lost root with the most free on several providers, if together it is enough.
        """
        snapshot, column = self.snapshot, self.amount.column
        trees = snapshot.forest.root[column.rows]
        local, shared = self.providers[:, column.rows]
        aggregates = _aggregates(snapshot, lost) if shared.any() else frozenset()
        for at in np.flatnonzero(shared).tolist():
            state = snapshot.entries.state(column.rows.item(at))
            shared[at] = not aggregates.isdisjoint(state.aggregates)
        considered: Mask = (local & lost[trees]) | shared
        is_free = considered & (column.allocatable > 0) & lost[trees]
        total = _in_trees(snapshot, column.rows[is_free], column.allocatable[is_free])
        root = int(np.argmax(total))
        inside = map(snapshot.entries.state, column.rows[is_free & (trees == root)].tolist())
        tree = tree_amounts(inside, self.amount.resource_class, self.amount.amount)
        return considered, replace(tree, provider=named(snapshot, root)) if tree else None


def of_stage(
    snapshot: Snapshot, slotted: SlottedRequest, requested: Mapping[str, int], lost: Mask
) -> Facts:
    """Return the groups, and for a class the root that comes closest to serving all of them.

    The sum that is free, if it is less than the sum that the groups request; else the number of
    groups with the largest amount that fit, if it is less than the number of these groups.
    """
    if not requested:
        return Facts()
    facts = [_most(snapshot, slotted, name, amount, lost) for name, amount in requested.items()]
    short = [fact for fact in facts if fact.free < fact.needed]
    if not short:
        uneven = (_most_groups(snapshot, slotted, name, lost) for name in requested)
        short = [*filter(None, uneven)] or facts
    return replace(short[0], short=tuple(fact.resource_class for fact in short))


def _most_groups(
    snapshot: Snapshot, slotted: SlottedRequest, name: str, lost: Mask
) -> PartsFacts | None:
    """Return how many of the groups with the largest amount of a class fit the best lost root."""
    amounts = [dict(slot.resources).get(name, 0) for slot in slotted.slots]
    largest = max(amounts)
    column = snapshot.columns[name]
    groups_of_row = column.free.clip(0) // min(largest, MAX_FREE)
    fitting = _in_trees(snapshot, column.rows, groups_of_row)
    best = int(np.argmax(np.where(lost, fitting, -1)))
    fits, needed = int(fitting[best]), amounts.count(largest)
    if fits >= needed:
        return None
    return PartsFacts(
        resource_class=name,
        needed=sum(amounts),
        free=int(free_in_trees(snapshot, name)[best]),
        provider=named(snapshot, best),
        amount=largest,
        fitting_groups=fits,
        needed_groups=needed,
        groups=_groups(slotted),
        short=(name,),
    )


def _groups(slotted: SlottedRequest) -> tuple[EqualGroups, ...]:
    """Return the distinct requests of groups with their number, in descending order."""
    counts = Counter(slot.resources for slot in slotted.slots if slot.resources)
    return tuple(EqualGroups(dict(each), number) for each, number in counts.most_common())


def _most(
    snapshot: Snapshot, slotted: SlottedRequest, name: str, needed: int, lost: Mask
) -> SumFacts:
    """Return the lost root whose tree has the largest free amount of a class."""
    total = free_in_trees(snapshot, name)
    best = int(np.argmax(np.where(lost, total, -1)))
    provider, groups = named(snapshot, best), _groups(slotted)
    return SumFacts(name, needed, int(total[best]), provider, groups, short=(name,))


def free_in_trees(snapshot: Snapshot, name: str) -> AmountArray:
    """Return for every root the sum of the allocatable amounts of a class in its tree."""
    column = snapshot.column(name)
    return _in_trees(snapshot, column.rows, column.allocatable.clip(0))


def _in_trees(snapshot: Snapshot, rows: Numbers, amounts: Numbers | AmountArray) -> AmountArray:
    """Return for every root the sum of the amounts of its tree.  As int64: 20 times faster."""
    total = np.zeros(snapshot.size, dtype=np.int64)
    np.add.at(total, snapshot.forest.root[rows], amounts.astype(np.int64))
    return total
