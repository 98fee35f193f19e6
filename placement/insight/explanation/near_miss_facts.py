"""The requirements that one root or provider does not meet, with the amounts."""

from collections.abc import Iterable, Iterator

from placement.core import capacity
from placement.core.model import Inventory
from placement.core.request import RequestGroup
from placement.core.search.filters import AmountCondition, Condition
from placement.core.snapshot.snapshot import Snapshot
from placement.insight.explanation.model import Amounts, ProviderName, TreeAmounts, Unmet

_AGGREGATES = {"aggregate", "forbidden_aggregate"}
_TRAITS = {"trait", "forbidden_trait", "root_trait"}
_NO_INVENTORY = Inventory(total=0, min_unit=0, max_unit=0, step_size=0)


def named(snapshot: Snapshot, row: int) -> ProviderName:
    """Return UUID and name of a provider."""
    provider = snapshot.entries.state(row).provider
    return ProviderName(provider.uuid, provider.name)


def of_condition(snapshot: Snapshot, condition: Condition, group: RequestGroup, row: int) -> Unmet:
    """Return a condition without amounts that a provider does not meet.

    If the condition has alternatives, the alternatives that the group forbids are left out.
    """
    names, suffix = condition.names, group.suffix
    if condition.code == "forbidden_aggregate":
        aggregates = snapshot.entries.state(row).aggregates
        names = tuple(name for name in names if name in aggregates)
    elif condition.code in ("trait", "aggregate"):
        unwanted = group.forbidden | group.not_member_of
        names = tuple(name for name in names if name not in unwanted) or names
    return Unmet(
        code=condition.code,
        group=suffix,
        requirement=condition.spelled(suffix),
        provider=named(snapshot, row),
        traits=names if condition.code in _TRAITS else (),
        aggregates=names if condition.code in _AGGREGATES else (),
    )


def of_amount(
    snapshot: Snapshot, condition: AmountCondition, suffix: str, row: int
) -> Iterator[Unmet]:
    """Yield what a provider lacks for an amount: an inventory, a unit, free capacity."""
    for code, fails in condition.failing:
        if fails[row]:
            amounts = amounts_of(snapshot, [row], condition.resource_class, condition.amount)
            yield Unmet(code, suffix, condition.spelled(suffix), named(snapshot, row), amounts)


def amounts_of(snapshot: Snapshot, rows: Iterable[int], name: str, needed: int) -> Amounts:
    """Return the sums of inventories and usage of a class over the providers of the rows."""
    usages = list(_usages(snapshot, rows, name))
    inventories = [inventory for inventory, _ in usages] or [_NO_INVENTORY]
    total = sum(capacity.integer_capacity(inventory) for inventory, _ in usages)
    used = sum(amount for _, amount in usages)
    return Amounts(
        resource_class=name,
        needed=needed,
        free=total - used,
        capacity=total,
        used=used,
        reserved=sum(inventory.reserved for inventory, _ in usages),
        min_unit=min(inventory.min_unit for inventory in inventories),
        max_unit=max(inventory.max_unit for inventory in inventories),
        step_size=min(inventory.step_size for inventory in inventories),
    )


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
