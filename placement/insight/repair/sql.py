"""Statements of repairs and of their undo: changes for which the API has no request.

The caller locks consumers first, then providers in the order of ids, like every write.

``RowImages`` reads rows as values for an undo file, and restores them. Rows are read and written
whole, as they are stored, except ``resource_providers.stamp``, which belongs to the clocks. The
caller has locked the providers or consumers of the rows.
"""

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from typing import Any, NamedTuple

import sqlalchemy as sa

from placement.db.clocks import utcnow
from placement.db.resources.providers import lock_providers, provider_ids
from placement.db.tables import (
    allocations,
    consumers,
    inventories,
    resource_classes,
    resource_provider_aggregates,
    resource_provider_traits,
    resource_providers,
    traits,
)
from placement.db.writes import chunks
from placement.insight.repair.plan_file import Image, Row, Scope, Undo

_allocation = allocations.c
_consumer = consumers.c
_inventory = inventories.c
_provider = resource_providers.c
_TREE = sa.select(
    _provider.id,
    _provider.uuid,
    _provider.name,
    sa.func.coalesce(_provider.generation, 0).label("generation"),
    _provider.parent_provider_id.label("parent_id"),
    _provider.root_provider_id.label("root_id"),
)

# In the order in which rows are inserted.
_TABLES = (
    *(resource_classes, traits, resource_providers, inventories),
    *(resource_provider_traits, resource_provider_aggregates, consumers, allocations),
)
_BY_NAME = {table.name: table for table in _TABLES}
# Tables whose ids no other table refers to: a row gets another id if its id is taken.
_ANY_ID = frozenset({consumers.name, allocations.name, inventories.name})
# A generation that a client has read must not occur again with other contents.
_ADVANCED = frozenset({consumers.name})


class ProviderRow(NamedTuple):
    """The row of a provider, which may have no root."""

    id: int
    uuid: str
    name: str | None
    generation: int
    parent_id: int | None
    root_id: int | None


class Counter(NamedTuple):
    """The usage counter of an inventory, and the sum of its allocations."""

    used: int
    allocated: int


