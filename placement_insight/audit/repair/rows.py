"""The rows that an action changes: recorded for the undo file, compared, and restored.

Rows are read and written whole, as they are stored, with two exceptions:
``resource_providers.stamp`` belongs to the clocks, and ``inventories.used`` is the usage counter
minus the sum of its allocations, because each claim changes both. The caller has locked the
providers or consumers of the rows.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import sqlalchemy as sa

from placement.db.clocks import utcnow
from placement.db.tables import (
    LIMITS,
    allocations,
    consumer_types,
    consumers,
    inventories,
    resource_classes,
    resource_provider_aggregates,
    resource_provider_traits,
    resource_providers,
    traits,
)
from placement.db.transaction import Transaction
from placement.db.writes import chunks

Row = Mapping[str, Any]
"""Values by column; times are ISO 8601, naive, in UTC."""

Image = Mapping[str, Sequence[Row]]
"""Rows by table."""

Scope = Mapping[str, Mapping[str, Sequence[int | str]]]
"""The values of a column, by table and column."""

INTEGERS: Final = range(-(2**31), 2**31)
"""The values of a column of the type INTEGER, such as an id."""

BIG_INTEGERS: Final = range(-(2**63), 2**63)
"""The values of a column of the type BIGINT."""

BEFORE: Final = "before"
AFTER: Final = "after"

# In the order in which rows are inserted.
TABLES: Final = {
    table.name: table
    for table in (
        *(resource_classes, traits, resource_providers, inventories),
        *(resource_provider_traits, resource_provider_aggregates),
        *(consumer_types, consumers, allocations),
    )
}
# Tables whose ids no other table refers to: a row gets another id if its id is taken.
_ANY_ID: Final = frozenset({consumers.name, allocations.name, inventories.name})

_ALLOCATED: Final = (
    sa.select(sa.func.coalesce(sa.func.sum(allocations.c.used), 0))
    .where(
        allocations.c.resource_provider_id == inventories.c.resource_provider_id,
        allocations.c.resource_class_id == inventories.c.resource_class_id,
    )
    .scalar_subquery()
)
EXCESS: Final = sa.cast(inventories.c.used - _ALLOCATED, sa.BigInteger)
"""The usage counter of an inventory minus the sum of its allocations."""

# The undo of a later action changes the generation of a consumer; clients also change its times.
_NOT_COMPARED: Final = {name: {"id"} for name in _ANY_ID} | {consumers.name: {"id", "generation"}}
# Not compared in rows that exist before and after the action: claims change these columns of
# providers, clients those of inventories.
_NOT_COMPARED_IN_KEPT: Final = {
    resource_providers.name: {"generation", "updated_at"},
    inventories.name: {"updated_at", *(column.name for column in LIMITS)},
}


@dataclass(frozen=True, slots=True)
class Recorded:
    """What an action changed.

    ``scope`` selects the rows ``before`` and ``after`` the action. ``providers`` and ``classes``
    name the ids in the rows.
    """

    scope: Scope
    before: Image
    after: Image
    providers: Mapping[str, str]
    classes: Mapping[str, str]

    @property
    def provider_ids(self) -> set[int]:
        """The ids of the providers in the rows."""
        name = resource_providers.name
        rows = [*self.before.get(name, ()), *self.after.get(name, ())]
        return {*map(int, self.providers), *(row["id"] for row in rows)}

    @property
    def consumers(self) -> set[str]:
        """The UUIDs of the consumers in the rows."""
        columns = {consumers.name: "uuid", allocations.name: "consumer_id"}
        images = (self.before, self.after)
        return {
            row[column]
            for image in images
            for name, column in columns.items()
            for row in image.get(name, ())
        }

    @property
    def released(self) -> Mapping[tuple[int, int], int]:
        """The amounts that the action released on existing providers, by provider and class id."""
        amounts = Counter[tuple[int, int]]()
        for image, sign in ((self.before, 1), (self.after, -1)):
            for row in image.get(allocations.name, ()):
                if str(row["resource_provider_id"]) in self.providers:
                    key = (row["resource_provider_id"], row["resource_class_id"])
                    amounts[key] += sign * row["used"]
        return {key: amount for key, amount in amounts.items() if amount}


NO_ROWS: Final = Recorded({}, {}, {}, {}, {})


def read(connection: sa.Connection, scope: Scope) -> Image:
    """Return the rows of the scope."""
    return {
        name: [
            row
            for column, values in columns.items()
            for row in _rows(connection, TABLES[name], column, values)
        ]
        for name, columns in scope.items()
    }


def _rows(
    connection: sa.Connection, table: sa.Table, column: str, values: Iterable[int | str]
) -> Iterable[Row]:
    columns = [
        EXCESS.label("used") if column is inventories.c.used else column
        for column in table.c
        if column.name != "stamp"
    ]
    order = sorted(table.primary_key, key=lambda key: key.name)
    for chunk in chunks(values):
        statement = sa.select(*columns).where(table.c[column].in_(chunk)).order_by(*order)
        for row in connection.execute(statement).mappings():
            yield {
                name: value.isoformat() if isinstance(value, datetime) else value
                for name, value in row.items()
            }


def state_of(connection: sa.Connection, recorded: Recorded) -> str | None:
    """Return whether the rows are as ``before`` or ``after`` the action, None if neither."""
    current = read(connection, recorded.scope)
    for state, image in ((AFTER, recorded.after), (BEFORE, recorded.before)):
        if _comparable(current, recorded) == _comparable(image, recorded):
            return state
    return None


def _comparable(image: Image, recorded: Recorded) -> dict[str, list[str]]:
    """Return the rows as texts, without the columns that are not compared."""
    texts = {}
    for table in recorded.scope:
        ignored = _NOT_COMPARED.get(table, set())
        if recorded.before.get(table) and recorded.after.get(table):
            ignored = ignored | _NOT_COMPARED_IN_KEPT.get(table, set())
        texts[table] = sorted(
            str([(name, value) for name, value in row.items() if name not in ignored])
            for row in image.get(table, ())
        )
    return texts


def restore(connection: sa.Connection, recorded: Recorded) -> None:
    """Restore the rows of the scope to their values before the action.

    The current rows are the rows after the action, except for columns that clients change. These
    columns keep their current values.
    """
    current = read(connection, recorded.scope)
    tables = [table for name, table in TABLES.items() if name in recorded.scope]
    for table in reversed(tables):
        before = _by_key(table, recorded.before)
        for key, row in _by_key(table, recorded.after).items():
            if key not in before:
                connection.execute(table.delete().where(_is(table, row)))
    for table in tables:
        after, now = _by_key(table, recorded.after), _by_key(table, current)
        for key, row in _by_key(table, recorded.before).items():
            if key in after:
                _update(connection, table, (row, after[key], now.get(key, after[key])))
            else:
                _insert(connection, table, row)


def _insert(connection: sa.Connection, table: sa.Table, row: Row) -> None:
    values = _as_row(table, row)
    if table.name in _ANY_ID:
        taken = sa.select(table.c.id).where(table.c.id == row["id"])
        if connection.execute(taken).first() is not None:
            del values["id"]
    connection.execute(table.insert(), values)


def _update(connection: sa.Connection, table: sa.Table, images: tuple[Row, Row, Row]) -> None:
    """Restore a row that the action changed, from the rows before, after and now."""
    before, after, now = images
    names = before.keys() - {"generation"}
    changed = {name: before[name] for name in names if before[name] != after[name] == now[name]}
    values = _as_row(table, changed)
    if table is consumers:
        # A generation that a client has read must not occur again with other contents.
        values["generation"] = consumers.c.generation + 1
    if table is inventories and "used" in changed:
        values["used"] = inventories.c.used + (before["used"] - after["used"])
    if values:
        connection.execute(table.update().where(_is(table, before)).values(values))


def _by_key(table: sa.Table, image: Image) -> dict[tuple[object, ...], Row]:
    keys = [column.name for column in table.primary_key]
    return {tuple(row[key] for key in keys): row for row in image.get(table.name, ())}


def _is(table: sa.Table, row: Row) -> sa.ColumnElement[bool]:
    return sa.and_(*(column == row[column.name] for column in table.primary_key))


def _as_row(table: sa.Table, row: Row) -> dict[str, object]:
    return {
        name: datetime.fromisoformat(value)
        if isinstance(value, str) and isinstance(table.c[name].type, sa.DateTime)
        else value
        for name, value in row.items()
    }


# --- allocations -------------------------------------------------------------------------


def delete_allocations(
    tx: Transaction,
    uuids: Iterable[str],
    provider_ids: Collection[int],
    class_id: int | None = None,
) -> None:
    """Delete the allocations of locked consumers on providers, of one class or of all."""
    of = allocations.c
    of_class = [] if class_id is None else [of.resource_class_id == class_id]
    of_providers = of.resource_provider_id.in_(provider_ids)
    for chunk in chunks(uuids):
        delete = allocations.delete().where(of.consumer_id.in_(chunk), of_providers, *of_class)
        tx.connection.execute(delete)


def move_allocations(tx: Transaction, uuid: str, source_id: int, target_id: int) -> None:
    """Change the provider of the allocations of a locked consumer."""
    update = allocations.update().filter_by(consumer_id=uuid, resource_provider_id=source_id)
    values = {"resource_provider_id": target_id, "updated_at": utcnow()}
    tx.connection.execute(update.values(values))


def change_consumer(tx: Transaction, uuid: str, new_uuid: str) -> None:
    """Give the allocations of a locked consumer to another one."""
    update = allocations.update().filter_by(consumer_id=uuid)
    tx.connection.execute(update.values(consumer_id=new_uuid, updated_at=utcnow()))


def rename_consumer(tx: Transaction, uuid: str, new_uuid: str, type_name: str) -> None:
    """Change the UUID of a locked consumer, and its type if it has one."""
    of, types = consumers.c, consumer_types.c
    type_id = sa.select(types.id).where(types.name == type_name).scalar_subquery()
    new_type_id = sa.case((of.consumer_type_id.is_not(None), type_id))
    update = consumers.update().filter_by(uuid=uuid)
    tx.connection.execute(update.values(uuid=new_uuid, consumer_type_id=new_type_id))


def amounts_on(tx: Transaction, provider_id: int, class_id: int) -> dict[str, int]:
    """Return the allocated amounts of a class on a provider, by consumer."""
    of = allocations.c
    statement = sa.select(of.consumer_id, sa.func.sum(of.used)).filter_by(
        resource_provider_id=provider_id, resource_class_id=class_id
    )
    rows = tx.connection.execute(statement.group_by(of.consumer_id))
    return {uuid: int(amount) for uuid, amount in rows}
