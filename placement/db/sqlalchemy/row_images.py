"""Reads rows as values for an undo file, and puts them back.

Rows are read and written whole, as they are stored, except ``resource_providers.stamp``, which is
of the clocks. The caller has locked what the rows belong to.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from placement.core.insight.undo import Image, Row, Scope, Undo
from placement.db.sqlalchemy.lookups import chunks
from placement.db.sqlalchemy.models import (
    allocations,
    consumers,
    inventories,
    resource_classes,
    resource_provider_aggregates,
    resource_provider_traits,
    resource_providers,
    traits,
)

# In the order in which rows are inserted.
_TABLES = (
    *(resource_classes, traits, resource_providers, inventories),
    *(resource_provider_traits, resource_provider_aggregates, consumers, allocations),
)
_BY_NAME = {table.name: table for table in _TABLES}
# Rows that other tables do not refer to by id: another id does as well if theirs is taken.
_ANY_ID = frozenset({consumers.name, allocations.name, inventories.name})
# A client that read the generation must not find it again with other contents.
_ADVANCED = frozenset({consumers.name})


class RowImages:
    """Images of rows, in one transaction."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def read(self, scope: Scope) -> Image:
        """Return the rows of the scope."""
        return {
            name: [
                _as_values(row)
                for column, values in columns.items()
                for row in self._rows(_BY_NAME[name], column, values)
            ]
            for name, columns in scope.items()
        }

    def _rows(self, table: sa.Table, column: str, values: Iterable[Any]) -> Iterable[sa.Row[Any]]:
        own = [each for each in table.c if each.name != "stamp"]
        keys = sorted(own_key.name for own_key in table.primary_key)
        for chunk in chunks(values):
            statement = sa.select(*own).where(table.c[column].in_(chunk))
            yield from self._connection.execute(
                statement.order_by(*(table.c[key] for key in keys))
            )

    def restore(self, undo: Undo, current: Image) -> None:
        """Make the rows of the scope what they were before the action.

        They are as after the action, but for columns that clients change: these stay.
        """
        for table in reversed(_TABLES):
            if table.name in undo.scope:
                self._delete(table, undo)
        for table in _TABLES:
            if table.name in undo.scope:
                self._insert(table, undo)
                self._update(table, undo, current)

    def _delete(self, table: sa.Table, undo: Undo) -> None:
        before = {_key(table, row) for row in undo.before.get(table.name, ())}
        for row in undo.after.get(table.name, ()):
            if _key(table, row) not in before:
                self._connection.execute(table.delete().where(_is(table, row)))

    def _insert(self, table: sa.Table, undo: Undo) -> None:
        after = {_key(table, row) for row in undo.after.get(table.name, ())}
        rows = [row for row in undo.before.get(table.name, ()) if _key(table, row) not in after]
        for row in rows:
            values = _as_row(table, row)
            if table.name in _ANY_ID and self._is_taken(table, row):
                del values["id"]
            self._connection.execute(table.insert(), values)

    def _is_taken(self, table: sa.Table, row: Row) -> bool:
        taken = sa.select(table.c.id).where(table.c.id == row["id"])
        return self._connection.execute(taken).first() is not None

    def _update(self, table: sa.Table, undo: Undo, current: Image) -> None:
        after = {_key(table, row): row for row in undo.after.get(table.name, ())}
        now = {_key(table, row): row for row in current.get(table.name, ())}
        for row in undo.before.get(table.name, ()):
            kept = after.get(_key(table, row))
            if kept is None:
                continue
            own = now.get(_key(table, row), kept)
            changed = {
                name: row[name]
                for name in row.keys() - {"generation"}
                if row[name] != kept[name] == own[name]
            }
            values = _as_row(table, changed)
            if table.name in _ADVANCED:
                values["generation"] = table.c.generation + 1
            if values:
                self._connection.execute(table.update().where(_is(table, row)).values(values))


def _key(table: sa.Table, row: Row) -> tuple[Any, ...]:
    return tuple(row[column.name] for column in table.primary_key)


def _is(table: sa.Table, row: Row) -> sa.ColumnElement[bool]:
    return sa.and_(*(column == row[column.name] for column in table.primary_key))


def _as_values(row: sa.Row[Any]) -> dict[str, Any]:
    return {
        name: value.isoformat() if isinstance(value, datetime) else value
        for name, value in row._mapping.items()
    }


def _as_row(table: sa.Table, row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: datetime.fromisoformat(value)
        if isinstance(value, str) and isinstance(table.c[name].type, sa.DateTime)
        else value
        for name, value in row.items()
    }