class Repairs:
    """Statements of repairs, in one transaction."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def lock_providers(self, ids: Iterable[int]) -> dict[int, str]:
        """Lock the providers that exist, in the order of ids; return their UUIDs."""
        return {provider.id: provider.uuid for provider in lock_providers(self._connection, ids)}

    def provider_ids(self, uuids: Iterable[str]) -> dict[str, int]:
        """Return the ids of the providers that exist."""
        return provider_ids(self._connection, uuids)

    def provider(self, id_: int) -> ProviderRow | None:
        """Return the row of a provider, None if it does not exist."""
        row = self._connection.execute(_TREE.where(_provider.id == id_)).one_or_none()
        return None if row is None else ProviderRow(*row)

    def providers_like(self, id_: int, name: str) -> list[ProviderRow]:
        """Return the providers that have the id or the name."""
        rows = self._connection.execute(
            _TREE.where(sa.or_(_provider.id == id_, _provider.name == name))
        )
        return [ProviderRow(*row) for row in rows]

    def written_at(self, consumer_uuid: str) -> datetime | None:
        """Return when a consumer was written last (naive UTC), None if the time is unknown."""
        at: datetime | None = self._connection.execute(
            sa.select(sa.func.coalesce(_consumer.updated_at, _consumer.created_at)).where(
                _consumer.uuid == consumer_uuid
            )
        ).scalar_one_or_none()
        return at

    def class_names(self, ids: Iterable[int]) -> dict[int, str]:
        """Return the names of the resource classes that exist."""
        resource_class = resource_classes.c
        statement = sa.select(resource_class.id, resource_class.name).where(
            resource_class.id.in_(set(ids))
        )
        return {row.id: row.name for row in self._connection.execute(statement)}

    # --- allocations ----------------------------------------------------------------

    def stray_consumers(self, provider_id: int, class_id: int) -> dict[str, int]:
        """Return the amounts, by consumer, of a class on a provider that does not exist."""
        rows = self._connection.execute(
            sa.select(_allocation.consumer_id, sa.func.sum(_allocation.used))
            .where(
                _allocation.resource_provider_id == provider_id,
                _allocation.resource_class_id == class_id,
            )
            .group_by(_allocation.consumer_id)
        )
        return {uuid: int(amount) for uuid, amount in rows}

    def delete_allocations(
        self,
        consumer_uuids: Iterable[str],
        provider_ids: Collection[int],
        class_id: int | None = None,
    ) -> None:
        """Delete the allocations of locked consumers on the providers, of one class or of all."""
        of_class = [] if class_id is None else [_allocation.resource_class_id == class_id]
        for chunk in chunks(consumer_uuids):
            self._connection.execute(
                allocations.delete().where(
                    _allocation.consumer_id.in_(chunk),
                    _allocation.resource_provider_id.in_(provider_ids),
                    *of_class,
                )
            )

    def without_allocations(self, consumer_uuids: Iterable[str]) -> set[str]:
        """Return the UUIDs of the consumers without allocations."""
        uuids = set(consumer_uuids)
        for chunk in chunks(sorted(uuids)):
            statement = sa.select(_allocation.consumer_id).where(
                _allocation.consumer_id.in_(chunk)
            )
            uuids.difference_update(self._connection.execute(statement).scalars())
        return uuids

    def move_allocations(self, consumer_uuid: str, source_id: int, target_id: int) -> None:
        """Move the allocations of a locked consumer from a provider to another one."""
        self._connection.execute(
            allocations.update()
            .where(
                _allocation.consumer_id == consumer_uuid,
                _allocation.resource_provider_id == source_id,
            )
            .values(resource_provider_id=target_id, updated_at=utcnow())
        )

    def advance_consumers(self, uuids: Iterable[str]) -> None:
        """Increase the generations of locked consumers by one."""
        for chunk in chunks(sorted(uuids)):
            self._connection.execute(
                consumers.update()
                .where(_consumer.uuid.in_(chunk))
                .values(generation=_consumer.generation + 1, updated_at=utcnow())
            )

    # --- usage counters -------------------------------------------------------------

    def counter(self, provider_id: int, class_id: int) -> Counter | None:
        """Return the counter of an inventory of a locked provider, None without inventory."""
        summed = (
            sa.select(sa.func.coalesce(sa.func.sum(_allocation.used), 0))
            .where(
                _allocation.resource_provider_id == provider_id,
                _allocation.resource_class_id == class_id,
            )
            .scalar_subquery()
        )
        row = self._connection.execute(
            sa.select(_inventory.used, summed).where(
                _inventory.resource_provider_id == provider_id,
                _inventory.resource_class_id == class_id,
            )
        ).one_or_none()
        return None if row is None else Counter(int(row[0]), int(row[1]))

    # --- trees ----------------------------------------------------------------------

    def set_tree(self, provider_id: int, parent_id: int | None, root_id: int) -> None:
        """Set parent and root of a locked provider."""
        values: Mapping[str, Any] = {"parent_provider_id": parent_id, "root_provider_id": root_id}
        self._connection.execute(
            resource_providers.update()
            .where(_provider.id == provider_id)
            .values(**values, updated_at=utcnow())
        )


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
        columns = [stored for stored in table.c if stored.name != "stamp"]
        keys = sorted(key.name for key in table.primary_key)
        for chunk in chunks(values):
            statement = sa.select(*columns).where(table.c[column].in_(chunk))
            yield from self._connection.execute(
                statement.order_by(*(table.c[key] for key in keys))
            )

    def restore(self, undo: Undo, current: Image) -> None:
        """Restore the rows of the scope to their values before the action.

        The current rows are the rows after the action, except for columns that clients change.
        These columns keep their current values.
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
            row_after = after.get(_key(table, row))
            if row_after is None:
                continue
            row_now = now.get(_key(table, row), row_after)
            changed = {
                name: row[name]
                for name in row.keys() - {"generation"}
                if row[name] != row_after[name] == row_now[name]
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
