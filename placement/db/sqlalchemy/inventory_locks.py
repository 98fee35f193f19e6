"""The statements that lock providers and read their inventories.

First the rows are locked, then they are read: at READ COMMITTED each statement sees everything
that was committed before it. A locking statement that reads other rows, too, would return some of
them as they were before it waited: joined rows on PostgreSQL, subqueries everywhere.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import sqlalchemy as sa

from placement.core.claims import ProviderUsage
from placement.core.model import Inventory
from placement.core.storable_text import is_storable
from placement.db.sqlalchemy import compiled_statements, packed_rows
from placement.db.sqlalchemy.compiled_statements import Values
from placement.db.sqlalchemy.db_errors import UsageNotCounted
from placement.db.sqlalchemy.lookups import chunks
from placement.db.sqlalchemy.models import inventories, resource_classes, resource_providers

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
        locked = compiled_statements.execute(connection, _LOCK_ONE, {"uuid": uuids[0]})
        return [id_ for (id_,) in locked]
    ids: list[int] = []
    for chunk in chunks(sorted(_provider_ids(connection, uuids))):
        rows = compiled_statements.execute_for(connection, _LOCK, _provider.id, chunk)
        ids += rows.scalars()
    return ids


def _provider_ids(connection: sa.Connection, uuids: Iterable[str]) -> list[int]:
    ids: list[int] = []
    for chunk in chunks(uuids):
        rows = compiled_statements.execute_for(connection, _PROVIDER_IDS, _provider.uuid, chunk)
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
