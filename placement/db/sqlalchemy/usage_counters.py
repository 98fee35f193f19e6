"""The used amount of each inventory, kept beside it, against the allocations.

The sum over the allocations is the truth. Our own writes keep both equal; an
implementation that knows nothing of the column does not.
"""

from collections.abc import Callable, Collection
from typing import NamedTuple

import sqlalchemy as sa

from placement.db.sqlalchemy.models import allocations, inventories, resource_providers
from placement.db.store import Store, Transaction

Tell = Callable[[str], object]

_BATCH = 1000


def ignore(_text: str) -> None:
    """Be told what is being done, and do nothing."""


class Difference(NamedTuple):
    """An inventory whose kept usage is not the sum of its allocations."""

    inventory_id: int
    provider_id: int
    kept: int
    allocated: int


def differences(
    connection: sa.Connection, provider_ids: Collection[int] | None = None
) -> list[Difference]:
    """Return the inventories, of these providers or of all, whose kept usage is wrong."""
    found = connection.execute(_differences(provider_ids))
    return [Difference(*(int(number) for number in row)) for row in found]


def _differences(provider_ids: Collection[int] | None) -> sa.Select[tuple[int, int, int, int]]:
    keys = (allocations.c.resource_provider_id, allocations.c.resource_class_id)
    sums = sa.select(*keys, sa.func.sum(allocations.c.used).label("used")).group_by(*keys)
    if provider_ids is not None:
        sums = sums.where(allocations.c.resource_provider_id.in_(provider_ids))
    summed = sums.subquery()
    allocated = sa.func.coalesce(summed.c.used, 0)
    joined = inventories.outerjoin(
        summed,
        (summed.c.resource_provider_id == inventories.c.resource_provider_id)
        & (summed.c.resource_class_id == inventories.c.resource_class_id),
    )
    found = (
        sa.select(
            inventories.c.id, inventories.c.resource_provider_id, inventories.c.used, allocated
        )
        .select_from(joined)
        .where(inventories.c.used != allocated)
    )
    if provider_ids is not None:
        found = found.where(inventories.c.resource_provider_id.in_(provider_ids))
    return found


def mend(store: Store, tell: Tell = ignore) -> int:
    """Make the kept usage what the allocations say, and return how many inventories it was not.

    Writers may be at work: the providers concerned are locked, a batch at a time, and looked
    at again. ``tell`` is told how far it is.
    """
    tell("Comparing the usage kept beside inventories with the allocations")
    with store.read() as tx:
        wrong = sorted({found.provider_id for found in differences(tx.connection)})
    mended = 0
    for start in range(0, len(wrong), _BATCH):
        mended += store.write(_mend_batch, wrong[start : start + _BATCH])
        done = min(start + _BATCH, len(wrong))
        tell(f"The usage of {done} of {len(wrong)} providers is mended")
    return mended


def _mend_batch(tx: Transaction, provider_ids: list[int]) -> int:
    locked = (
        sa.select(resource_providers.c.id)
        .where(resource_providers.c.id.in_(provider_ids))
        .order_by(resource_providers.c.id)
        .with_for_update()
    )
    tx.connection.execute(locked).all()
    found = differences(tx.connection, provider_ids)
    if found:
        rows = [{"inventory": each.inventory_id, "right": each.allocated} for each in found]
        tx.connection.execute(_SET, rows)
        tx.publish({each.provider_id for each in found})
    return len(found)


_SET = (
    inventories.update()
    .where(inventories.c.id == sa.bindparam("inventory"))
    .values(used=sa.bindparam("right"))
)
