"""The requirements that one root or provider does not meet, with the amounts."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np

from placement.core import capacity
from placement.core.model import Inventory
from placement.core.request import RequestGroup
from placement.core.requirement import (
    HasInventory,
    MemberOf,
    ProviderRequirement,
    RequiredTrait,
)
from placement.core.search.filters import AmountCondition
from placement.core.snapshot.rows import mask_of
from placement.core.snapshot.snapshot import Snapshot
from placement_insight.explain.facts import (
    Beside,
    CapacityFacts,
    Link,
    ProviderName,
    Shortage,
    TreeAmounts,
)
from placement_insight.explain.model import Unmet

_NO_INVENTORY = Inventory(total=0, min_unit=0, max_unit=0, step_size=0)


def named(snapshot: Snapshot, row: int) -> ProviderName:
    """Return UUID and name of a provider."""
    provider = snapshot.entries.state(row).provider
    return ProviderName(provider.uuid, provider.name)


def of_requirements(
    snapshot: Snapshot, unmet: Iterable[ProviderRequirement], group: RequestGroup, row: int
) -> Iterator[Unmet]:
    """Yield requirements without amounts that a provider does not meet.

    If a requirement has alternatives, the alternatives that the group forbids are left out.
    """
    state, provider, unwanted = snapshot.entries.state(row), named(snapshot, row), group.unwanted
    for requirement in unmet:
        yield Unmet(requirement, group.suffix, provider, requirement.lacking(state, unwanted))


def of_amount(
    snapshot: Snapshot, condition: AmountCondition, suffix: str, row: int
) -> Iterator[Unmet]:
    """Yield what a provider lacks for an amount: an inventory, a unit, free capacity."""
    present = condition.present
    masks = (~present, present & ~condition.unit, present & ~condition.free)
    for requirement, fails in zip(condition.requirements, masks, strict=True):
        if fails[row]:
            amounts = amounts_of(snapshot, [row], condition.resource_class, condition.amount)
            provider = named(snapshot, row)
            yield Unmet(requirement, suffix, provider, shortage=Shortage(amounts))


def amounts_of(snapshot: Snapshot, rows: Iterable[int], name: str, needed: int) -> CapacityFacts:
    """Return the sums of inventories and usage of a class over the providers of the rows."""
    usages = list(_usages(snapshot, rows, name))
    inventories = [inventory for inventory, _ in usages] or [_NO_INVENTORY]
    total = sum(capacity.integer_capacity(inventory) for inventory, _ in usages)
    used = sum(amount for _, amount in usages)
    return CapacityFacts(
        resource_class=name,
        needed=needed,
        free=total - used,
        capacity=total,
        used=used,
        reserved=sum(inventory.reserved for inventory, _ in usages),
        min_unit=min(inventory.min_unit for inventory in inventories),
        max_unit=max(inventory.max_unit for inventory in inventories),
        step_size=min(inventory.step_size for inventory in inventories),
        state=(capacity.occupation(*usages[0]) or None) if len(usages) == 1 else None,
    )


def beside(snapshot: Snapshot, root: int, name: str) -> Beside | None:
    """Return a provider of another tree that has a class, and why the root cannot use it.

    It is in an aggregate of the root's tree, or shares its inventory with others, or has the name
    of the root as the beginning of its name.
    """
    trees, column = snapshot.tree_aggregates, snapshot.column(name)
    having = mask_of(column.rows, snapshot.size) & (snapshot.forest.root != root)
    sharing = snapshot.sharing.mask(snapshot.size)
    aggregates = MemberOf(frozenset(trees.aggregates[trees.number.item(root)]))
    in_aggregates = aggregates.providers(snapshot)
    for link, rows in (
        (Link.SHARING_TRAIT, having & in_aggregates & ~sharing),
        (Link.TREE, having & in_aggregates & sharing),
        (Link.AGGREGATE, having & sharing),
    ):
        if rows.any():
            return Beside(named(snapshot, int(np.argmax(rows))), link, name)
    host = named(snapshot, root).name
    providers = (named(snapshot, row) for row in np.flatnonzero(having).tolist())
    parts = (each for each in providers if each.name.startswith(host) and each.name != host)
    part = next((each for each in parts if not each.name[len(host)].isalnum()), None)
    return None if part is None else Beside(part, Link.TREE, name)


def in_tree_of(snapshot: Snapshot, root: int, group: RequestGroup, lack: Unmet) -> Unmet:
    """Return an unmet requirement of a root with what else its tree has, for the sentence."""
    states = [snapshot.entries.state(row) for row in snapshot.forest.members(root)]
    provider = next((each for each in states if each.provider.uuid == lack.provider.uuid), None)
    if isinstance(lack.requirement, RequiredTrait) and not group.suffix:
        has_trait = not states[0].traits.isdisjoint(lack.names)
        is_unused = has_trait and states[0].inventories.keys().isdisjoint(group.resources)
        return replace(lack, unused=named(snapshot, root)) if is_unused else lack
    shortage = lack.shortage
    if provider is None or shortage is None or shortage.is_sum:
        return lack
    name, is_child = shortage.amounts.resource_class, provider is not states[0]
    having = [each.provider for each in states if name in each.inventories]
    if not isinstance(lack.requirement, HasInventory):
        return replace(lack, is_named=is_child and len(having) > 1)
    others = tuple(each for each in group.resources if each in provider.inventories)
    if not (group.suffix and others and having):
        return replace(lack, is_named=is_child and bool(group.suffix and others))
    beside = Beside(ProviderName(having[0].uuid, having[0].name), Link.PROVIDER, name, others)
    return replace(lack, shortage=replace(shortage, beside=beside))


def tree_amounts(
    snapshot: Snapshot, rows: Iterable[int], name: str, needed: int
) -> TreeAmounts | None:
    """Return the free amounts of providers that have the needed amount only together."""
    amounts = (capacity.allocatable(*usage) for usage in _usages(snapshot, rows, name))
    free = [amount for amount in amounts if amount > 0]
    if sum(free) < needed or max(free) >= needed:
        return None
    return TreeAmounts(sum(free), len(free), max(free))


def _usages(snapshot: Snapshot, rows: Iterable[int], name: str) -> Iterator[tuple[Inventory, int]]:
    """Yield the inventories of a class of the providers that have one, and the used amounts."""
    for state in map(snapshot.entries.state, rows):
        if name in state.inventories:
            yield state.inventories[name], state.used.get(name, 0)
