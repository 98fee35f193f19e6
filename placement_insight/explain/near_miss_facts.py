"""A requirement that a root does not meet, with the facts about its provider."""

from collections.abc import Iterable, Iterator, Sequence
from typing import cast

import numpy as np

from placement.core import capacity
from placement.core.model import Inventory, ProviderState
from placement.core.request import RequestGroup
from placement.core.requirement import (
    HasInventory,
    InUnits,
    IsFree,
    MemberOf,
    ProviderRequirement,
    RequiredTrait,
)
from placement.core.snapshot.rows import mask_of
from placement.core.snapshot.snapshot import Snapshot
from placement_insight.explain import facts
from placement_insight.explain.model import AmountTogether, Lack, Unmet

_NO_INVENTORY = Inventory(total=0, min_unit=0, max_unit=0, step_size=0)


def named(snapshot: Snapshot, row: int) -> facts.ProviderName:
    """Return UUID and name of a provider."""
    provider = snapshot.entries.state(row).provider
    return facts.ProviderName(provider.uuid, provider.name)


def unmet_of(
    snapshot: Snapshot,
    root: int,
    usable: Sequence[ProviderState],
    group: RequestGroup,
    lack: Lack,
) -> Unmet:
    """Return what a root lacks, with the amounts, and with what else its tree has.

    ``usable`` are the providers that the root can use. The provider is named if the sentence
    would be false of another provider of the tree.
    """
    row = snapshot.forest.row_of[lack.provider]
    provider, shared = named(snapshot, row), row not in snapshot.forest.members(root)
    is_named, own = False, cast("facts.UnmetFacts", facts.NoAmounts())
    match lack.requirement:
        case ProviderRequirement() as condition:
            own, others = _of_condition(snapshot, root, group, condition, lack.names)
            may_be_root = not group.suffix or condition.is_forbidding
            is_named = others and not (row == root and may_be_root)
        case AmountTogether(name) as joint:
            own = facts.SumIsShort(_amounts(usable, name, joint.needed))
        case HasInventory() | InUnits() | IsFree() as amount:
            own = _of_amount(snapshot, root, group, amount, row)
            able = sum(amount.resource_class in each.inventories for each in usable)
            is_named = row != root and able > 1
            if isinstance(amount, HasInventory):
                classes = snapshot.entries.state(row).inventories.keys() & group.resources.keys()
                of_several = bool(group.suffix) and bool(able or (classes and row != root))
                is_named = of_several or (row != root and bool(able))
    values = lack.requirement, lack.group, provider, lack.names, own
    return Unmet(*values, shared=shared, is_named=shared or is_named)


def _of_condition(
    snapshot: Snapshot,
    root: int,
    group: RequestGroup,
    condition: ProviderRequirement,
    names: Iterable[str],
) -> tuple[facts.UnmetFacts, bool]:
    """Return the facts of a condition, and whether a provider of the tree meets it.

    A provider without a class of the group may well have no forbidden trait.
    """
    met, states = condition.providers(snapshot), snapshot.entries.state
    meeting = [row for row in snapshot.forest.members(root) if met[row]]
    serving = [row for row in meeting if states(row).inventories.keys() & group.resources.keys()]
    if isinstance(condition, RequiredTrait) and not group.suffix and not serving:
        having = (row for row in meeting if not states(row).traits.isdisjoint(names))
        if (row := next(having, None)) is not None:
            return facts.UnusedTrait(named(snapshot, row)), True
    return facts.NoAmounts(), bool(serving if condition.is_forbidding else meeting)


def _of_amount(
    snapshot: Snapshot,
    root: int,
    group: RequestGroup,
    requirement: HasInventory | InUnits | IsFree,
    row: int,
) -> facts.UnmetFacts:
    name, needed = requirement.resource_class, requirement.amount
    rows, states = snapshot.forest.members(root), snapshot.entries.state
    amounts = _amounts([states(row)], name, needed)
    if not isinstance(requirement, HasInventory):
        together = tree_amounts(map(states, rows), name, needed)
        kind = facts.NotFree if isinstance(requirement, IsFree) else facts.NotInUnits
        return facts.OnlyTogether(amounts, together) if together else kind(amounts)
    classes = tuple(each for each in group.resources if each in states(row).inventories)
    having = [at for at in rows if name in states(at).inventories]
    if group.suffix and classes and having and row in rows:
        return facts.Apart(
            amounts, facts.Beside(named(snapshot, having[0]), facts.Link.PROVIDER, name, classes)
        )
    return facts.Absent(amounts, _beside(snapshot, root, name, group))


def _amounts(providers: Iterable[ProviderState], name: str, needed: int) -> facts.CapacityFacts:
    """Return the sums of inventories and usage of a class over some providers."""
    usages = list(_usages(providers, name))
    inventories = [inventory for inventory, _ in usages] or [_NO_INVENTORY]
    total = sum(capacity.integer_capacity(inventory) for inventory, _ in usages)
    used = sum(amount for _, amount in usages)
    return facts.CapacityFacts(
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


def _beside(snapshot: Snapshot, root: int, name: str, group: RequestGroup) -> facts.Beside | None:
    """Return a provider of another tree that has a class, and why the root cannot use it.

    It is in an aggregate of the root's tree, or shares its inventory with others, or has the name
    of the root as the beginning of its name. If it is shared with the root, the reason is told
    only if it is the tree that the group names.
    """
    trees, column = snapshot.tree_aggregates, snapshot.column(name)
    having = mask_of(column.rows, snapshot.size) & (snapshot.forest.root != root)
    sharing = snapshot.sharing.mask(snapshot.size)
    aggregates = MemberOf(frozenset(trees.aggregates[trees.number.item(root)]))
    in_aggregates = aggregates.providers(snapshot)
    is_in_tree = any(each.named_provider for each in group.requirements)
    for link, rows in (
        (facts.Link.SHARING_TRAIT, having & in_aggregates & ~sharing),
        (facts.Link.TREE, having & in_aggregates & sharing & is_in_tree),
        (facts.Link.AGGREGATE, having & ~in_aggregates & sharing),
    ):
        if rows.any():
            return facts.Beside(named(snapshot, int(np.argmax(rows))), link, name)
    host = named(snapshot, root).name
    providers = (named(snapshot, row) for row in np.flatnonzero(having).tolist())
    parts = (each for each in providers if each.name.startswith(host) and each.name != host)
    part = next((each for each in parts if not each.name[len(host)].isalnum()), None)
    return None if part is None else facts.Beside(part, facts.Link.TREE, name)


def tree_amounts(
    providers: Iterable[ProviderState], name: str, needed: int
) -> facts.TreeAmounts | None:
    """Return the free amounts of providers that have the needed amount only together."""
    amounts = (capacity.allocatable(*usage) for usage in _usages(providers, name))
    free = [amount for amount in amounts if amount > 0]
    if sum(free) < needed or max(free) >= needed:
        return None
    return facts.TreeAmounts(sum(free), len(free), max(free))


def _usages(providers: Iterable[ProviderState], name: str) -> Iterator[tuple[Inventory, int]]:
    """Yield the inventories of a class of the providers that have one, and the used amounts."""
    for state in providers:
        if name in state.inventories:
            yield state.inventories[name], state.used.get(name, 0)
