"""The statements that lock providers and read their inventories.

First the rows are locked, then they are read: at READ COMMITTED each statement sees everything
that was committed before it. A locking statement that reads other rows, too, would return some of
them as they were before it waited: joined rows on PostgreSQL, subqueries everywhere.

Statements for inventories and their usage counters.

``inventories.used`` is the sum of the allocations of each inventory. It changes in the transaction
that changes ``allocations``, under the lock of the provider's row, and always by a difference.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any, NamedTuple

import sqlalchemy as sa

from placement.core.claims import ProviderUsage
from placement.core.model import Inventory
from placement.core.text import is_storable
from placement.db.clocks import utcnow
from placement.db.errors import UsageNotCounted
from placement.db.resources.names import chunks
from placement.db.statements import compiled, packed_rows
from placement.db.statements.batch import StatementBatch
from placement.db.statements.compiled import Values
from placement.db.tables import allocations, inventories, resource_classes, resource_providers

_inventory_c = inventories.c
_provider = resource_providers.c

LIMITS = (
    _inventory_c.total,
    _inventory_c.reserved,
    _inventory_c.min_unit,
    _inventory_c.max_unit,
    _inventory_c.step_size,
    _inventory_c.allocation_ratio,
)
_LOCK = sa.select(_provider.id).order_by(_provider.id).with_for_update(key_share=True)
_LOCK_ONE = _LOCK.where(_provider.uuid == sa.bindparam("uuid"))
_READ = (
    sa.select(
        _provider.id,
        _provider.uuid,
        (sa.func.coalesce(_provider.generation, 0) == _provider.counted_generation).label(
            "is_counted"
        ),
        _inventory_c.resource_class_id,
        resource_classes.c.name.label("resource_class"),
        *LIMITS,
        _inventory_c.used,
    )
    .select_from(
        resource_providers.outerjoin(
            inventories, _inventory_c.resource_provider_id == _provider.id
        ).outerjoin(resource_classes, resource_classes.c.id == _inventory_c.resource_class_id)
    )
    .order_by(_provider.id)
)
_PROVIDER_IDS = sa.select(_provider.id)


class AddedColumns(NamedTuple):
    """Columns that the statement that reads inventories also returns, and their parameters.

    They do not depend on the rows, so all rows have the same values.
    """

    columns: tuple[sa.ColumnElement[Any], ...]
    values: Values


_NO_COLUMNS = AddedColumns((), {})


def lock_rows(
    connection: sa.Connection, uuids: Collection[str], added: AddedColumns = _NO_COLUMNS
) -> Sequence[Any]:
    """Lock providers; return a row for each inventory, with the added columns.

    A provider without inventory has one row. Providers that do not exist are left out.
    Cost: two statements for one provider, three for several.
    Raises: UsageNotCounted.
    """
    ids = _locked_ids(connection, [uuid for uuid in uuids if is_storable(uuid)])
    statement = _with_columns(added.columns)
    rows: list[Any] = []
    for chunk in chunks(ids):
        rows += packed_rows.execute_for(connection, statement, _provider.id, chunk, added.values)
    uncounted = {row.id for row in rows if not row.is_counted}
    if uncounted:
        raise UsageNotCounted(sorted(uncounted))
    return rows


def _locked_ids(connection: sa.Connection, uuids: Sequence[str]) -> list[int]:
    """Lock providers in the order of their ids, and return these."""
    if len(uuids) == 1:
        locked = compiled.execute(connection, _LOCK_ONE, {"uuid": uuids[0]})
        return [id_ for (id_,) in locked]
    ids: list[int] = []
    for chunk in chunks(sorted(_provider_ids(connection, uuids))):
        rows = compiled.execute_for(connection, _LOCK, _provider.id, chunk)
        ids += rows.scalars()
    return ids


def _provider_ids(connection: sa.Connection, uuids: Iterable[str]) -> list[int]:
    ids: list[int] = []
    for chunk in chunks(uuids):
        rows = compiled.execute_for(connection, _PROVIDER_IDS, _provider.uuid, chunk)
        ids += rows.scalars()
    return ids


@lru_cache(maxsize=200)
def _with_columns(columns: tuple[sa.ColumnElement[Any], ...]) -> sa.Select[Any]:
    """Return a constant statement with added columns: the same for the same columns."""
    return _READ.add_columns(*columns)


def usage_by_provider(
    rows: Iterable[Any], uuids: Iterable[str]
) -> tuple[dict[str, ProviderUsage], dict[str, int]]:
    """Return the inventories in the rows by provider, and the ids of their classes."""
    rows_of = defaultdict(list)
    class_ids: dict[str, int] = {}
    for row in rows:
        rows_of[row.uuid].append(row)
        if row.resource_class is not None:  # a provider with inventory
            class_ids[row.resource_class] = row.resource_class_id
    return {uuid: _provider_usage(rows_of[uuid]) for uuid in uuids if uuid in rows_of}, class_ids


def _provider_usage(rows: Sequence[Any]) -> ProviderUsage:
    """Return the inventories of one provider; a row without class is a provider without any."""
    with_inventory = [row for row in rows if row.resource_class is not None and row.step_size > 0]
    return ProviderUsage(
        rows[0].id,
        {row.resource_class: inventory_of(row) for row in with_inventory},
        {row.resource_class: int(row.used) for row in with_inventory},
    )


def inventory_of(row: Any) -> Inventory:
    """Return the inventory that a row with the columns ``LIMITS`` has."""
    return Inventory(
        row.total, row.reserved, row.min_unit, row.max_unit, row.step_size, row.allocation_ratio
    )


# The largest number of MySQL's FLOAT, which has single precision
_MAX_RATIO = 3.40282e38

# SQLite limits the depth of nested conditions to 1000
_CHUNK_OF_AMOUNTS = 100


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
