"""The statement that locks providers and returns their inventories.

PostgreSQL returns a row that it waited for as it is now, but joined rows as they were when the
statement began. There are two ways to detect, or avoid, that the usage counters are old:

* The provider is joined with itself, unlocked. If the two differ, ``is_fresh`` is false, and the
  statement is sent again.
* On PostgreSQL, a caller that states which resource classes it needs locks the inventories, too:
  their rows are returned as they are now. Only inventories that were inserted in the meantime are
  missing. If one that is needed is missing, the first way is used. Claims that wait for the same
  host do not send a second statement while they have its lock.

MariaDB cannot lock the rows of some tables only: it locks the inventories after their provider,
and returns all rows as they are now.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import lru_cache
from typing import Any, NamedTuple

import sqlalchemy as sa

from placement.core.claims import Amounts, ProviderUsage
from placement.core.model import Inventory
from placement.core.storable_text import is_storable
from placement.db.sqlalchemy import compiled_statements, packed_rows
from placement.db.sqlalchemy.compiled_statements import Values
from placement.db.sqlalchemy.db_errors import UsageNotCounted
from placement.db.sqlalchemy.lookups import chunks
from placement.db.sqlalchemy.models import inventories, resource_classes, resource_providers

NeededClasses = Mapping[str, AbstractSet[str]]
"""The names of resource classes by provider UUID."""

_inventory_c = inventories.c
_provider = resource_providers.c
_before = resource_providers.alias("before")

LIMITS = (
    _inventory_c.total,
    _inventory_c.reserved,
    _inventory_c.min_unit,
    _inventory_c.max_unit,
    _inventory_c.step_size,
    _inventory_c.allocation_ratio,
)
# A subquery in the list of columns: MySQL would lock the rows of a joined table, and another
# transaction may have to lock the class.
_class_name = (
    sa.select(resource_classes.c.name)
    .where(resource_classes.c.id == _inventory_c.resource_class_id)
    .scalar_subquery()
)
_COLUMNS = (
    _provider.id,
    _provider.uuid,
    (sa.func.coalesce(_provider.generation, 0) == _provider.counted_generation).label(
        "is_counted"
    ),
    _inventory_c.resource_class_id,
    _class_name.label("resource_class"),
    *LIMITS,
    _inventory_c.used,
)
_is_fresh = sa.and_(
    _provider.stamp == _before.c.stamp, _provider.generation == _before.c.generation
).label("is_fresh")
_of_provider = _inventory_c.resource_provider_id == _provider.id
# with few rows MySQL would scan, and lock, all inventories
_FORCE_INDEX = "FORCE INDEX FOR JOIN (uniq_inventories0resource_provider_resource_class)"


def _with_inventories(providers: sa.FromClause, *columns: sa.ColumnElement[Any]) -> sa.Select[Any]:
    """Return the statement that locks the providers and reads their inventories."""
    return (
        sa.select(*_COLUMNS, *columns)
        .select_from(providers.outerjoin(inventories, _of_provider))
        .with_hint(inventories, _FORCE_INDEX, "mysql")
        .with_hint(inventories, _FORCE_INDEX, "mariadb")
        .order_by(_provider.id)
        .with_for_update(of=resource_providers, key_share=True)
    )


_LOCK_PROVIDERS = _with_inventories(
    resource_providers.join(_before, _before.c.id == _provider.id), _is_fresh
)
_LOCK_ALL = _with_inventories(resource_providers)
# PostgreSQL cannot lock the rows of an outer join: providers without inventory are left out.
_LOCK_BOTH = (
    sa.select(*_COLUMNS)
    .select_from(resource_providers.join(inventories, _of_provider))
    .order_by(_provider.id)
    .with_for_update(of=[resource_providers, inventories], key_share=True)
)
_PROVIDER_IDS = sa.select(_provider.id)


class AddedColumns(NamedTuple):
    """Columns that the statement that locks providers also returns, and their parameters.

    They do not depend on the rows, so all rows have the same values. Their tables are not locked.
    """

    columns: tuple[sa.ColumnElement[Any], ...]
    values: Values


_NO_COLUMNS = AddedColumns((), {})


def needed_classes(amounts: Iterable[Amounts]) -> dict[str, set[str]]:
    """Return the classes of the amounts.

    >>> needed_classes([{"a": {"VCPU": 1}}, {"a": {"DISK_GB": 2}}]) == {"a": {"VCPU", "DISK_GB"}}
    True
    """
    needed: dict[str, set[str]] = {}
    for of_provider in amounts:
        for uuid, resources in of_provider.items():
            needed.setdefault(uuid, set()).update(resources)
    return needed


def lock_rows(
    connection: sa.Connection,
    uuids: Collection[str],
    needed: NeededClasses | None = None,
    added: AddedColumns = _NO_COLUMNS,
) -> Sequence[Any]:
    """Lock providers; return a row for each inventory, with the added columns.

    A provider without inventory has one row. Providers that do not exist are left out. If the
    ``needed`` classes of each provider are specified, rows of others may be missing or old.
    Cost: one statement for one provider, one more for several, one more if another transaction
    held one of the rows; on PostgreSQL the latter only if a needed inventory is missing.
    Raises: UsageNotCounted.
    """
    uuids = [uuid for uuid in uuids if is_storable(uuid)]
    rows = _current_rows(connection, uuids, needed, added)
    uncounted = {row.id for row in rows if not row.is_counted}
    if uncounted:
        raise UsageNotCounted(sorted(uncounted))
    return rows


def _current_rows(
    connection: sa.Connection,
    uuids: Sequence[str],
    needed: NeededClasses | None,
    added: AddedColumns,
) -> Sequence[Any]:
    if getattr(connection.dialect, "is_mariadb", False):
        return _locked(connection, _LOCK_ALL, uuids, added)
    if needed is not None and connection.dialect.name == "postgresql":
        rows = _locked(connection, _LOCK_BOTH, uuids, added)
        if _has_all(rows, needed):
            return rows
    rows = _locked(connection, _LOCK_PROVIDERS, uuids, added)
    if not all(row.is_fresh for row in rows):
        rows = _locked(connection, _LOCK_PROVIDERS, uuids, added)
    return rows


def _has_all(rows: Iterable[Any], needed: NeededClasses) -> bool:
    present = defaultdict(set)
    for row in rows:
        present[row.uuid].add(row.resource_class)
    return all(uuid in present and names <= present[uuid] for uuid, names in needed.items())


def _locked(
    connection: sa.Connection, lock: sa.Select[Any], uuids: Sequence[str], added: AddedColumns
) -> Sequence[Any]:
    """Lock providers in the order of their ids and read their inventories."""
    if len(uuids) == 1:
        statement = _of_one(lock, added.columns)
        return packed_rows.execute(connection, statement, {"uuid": uuids[0], **added.values})
    statement = _with_columns(lock, added.columns)
    rows: list[Any] = []
    for chunk in chunks(sorted(_provider_ids(connection, uuids))):
        rows += packed_rows.execute_for(connection, statement, _provider.id, chunk, added.values)
    return rows


def _provider_ids(connection: sa.Connection, uuids: Iterable[str]) -> list[int]:
    ids: list[int] = []
    for chunk in chunks(uuids):
        rows = compiled_statements.execute_for(connection, _PROVIDER_IDS, _provider.uuid, chunk)
        ids += rows.scalars()
    return ids


@lru_cache(maxsize=200)
def _with_columns(
    statement: sa.Select[Any], columns: tuple[sa.ColumnElement[Any], ...]
) -> sa.Select[Any]:
    """Return a constant statement with added columns: the same for the same columns."""
    return statement.add_columns(*columns)


@lru_cache(maxsize=200)
def _of_one(
    statement: sa.Select[Any], columns: tuple[sa.ColumnElement[Any], ...]
) -> sa.Select[Any]:
    """Return the same for one provider."""
    return statement.add_columns(*columns).where(_provider.uuid == sa.bindparam("uuid"))


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
