"""The facts about providers in a row of the funnel.

``lost`` are the roots that the requirement of a row removed.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial, reduce
from itertools import accumulate, product
from math import gcd
from typing import TypeVar

import numpy as np

from placement.core import capacity
from placement.core.model import Inventory, ProviderState
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
from placement.core.snapshot.rows import Mask
from placement.core.snapshot.snapshot import Snapshot
from placement_insight.explain import facts
from placement_insight.explain.groups import (
    Group,
    GroupCondition,
    GroupNeed,
    Providers,
    Scene,
    reached_roots,
    sum_at_roots,
    sum_in_trees,
)

_Kind = TypeVar("_Kind", facts.UnitFacts, facts.FreeFacts)


def named(snapshot: Snapshot, row: int) -> facts.ProviderName:
    """Return UUID and name of a provider."""
    provider = snapshot.entries.state(row).provider
    return facts.ProviderName(provider.uuid, provider.name)


# --- facts of a row of the funnel


def of_root_condition(snapshot: Snapshot, condition: Condition, _lost: Mask) -> facts.Facts:
    """Return how many providers have a required trait, and how many of them are roots."""
    if not isinstance(condition.requirement, RootTrait):
        return facts.Facts()
    roots = condition.local & snapshot.forest.is_root
    return facts.RootFacts(int(np.count_nonzero(condition.local)), int(np.count_nonzero(roots)))


def of_condition(
    snapshot: Snapshot, group: Group, condition: GroupCondition, lost: Mask
) -> facts.Facts:
    """Return the number of providers that meet a requirement, and one that cannot serve the group.

    A root may be lost although it is in the aggregate, or reaches a provider with the trait.
    """
    match condition.requirement:
        case InTree(uuid):
            outside = _shared_from_outside(snapshot, group, condition, lost)
            return facts.TreeFacts(uuid in snapshot.forest.row_of, outside)
        case RequiredTrait() as requirement:
            having = requirement.providers(snapshot)
            of_trait = _trait_facts(snapshot, group, condition, int(np.count_nonzero(having)))
            if of_trait.without:  # says the same of other providers than roots
                having = having & snapshot.forest.is_root
            return replace(of_trait, unused=_unused(snapshot, group, requirement, having, lost))
        case MemberOf() | InEach() as requirement:
            names, having = requirement.names, requirement.providers(snapshot)
            is_one = isinstance(requirement, MemberOf)
            return facts.MemberFacts(
                members=int(np.count_nonzero(having)),
                outside=_shared_from_outside(snapshot, group, condition, lost),
                also_excluded=names if group.requested.unwanted.issuperset(names) else None,
                unused=_unused(snapshot, group, requirement, having, lost) if is_one else None,
            )
    return facts.Facts()


def _shared_from_outside(
    snapshot: Snapshot, group: Group, condition: GroupCondition, lost: Mask
) -> facts.OutsideSharer | None:
    """Return a sharing provider outside the aggregate or tree that lost roots in it need.

    No provider that is in it and can serve these roots has the classes of a need.
    """
    members = lost & roots_of(snapshot, condition.met[0])
    for need in group.needs:
        depending = members & ~reached_roots(snapshot, need.considered & condition.met)
        outside = np.flatnonzero(need.considered[1] & ~condition.met[1]).tolist()
        aggregates = _aggregates_of(snapshot, depending) if outside else frozenset()
        for row in outside:
            shared = snapshot.entries.state(row).aggregates
            if shared & aggregates:
                roots = depending & roots_in_aggregates(snapshot, shared)
                return facts.OutsideSharer(
                    provider=named(snapshot, row),
                    resource_classes=tuple(amount.resource_class for amount in need.amounts),
                    roots=int(np.count_nonzero(roots)),
                )
    return None


def _aggregates_of(snapshot: Snapshot, roots: Mask) -> frozenset[str]:
    """Return the aggregates of the trees of some roots."""
    trees = snapshot.tree_aggregates
    numbers = np.unique(trees.number[roots]).tolist()
    return frozenset[str]().union(*(trees.aggregates[number] for number in numbers))


def _unused(
    snapshot: Snapshot, group: Group, requirement: ProviderRequirement, having: Mask, lost: Mask
) -> facts.Unused | None:
    """Return the lost roots of whose trees a provider has the names, and not all classes."""
    present = [amount.present for need in group.needs for amount in need.amounts]
    having = having & lost[snapshot.forest.root]
    rows = np.flatnonzero(having & ~reduce(np.logical_and, present, having))
    if not len(rows):
        return None
    first, roots = rows.item(0), len(np.unique(snapshot.forest.root[rows]))
    return facts.Unused(
        named(snapshot, first),
        roots,
        requirement.names,
        is_all=roots == int(np.count_nonzero(lost)),
        partly=any(bool(mask[first]) for mask in present),
    )


def _trait_facts(
    snapshot: Snapshot, group: Group, condition: GroupCondition, having: int
) -> facts.TraitFacts:
    """Return a provider with the trait that fails another requirement of its group.

    Without a provider that has both the trait and the classes, return the classes.
    """
    able = [(need, condition.met & need.considered) for need in group.needs]
    classes = [amount.resource_class for need in group.needs for amount in need.amounts]
    if not any(providers.any() for _, providers in able):
        together = (len(classes) > 1 and bool(group.requested.suffix)) or None
        return facts.TraitFacts(having, without=tuple(classes) or None, together=together)
    for need, providers in able:
        for other in need.conditions:
            failing = np.flatnonzero((providers & ~other.met).any(axis=0)).tolist()
            if failing and not (providers & other.met).any():
                excluded = facts.Excluded(named(snapshot, failing[0]), other.requirement)
                return facts.TraitFacts(having, excluded=excluded)
    return facts.TraitFacts(having)


@dataclass(frozen=True, slots=True)
class OfClass:
    """The facts about a class of a need, and the providers that the conditions left."""

    snapshot: Snapshot
    need: GroupNeed
    amount: AmountCondition
    providers: Providers

    def inventory(self, _lost: Mask) -> facts.InventoryFacts:
        """Return the number of providers with an inventory of the class."""
        return facts.InventoryFacts(self.amount.resource_class, len(self.amount.column.rows))

    def units(self, lost: Mask) -> facts.UnitFacts:
        """Return the widest limits of the considered providers, and whether all are equal."""
        column = self.amount.column
        units, considered = self._about(facts.UnitFacts, self.amount.unit, lost)
        if not considered.any():
            return units
        numbers = np.unique(column.unit_rule[considered]).tolist()
        unit_rules = [column.unit_rules[number] for number in numbers]
        largest = column.max_unit[considered]
        return replace(
            units,
            min_unit=min(low for low, _ in unit_rules),
            max_unit=int(largest.max()),
            step_sizes=tuple(sorted({step for _, step in unit_rules})),
            uniform=len(unit_rules) == 1 and bool((largest == largest[0]).all()),
        )

    def free(self, lost: Mask) -> facts.FreeFacts:
        """Return the largest free amount and its provider."""
        column = self.amount.column
        free, considered = self._about(facts.FreeFacts, self.amount.enough, lost)
        able = considered & self.amount.unit[column.rows]
        if not able.any():
            return free
        at = int(np.argmax(np.where(able, column.allocatable, -2)))
        largest = max(int(column.allocatable[at]), 0)
        return replace(free, free=largest, provider=named(self.snapshot, int(column.rows[at])))

    def _about(self, kind: type[_Kind], able: Mask, lost: Mask) -> tuple[_Kind, Mask]:
        """Return what units and free amounts have in common, and the considered rows."""
        considered, tree = self._considered(lost)
        name, amount = self.amount.resource_class, self.amount.amount
        return kind(name, amount, tree=tree, excluded=self._excluded(able, lost)), considered

    def _excluded(self, able: Mask, lost: Mask) -> facts.Excluded | None:
        """Return a provider of a lost root that is able, and a condition that it does not meet."""
        considered = self.need.considered[0] & able & lost[self.snapshot.forest.root]
        for row, each in product(np.flatnonzero(considered).tolist(), self.need.conditions):
            if not each.met[0, row]:
                return facts.Excluded(named(self.snapshot, row), each.requirement)
        return None

    def _considered(self, lost: Mask) -> tuple[Mask, facts.TreeAmounts | None]:
        """Return a mask of the rows of the column that are considered at one of the lost roots.

        With it, the lost root with the most free on several providers, if together it is enough.
        """
        snapshot, column = self.snapshot, self.amount.column
        trees = snapshot.forest.root[column.rows]
        local, shared = self.providers[:, column.rows]
        aggregates = _aggregates_of(snapshot, lost) if shared.any() else frozenset()
        for at in np.flatnonzero(shared).tolist():
            state = snapshot.entries.state(column.rows.item(at))
            shared[at] = not aggregates.isdisjoint(state.aggregates)
        considered: Mask = (local & lost[trees]) | shared
        is_free = considered & (column.allocatable > 0) & lost[trees]
        total = sum_in_trees(snapshot, column.rows[is_free], column.allocatable[is_free])
        root = int(np.argmax(total))
        inside = map(snapshot.entries.state, column.rows[is_free & (trees == root)].tolist())
        tree = tree_amounts(inside, self.amount.resource_class, self.amount.amount)
        return considered, replace(tree, provider=named(snapshot, root)) if tree else None


def of_stage(
    scene: Scene, slotted: SlottedRequest, names: Iterable[str], lost: Mask
) -> facts.Facts:
    """Return the groups, and for a class the root that comes closest to serving all of them.

    The sum that is free, if it is less than the sum that the groups request; else the number of
    groups with the largest amount that fit, if it is less than the number of these groups.
    """
    sums = [_sum(scene, slotted, name, lost) for name in names]
    if not sums:
        return facts.Facts()
    short = [each for each in sums if each.free < each.needed]
    if not short:
        uneven = (_most_groups(scene, slotted, each.resource_class, lost) for each in sums)
        short = [*filter(None, uneven)] or sums
    return replace(short[0], short=tuple(each.resource_class for each in short))


def _sum(
    scene: Scene,
    slotted: SlottedRequest,
    name: str,
    lost: Mask,
    kind: Callable[..., facts.SumFacts] = facts.SumFacts,
) -> facts.SumFacts:
    """Return what the groups request of a class, and the most that one of some roots has free."""
    column = scene.snapshot.columns[name]
    free_at = sum_at_roots(scene.snapshot, column.rows, column.free)
    root = int(np.argmax(np.where(lost, free_at, -1)))
    needed = sum(dict(slot.resources).get(name, 0) for slot in slotted.slots)
    counts = Counter(slot.resources for slot in slotted.slots if slot.resources)
    groups = [facts.EqualGroups(dict(each), number) for each, number in counts.most_common()]
    free, provider = int(free_at[root]), named(scene.snapshot, root)
    return kind(name, needed, free, provider, tuple(groups), (name,))


def _most_groups(
    scene: Scene, slotted: SlottedRequest, name: str, lost: Mask
) -> facts.SumFacts | None:
    """Return how many of the groups with the largest amount of a class fit the best lost root."""
    largest = max(dict(slot.resources).get(name, 0) for slot in slotted.slots)
    slots = [each for each in slotted.slots if (name, largest) in each.resources]
    column = scene.snapshot.columns[name]
    able = np.logical_or.reduce([scene.needs[each.need].meeting[0] for each in slots])
    groups_of_row = column.allocatable.clip(0) // min(largest, MAX_FREE) * able[column.rows]
    fitting = np.where(lost, sum_at_roots(scene.snapshot, column.rows, groups_of_row), -1)
    fits, needed = int(fitting.max()), len(slots)
    if fits >= needed:
        return None
    parts = partial(facts.PartsFacts, amount=largest, fitting_groups=fits, needed_groups=needed)
    return _sum(scene, slotted, name, fitting == fits, parts)


def tree_amounts(
    providers: Iterable[ProviderState], name: str, needed: int
) -> facts.TreeAmounts | None:
    """Return the free amounts of providers that have the needed amount only together."""
    having = [each for each in usages(providers, name) if _largest(*each) > 0]
    most = sorted((_largest(*each) for each in having), reverse=True)
    steps = gcd(*(inventory.step_size for inventory, _ in having))
    if sum(most) < needed or most[0] >= needed or needed % steps:
        return None
    free = sum(capacity.free(*each) for each in having)
    groups = 1 + sum(total < needed for total in accumulate(most))
    return facts.TreeAmounts(free, len(most), most[0], groups)


def _largest(inventory: Inventory, used: int) -> int:
    """Return the largest amount of one allocation that the units admit, 0 if none."""
    largest = capacity.allocatable(inventory, used) // inventory.step_size * inventory.step_size
    return largest if largest >= inventory.min_unit else 0


def usages(providers: Iterable[ProviderState], name: str) -> Iterator[tuple[Inventory, int]]:
    """Yield the inventories of a class of the providers that have one, and the used amounts."""
    for state in providers:
        if name in state.inventories:
            yield state.inventories[name], state.used.get(name, 0)
