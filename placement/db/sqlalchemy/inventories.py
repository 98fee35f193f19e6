"""Statements for inventories and their usage counters.

``inventories.used`` is the sum of the allocations of each inventory. It changes in the transaction
that changes ``allocations``, under the lock of the provider's row, and always by a difference.
"""

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from functools import lru_cache
from typing import Any

import sqlalchemy as sa

from placement.core.claims import ProviderUsage
from placement.core.model import Inventory
from placement.db.sqlalchemy.clocks import utcnow
from placement.db.sqlalchemy.inventory_locks import (
    LIMITS,
    inventory_of,
    lock_rows,
    usage_by_provider,
)
from placement.db.sqlalchemy.lookups import chunks
from placement.db.sqlalchemy.models import (
    allocations,
    inventories,
    resource_classes,
)
from placement.db.sqlalchemy.statement_batch import StatementBatch

# The largest number of MySQL's FLOAT, which has single precision
_MAX_RATIO = 3.40282e38

# SQLite limits the depth of nested conditions to 1000
_CHUNK_OF_AMOUNTS = 100

_inventory_c = inventories.c
_NAMED = sa.select(resource_classes.c.name.label("resource_class")).join(
    inventories, _inventory_c.resource_class_id == resource_classes.c.id
)
_OF_PROVIDER = (
    _NAMED.add_columns(
        *LIMITS,
        _inventory_c.used,
        _inventory_c.resource_class_id,
        sa.func.coalesce(_inventory_c.updated_at, _inventory_c.created_at).label("modified_at"),
    )
    .where(_inventory_c.resource_provider_id == sa.bindparam("provider_id"))
    .order_by(_inventory_c.resource_class_id)
)


