"""Statements for names: resource classes, traits, and rows found by text that a client sent.

Collations differ: MySQL finds ``cn1`` for ``CN1`` unless the operator chose another collation;
SQLite and PostgreSQL do not. The results are therefore compared again, exactly.

A write that uses a custom class or trait locks its row in shared mode until the transaction ends.
A write that renames or deletes it locks the row exclusively. Standard names never change and are
not locked.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from itertools import zip_longest
from typing import Any, NamedTuple

import sqlalchemy as sa

from placement.core.model import CUSTOM_PREFIX, FIRST_CUSTOM_CLASS_ID, NameList
from placement.db.clocks import advance_all_of_providers, utcnow
from placement.db.errors import WriteConflict
from placement.db.tables import (
    inventories,
    resource_classes,
    resource_provider_traits,
    resource_providers,
    traits,
)
from placement.db.writes import Statements, chunks, numbered, one_of, rows_of

_FEW = 3
_UUID = re.compile("[0-9a-f-]+")

Lookup = tuple[sa.Column[str], Collection[str]]
"""A column and the names to find in it."""


def ids_by_name(
    connection: sa.Connection, column: sa.Column[str], names: Sequence[str]
) -> dict[str, int]:
    """Return the ids of the names that exist.

    Where the collation of the database treats two spellings as equal, its unique key allows only
    one of them: the other spelling then refers to the same row.
    """
    return ids_by_column(connection, [(column, names)])[0]


def ids_by_column(connection: sa.Connection, lookups: Sequence[Lookup]) -> list[dict[str, int]]:
    """Return the ids by name for each lookup, like ``ids_by_name`` for one column.

    Cost: one statement, or one for each thousand names of the longest lookup.
    """
    columns = tuple(column for column, _ in lookups)
    ids: list[dict[str, int]] = [{} for _ in columns]
    parts = (chunks(names) for _, names in lookups)
    for lists in zip_longest(*parts, fillvalue=()):
        parameters = [numbered(f"text_{position}", texts) for position, texts in enumerate(lists)]
        values = {name: text for listed in parameters for name, text in listed.items()}
        statement = _union(columns, tuple(map(len, parameters)))
        for row in connection.execute(statement, values):
            ids[row.position][row.name] = row.id
    for column_ids, (column, names) in zip(ids, lookups, strict=True):
        if not column_ids.keys() <= set(names):
            _respell(connection, column, names, column_ids)
    return ids


def _respell(
    connection: sa.Connection, column: sa.Column[str], names: Collection[str], ids: dict[str, int]
) -> None:
    """Replace the spellings in the database by the requested ones."""
    for name in set(names) - ids.keys():
        id_ = connection.scalar(sa.select(column.table.c.id).where(column == name))
        if id_ is not None:
            ids[name] = id_
    for spelling in ids.keys() - set(names):
        del ids[spelling]


@lru_cache(maxsize=200)  # building a statement takes longer than sending it
def _union(columns: Sequence[sa.Column[str]], counts: Sequence[int]) -> sa.CompoundSelect[Any]:
    """Return the statement that finds ``counts`` texts in the columns.

    Names are cast because the collations of the tables may differ: MySQL refuses to mix them.
    """
    return sa.union_all(
        *(
            sa.select(
                sa.literal_column(str(position)).label("position"),
                column.table.c.id,
                sa.cast(column, sa.String).label("name"),
            ).where(one_of(column, f"text_{position}", count))
            for position, (column, count) in enumerate(zip(columns, counts, strict=True))
            if count
        )
    )


def insert_names(
    connection: sa.Connection,
    column: sa.Column[str],
    names: Collection[str],
    *,
    others_exist: bool = False,
) -> dict[str, int]:
    """Insert names that do not exist, and return their ids.

    Names are inserted in order, so that concurrent transactions that insert the same names wait
    for one another in one direction only. The collation of the database may treat a name as equal
    to a name that was just inserted, or to an existing name that is also requested
    (``others_exist``). Many UUIDs are inserted a thousand at a time: no collation treats two
    different UUIDs as equal.
    """
    uuids = sorted({name for name in names if _UUID.fullmatch(name)})
    if len(uuids) <= _FEW:
        uuids = []
    for chunk in chunks(uuids):
        rows = [{column.name: uuid, "created_at": utcnow()} for uuid in chunk]
        connection.execute(column.table.insert(), rows)
    ids = ids_by_name(connection, column, uuids)
    for name in sorted(set(names).difference(uuids)):
        existing = ids_by_name(connection, column, [name]) if ids or others_exist else {}
        if name not in existing:
            row = {column.name: name, "created_at": utcnow()}
            existing = {name: inserted_id(connection.execute(column.table.insert(), row))}
        ids |= existing
    return ids


def inserted_id(result: sa.CursorResult[Any]) -> int:
    """Return the id that the database assigned to the inserted row."""
    key: Any = result.inserted_primary_key
    return int(key[0])


def check_names(before: Mapping[str, int], now: Mapping[str, int]) -> None:
    """Return if no class was renamed between two statements.  Raises: WriteConflict.

    A claim does not lock the classes that it reads, and refers to them by name.
    """
    names = {id_: name for name, id_ in now.items()}
    if any(names.get(id_, name) != name for name, id_ in before.items()):
        raise WriteConflict


class StoredName(NamedTuple):
    """A resource class or a trait as it is stored."""

    id: int
    name: str
    modified_at: datetime | None

    @property
    def is_standard(self) -> bool:
        """Whether it is one of os-resource-classes or os-traits."""
        return not self.name.startswith(CUSTOM_PREFIX)


def summary(stored: Collection[StoredName]) -> NameList:
    """Return the names, and when the newest was written."""
    times = (row.modified_at for row in stored if row.modified_at)
    return NameList(tuple(row.name for row in stored), max(times, default=None))


def select_names(table: sa.Table) -> sa.Select[Any]:
    """Select the columns of StoredName, by id."""
    modified_at = sa.func.coalesce(table.c.updated_at, table.c.created_at).label("modified_at")
    return sa.select(table.c.id, table.c.name, modified_at).order_by(table.c.id)


class StoredNames(Statements):
    """The names of one table, in one transaction."""

    table: sa.Table
    _query: sa.Select[Any]
    _reference: sa.Column[int]  # refers to the id of a name that is in use

    def _named(self, query: sa.Select[Any], names: Iterable[str]) -> list[StoredName]:
        """Return the rows of these names, and not of other spellings."""
        requested = set(names)
        rows = rows_of(self._connection, query, self.table.c.name, sorted(requested))
        return [StoredName._make(row) for row in rows if row.name in requested]

    def _all(self, query: sa.Select[Any]) -> list[StoredName]:
        return [StoredName._make(row) for row in self._connection.execute(query)]

    def find(self, name: str) -> StoredName | None:
        """Return the name, or None."""
        return next(iter(self._named(self._query, [name])), None)

    def lock(self, name: str) -> StoredName | None:
        """Return the name, locked: no other transaction uses or changes it."""
        return next(iter(self._named(self._query.with_for_update(), [name])), None)

    def lock_shared(self, names: Collection[str]) -> list[StoredName]:
        """Return the names that exist, by id; they are not removed in this transaction."""
        custom = {name for name in names if name.startswith(CUSTOM_PREFIX)}
        standard = self._named(self._query, set(names) - custom)
        return sorted([*standard, *self._named(self._query.with_for_update(read=True), custom)])

    def user_of(self, id_: int) -> tuple[int, str, str | None] | None:
        """Return the number of providers that use a locked name, and UUID and name of one, if any.

        No provider can begin to use it until the transaction ends. A provider that does not exist,
        in an older database, has its id instead.
        """
        advance_all_of_providers(self._connection)
        providers, used_by = resource_providers.c, self._reference.table.c.resource_provider_id
        statement = (
            sa.select(sa.func.count().over(), used_by, providers.uuid, providers.name)
            .outerjoin_from(self._reference.table, resource_providers, providers.id == used_by)
            .where(self._reference == id_)
            .order_by(used_by)
            .limit(1)
        )
        row = self._connection.execute(statement).one_or_none()
        return row and (row[0], row.uuid or f"id {row[1]}", row.name)

    def delete(self, id_: int) -> None:
        """Delete a locked name."""
        self._connection.execute(self.table.delete().where(self.table.c.id == id_))


_class = resource_classes.c


class ResourceClasses(StoredNames):
    """Resource classes, in one transaction."""

    table, _query = resource_classes, select_names(resource_classes)
    _reference = inventories.c.resource_class_id

    def all(self) -> list[StoredName]:
        """Return all classes, by id."""
        return self._all(self._query)

    def ids(self, names: Iterable[str]) -> dict[str, int]:
        """Return the ids of the classes that exist."""
        return {row.name: row.id for row in self._named(self._query, names)}

    def insert(self, name: str) -> None:
        """Insert a custom class.

        Its id is the largest one plus one. If another transaction inserts a class with this id
        first, the primary key refuses it, and the write runs again.
        """
        last = self._connection.execute(sa.select(sa.func.max(_class.id))).scalar()
        id_ = FIRST_CUSTOM_CLASS_ID if last is None else max(last + 1, FIRST_CUSTOM_CLASS_ID)
        self._connection.execute(
            resource_classes.insert(), {"id": id_, "name": name, "created_at": utcnow()}
        )

    def rename(self, id_: int, name: str) -> None:
        """Rename a locked class."""
        self._connection.execute(
            resource_classes.update()
            .where(_class.id == id_)
            .values(name=name, updated_at=utcnow())
        )


_trait = traits.c
_IS_ASSOCIATED = sa.exists().where(resource_provider_traits.c.trait_id == _trait.id)


class Traits(StoredNames):
    """Traits, in one transaction."""

    table, _query = traits, select_names(traits)
    _reference = resource_provider_traits.c.trait_id

    def matching(
        self, names: Iterable[str] | None, prefix: str | None, *, associated: bool | None
    ) -> list[StoredName]:
        """Return the traits that match all filters that are not None, by id."""
        query = self._query
        if associated is not None:
            query = query.where(_IS_ASSOCIATED if associated else ~_IS_ASSOCIATED)
        if prefix is not None:
            query = query.where(_trait.name.startswith(prefix, autoescape=True))
        matching = self._all(query) if names is None else sorted(self._named(query, names))
        # LIKE ignores case on SQLite and with most collations of MySQL
        return [row for row in matching if prefix is None or row.name.startswith(prefix)]

    def insert(self, name: str) -> None:
        """Insert a custom trait."""
        self._connection.execute(traits.insert(), {"name": name, "created_at": utcnow()})
