"""A requirement that a root does not meet, with the facts about its provider."""

from collections.abc import Iterable, Iterator

import numpy as np

from placement.core import capacity
from placement.core.model import Inventory, ProviderState
from placement.core.request import RequestGroup
from placement.core.requirement import HasInventory, InUnits, IsFree, MemberOf, RequiredTrait
from placement.core.snapshot.rows import mask_of
from placement.core.snapshot.snapshot import Snapshot
from placement_insight.explain import facts
from placement_insight.explain.facts import Beside, CapacityFacts, Link, ProviderName, TreeAmounts
from placement_insight.explain.model import AmountTogether, Lack, Unmet

_NO_INVENTORY = Inventory(total=0, min_unit=0, max_unit=0, step_size=0)


def named(snapshot: Snapshot, row: int) -> ProviderName:
    """Return UUID and name of a provider."""
    provider = snapshot.entries.state(row).provider
    return ProviderName(provider.uuid, provider.name)


def unmet_of(
    snapshot: Snapshot,
    root: int,
    usable: Iterable[ProviderState],
    group: RequestGroup,
    lack: Lack,
) -> Unmet:
    """Return what a root lacks, with the amounts, and with what else its tree has.

    ``usable`` are the providers that the root can use.
    """
    rows = snapshot.forest.members(root)
    tree = [snapshot.entries.state(row) for row in rows]
    row = snapshot.forest.row_of[lack.provider]
    state, is_local, is_one_of_several = snapshot.entries.state(row), row in rows, False
    lacking: facts.UnmetFacts = facts.NoAmounts()
    match lack.requirement:
        case RequiredTrait() if not group.suffix:
            has_trait = not tree[0].traits.isdisjoint(lack.names)
            if has_trait and tree[0].inventories.keys().isdisjoint(group.resources):
                lacking = facts.UnusedAtRoot(named(snapshot, root))
        case AmountTogether(name) as joint:
            lacking = facts.SumIsShort(_amounts(usable, name, joint.needed))
        case HasInventory(name, needed):
            others = tuple(each for each in group.resources if each in state.inventories)
            having = [
                row for row, each in zip(rows, tree, strict=True) if name in each.inventories
            ]
            is_one_of_several = bool(group.suffix and others)
            amounts = _amounts([state], name, needed)
            if is_local and is_one_of_several and having:
                lacking = facts.Apart(
                    amounts, Beside(named(snapshot, having[0]), Link.PROVIDER, name, others)
                )
            else:
                lacking = facts.Absent(amounts, _beside(snapshot, root, name))
        case InUnits(name, needed) | IsFree(name, needed) as requirement:
            is_one_of_several = sum(name in each.inventories for each in tree) > 1
            amounts, together = _amounts([state], name, needed), tree_amounts(tree, name, needed)
            kind = facts.NotFree if isinstance(requirement, IsFree) else facts.NotInUnits
            lacking = facts.OnlyTogether(amounts, together) if together else kind(amounts)
    return Unmet(
        lack.requirement,
        lack.group,
        named(snapshot, row),
        lack.names,
        lacking,
        shared=not is_local,
        is_named=not is_local or (is_one_of_several and row != root),
    )


def _amounts(providers: Iterable[ProviderState], name: str, needed: int) -> CapacityFacts:
    """Return the sums of inventories and usage of a class over some providers."""
    usages = list(_usages(providers, name))
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


def _beside(snapshot: Snapshot, root: int, name: str) -> Beside | None:
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


def tree_amounts(providers: Iterable[ProviderState], name: str, needed: int) -> TreeAmounts | None:
    """Return the free amounts of providers that have the needed amount only together."""
    amounts = (capacity.allocatable(*usage) for usage in _usages(providers, name))
    free = [amount for amount in amounts if amount > 0]
    if sum(free) < needed or max(free) >= needed:
        return None
    return TreeAmounts(sum(free), len(free), max(free))


def _usages(providers: Iterable[ProviderState], name: str) -> Iterator[tuple[Inventory, int]]:
    """Yield the inventories of a class of the providers that have one, and the used amounts."""
    for state in providers:
        if name in state.inventories:
            yield state.inventories[name], state.used.get(name, 0)