class Inventories:
    """Inventories, in one transaction."""

    def __init__(self, batch: StatementBatch) -> None:
        self._batch = batch
        self._connection = batch.connection

    def of(
        self, provider_id: int, resource_class: str | None = None
    ) -> tuple[dict[str, Inventory], datetime | None]:
        """Return the inventories of a provider, or only one, and when the newest was written."""
        rows = [
            row
            for row in self._rows(provider_id)
            if resource_class is None or row.resource_class == resource_class
        ]
        newest = max((row.modified_at for row in rows if row.modified_at), default=None)
        return {row.resource_class: inventory_of(row) for row in rows}, newest

    def used(self, provider_id: int) -> dict[str, int]:
        """Return the used amount of each class that the provider has inventory of."""
        return {row.resource_class: int(row.used) for row in self._rows(provider_id)}

    def class_ids(self, provider_id: int) -> dict[str, int]:
        """Return the ids of the classes that the provider has inventory of, in their order."""
        return {row.resource_class: row.resource_class_id for row in self._rows(provider_id)}

    def class_ids_and_used(self, provider_id: int) -> dict[str, tuple[int, int]]:
        """Return the id and the used amount of each class that a provider has inventory of."""
        return {
            row.resource_class: (row.resource_class_id, int(row.used))
            for row in self._rows(provider_id)
        }

    def _rows(self, provider_id: int) -> Iterable[Any]:
        return self._connection.execute(_OF_PROVIDER, {"provider_id": provider_id}).all()

    def lock(self, uuids: Collection[str]) -> tuple[dict[str, ProviderUsage], dict[str, int]]:
        """Lock providers; return their inventories, and the ids of the classes of these.

        Providers that do not exist are left out.
        Cost: that of ``inventory_locks.lock_rows``.
        Raises: UsageNotCounted, which the store handles.
        """
        return usage_by_provider(lock_rows(self._connection, uuids), uuids)

    def insert(self, provider_id: int, added: Mapping[int, Inventory]) -> None:
        """Insert inventories, by class id, of a locked provider.

        Allocations of a class without inventory can only come from an older database, but they
        count.
        """
        if not added:
            return
        used = self._allocated(provider_id, added)
        key = {"resource_provider_id": provider_id, "created_at": utcnow()}
        rows = [
            key | {"resource_class_id": class_id, "used": used.get(class_id, 0)} | _values(values)
            for class_id, values in added.items()
        ]
        self._connection.execute(inventories.insert(), rows)

    def _allocated(self, provider_id: int, class_ids: Collection[int]) -> dict[int, int]:
        """Return the allocated amounts, by class id, of the classes that have allocations."""
        rows = self._connection.execute(
            sa.select(allocations.c.resource_class_id, sa.func.sum(allocations.c.used))
            .where(
                allocations.c.resource_provider_id == provider_id,
                allocations.c.resource_class_id.in_(class_ids),
            )
            .group_by(allocations.c.resource_class_id)
            .order_by(allocations.c.resource_class_id)
        )
        return {class_id: int(amount) for class_id, amount in rows}

    def in_use(self, provider_id: int, class_ids: Mapping[str, int]) -> tuple[str, ...]:
        """Return the classes that have allocations on a locked provider, in the order of ids."""
        if not class_ids:
            return ()
        names = {class_id: name for name, class_id in class_ids.items()}
        return tuple(names[class_id] for class_id in self._allocated(provider_id, names))

    def update(self, provider_id: int, changed: Mapping[int, Inventory]) -> None:
        """Change inventories, by class id, of a locked provider.  Cost: one statement."""
        if not changed:
            return
        values = {class_id: _values(inventory) for class_id, inventory in changed.items()}
        columns = {
            column.name: sa.case(
                {class_id: own[column.name] for class_id, own in values.items()},
                value=_inventory_c.resource_class_id,
            )
            for column in LIMITS
        }
        self._connection.execute(
            inventories.update()
            .where(
                _inventory_c.resource_provider_id == provider_id,
                _inventory_c.resource_class_id.in_(list(changed)),
            )
            .values(updated_at=utcnow(), **columns)
        )

    def delete(self, provider_id: int, class_ids: Collection[int]) -> None:
        """Delete inventories of a locked provider."""
        if class_ids:
            self._connection.execute(
                inventories.delete().where(
                    _inventory_c.resource_provider_id == provider_id,
                    _inventory_c.resource_class_id.in_(class_ids),
                )
            )

    def add_used(self, amounts: Mapping[tuple[int, int], int]) -> None:
        """Add to the usage counters of locked providers, by provider id and class id.

        Cost: one statement for each hundred counters.
        """
        is_one_provider = len({provider_id for provider_id, _ in amounts}) == 1
        for chunk in chunks(sorted(amounts.items()), _CHUNK_OF_AMOUNTS):
            parameters: dict[str, int] = {}
            for number, ((provider_id, class_id), amount) in enumerate(chunk):
                parameters[f"provider_{number}"] = provider_id
                parameters[f"class_{number}"] = class_id
                parameters[f"amount_{number}"] = amount
            addition = _addition(len(chunk), is_one_provider=is_one_provider)
            self._batch.execute(addition, parameters)


@lru_cache(maxsize=2 * _CHUNK_OF_AMOUNTS)
def _addition(count: int, *, is_one_provider: bool) -> sa.Update:
    """Return the statement that adds so many amounts; to build it costs more than to send it.

    The statement for one provider is shorter. For several, ``(a, b) IN ((1, 2), ...)`` would be
    shorter, but MariaDB reads the whole table for it.
    """
    providers = [
        _inventory_c.resource_provider_id == _integer("provider", n) for n in range(count)
    ]
    class_ids = [_integer("class", number) for number in range(count)]
    classes = [_inventory_c.resource_class_id == class_id for class_id in class_ids]
    if is_one_provider:
        conditions = classes
        where = sa.and_(providers[0], _inventory_c.resource_class_id.in_(class_ids))
    else:
        conditions = [sa.and_(*both) for both in zip(providers, classes, strict=True)]
        where = sa.or_(*conditions)
    added = [sa.bindparam(f"amount_{number}", type_=sa.BigInteger) for number in range(count)]
    case = sa.case(*zip(conditions, added, strict=True))
    return inventories.update().where(where).values(used=_inventory_c.used + case)


def _integer(name: str, number: int) -> sa.BindParameter[int]:
    return sa.bindparam(f"{name}_{number}", type_=sa.Integer)


def _values(inventory: Inventory) -> dict[str, Any]:
    """Return the columns of an inventory; the API limits the ratio only upwards."""
    values = {column.name: getattr(inventory, column.name) for column in LIMITS}
    ratio = max(-_MAX_RATIO, min(inventory.allocation_ratio, _MAX_RATIO))
    return values | {"allocation_ratio": float(ratio)}
