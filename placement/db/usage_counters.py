"""Usage counters: the used amount of each inventory, and its reconciliation with allocations.

The sum of the allocations is authoritative. Writes of this service keep the counters equal to the
sums; an implementation without the column does not. It increases the generation of each provider
that it adds allocations to, but not ``counted_generation``. Writes of this service increase both
numbers by the same step. A write that locks a provider therefore detects such allocations: the two
numbers differ, and the counters are compared with the allocations before the write runs. This
service thus decides on everything that both implementations have committed. The decisions of
openstack-placement are not under its control.

openstack-placement does not increase the generation when it only removes allocations. The counters
are then too high until the next comparison, and claims may be refused.
"""

from collections.abc import Collection, Sequence

import sqlalchemy as sa

from placement.db.resources.providers import lock_providers
from placement.db.tables import GENERATION, allocations, inventories, resource_providers
from placement.db.transaction import Transaction


def differences(
    connection: sa.Connection, provider_ids: Collection[int] | None = None
) -> Sequence[sa.Row[tuple[int, int, int]]]:
    """Return the inventories, of these providers or of all, whose usage counter is wrong.

    A row has ``inventory_id``, ``provider_id`` and ``allocated``, the sum of the allocations.
    The statement is one join, grouped by inventory, which MariaDB reads in the order of two
    indexes. A join with a subquery of sums would create a temporary table: 300,000 sums take 9
    seconds on disk. The columns of the inventory are aggregates because some SQL modes allow no
    other columns.
    """
    counter = sa.func.max(inventories.c.used)
    allocated = sa.cast(sa.func.coalesce(sa.func.sum(allocations.c.used), 0), sa.BigInteger)
    statement = (
        sa.select(
            inventories.c.id.label("inventory_id"),
            sa.func.max(inventories.c.resource_provider_id).label("provider_id"),
            allocated.label("allocated"),
        )
        .select_from(inventories.outerjoin(allocations, _OF_INVENTORY))
        .group_by(inventories.c.id)
        .having(counter != allocated)
    )
    if provider_ids is not None:
        statement = statement.where(inventories.c.resource_provider_id.in_(provider_ids))
    return connection.execute(statement).all()


def count_again(tx: Transaction, provider_ids: Sequence[int]) -> int:
    """Set the counters of these providers to the sums; return the number of wrong counters.

    Cost: three statements; if counters were wrong, one more and the writes of
    ``clocks.publications``.
    """
    lock_providers(tx.connection, provider_ids)
    wrong = differences(tx.connection, provider_ids)
    if wrong:
        rows = [{"inventory": row.inventory_id, "allocated": row.allocated} for row in wrong]
        tx.connection.execute(_SET, rows)
        tx.publish({row.provider_id for row in wrong})
    are_providers = resource_providers.c.id.in_(provider_ids)
    tx.connection.execute(_NOTE_AS_COUNTED.where(are_providers))
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
_NOTE_AS_COUNTED = resource_providers.update().values(counted_generation=GENERATION)
