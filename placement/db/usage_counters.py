"""Usage counters: the used amount of each inventory, and its reconciliation with allocations.

The sum of the allocations is authoritative. Writes of this service keep both equal; an
implementation that does not know the column does not. It increases the generation of each provider
that it adds allocations to, and not ``counted_generation``, which writes of this service increase
by the same step. So a write that locks a provider detects it: the two differ, and the counters are
compared with the allocations before the write runs. So this service decides on everything that
both have committed. What openstack-placement decides on is not under its control.

openstack-placement does not increase the generation where it only removes allocations: then the
counters are too high until the next comparison, and claims may be refused.
"""

from collections.abc import Collection
from typing import NamedTuple

import sqlalchemy as sa

from placement.db.tables import allocations, inventories, resource_providers
from placement.db.transaction import Transaction


class Difference(NamedTuple):
    """An inventory whose usage counter is not the sum of its allocations."""

    inventory_id: int
    provider_id: int
    counter: int
    allocated: int


def differences(
    connection: sa.Connection, provider_ids: Collection[int] | None = None
) -> list[Difference]:
    """Return the inventories, of these providers or of all, whose usage counter is wrong."""
    rows = connection.execute(_differences(provider_ids))
    return [Difference(*(int(number) for number in row)) for row in rows]


def _differences(provider_ids: Collection[int] | None) -> sa.Select[tuple[int, int, int, int]]:
    """Return the statement that compares.

    It is one join, grouped by inventory, which MariaDB reads in the order of two indexes. Joined
    sums would be a temporary table: with 300,000 of them it takes 9 seconds on disk. The columns
    of the inventory are aggregates for SQL modes that allow no others.
    """
    counter = sa.func.max(inventories.c.used)
    allocated = sa.func.coalesce(sa.func.sum(allocations.c.used), 0)
    statement = (
        sa.select(
            inventories.c.id, sa.func.max(inventories.c.resource_provider_id), counter, allocated
        )
        .select_from(inventories.outerjoin(allocations, _OF_INVENTORY))
        .group_by(inventories.c.id)
        .having(counter != allocated)
    )
    if provider_ids is not None:
        statement = statement.where(inventories.c.resource_provider_id.in_(provider_ids))
    return statement


def count_again(tx: Transaction, provider_ids: list[int]) -> int:
    """Set the counters of these providers to the sums; return how many were wrong.

    Cost: three statements; if counters were wrong, one more and those of ``clocks.publish``.
    """
    locked = (
        sa.select(resource_providers.c.id)
        .where(resource_providers.c.id.in_(provider_ids))
        .order_by(resource_providers.c.id)
        .with_for_update()
    )
    tx.connection.execute(locked).all()
    wrong = differences(tx.connection, provider_ids)
    if wrong:
        rows = [{"inventory": each.inventory_id, "allocated": each.allocated} for each in wrong]
        tx.connection.execute(_SET, rows)
        tx.publish({each.provider_id for each in wrong})
    of_these = resource_providers.c.id.in_(provider_ids)
    tx.connection.execute(_NOTE_AS_COUNTED.where(of_these))
    return len(wrong)


_OF_INVENTORY = sa.and_(
    allocations.c.resource_provider_id == inventories.c.resource_provider_id,
    allocations.c.resource_class_id == inventories.c.resource_class_id,
)
_SET = (
    inventories.update()
    .where(inventories.c.id == sa.bindparam("inventory"))
    .values(used=sa.bindparam("allocated"))
)
GENERATION = sa.func.coalesce(resource_providers.c.generation, 0)
_NOTE_AS_COUNTED = resource_providers.update().values(counted_generation=GENERATION)
