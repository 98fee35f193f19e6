"""Statements for names: resource classes, traits, and rows found by text that a client sent.

Collations differ: MySQL finds ``cn1`` for ``CN1`` unless the operator chose another collation;
SQLite and PostgreSQL do not. The results are therefore compared again, exactly.

A write that uses a custom class or trait locks its row in shared mode until the transaction ends.
A write that renames or deletes it locks the row exclusively. Standard names never change and are
not locked.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from itertools import zip_longest
from typing import Any, NamedTuple

import sqlalchemy as sa

from placement.core.model import CUSTOM_PREFIX, FIRST_CUSTOM_CLASS_ID
from placement.core.text import is_storable
from placement.db.clocks import advance_all_of_providers, utcnow
from placement.db.errors import WriteConflict
from placement.db.tables import inventories, resource_classes, resource_provider_traits, traits
from placement.db.writes import chunks, numbered, one_of

_FEW = 3
_UUID = re.compile("[0-9a-f-]+")

Lookup = tuple[sa.Column[str], Sequence[str]]
"""A column and the names to find in it."""

_class = resource_classes.c
_class_modified_at = sa.func.coalesce(_class.updated_at, _class.created_at).label("modified_at")
_SELECT_CLASSES = sa.select(_class.id, _class.name, _class_modified_at).order_by(_class.id)

_trait = traits.c
_association = resource_provider_traits.c
_trait_modified_at = sa.func.coalesce(_trait.updated_at, _trait.created_at).label("modified_at")
_SELECT_TRAITS = sa.select(_trait.id, _trait.name, _trait_modified_at).order_by(_trait.id)
_OF_PROVIDER = _SELECT_TRAITS.join(
    resource_provider_traits, _association.trait_id == _trait.id
).where(_association.resource_provider_id == sa.bindparam("provider_id"))
_IS_ASSOCIATED = sa.exists().where(_association.trait_id == _trait.id)


def rows_named(
    connection: sa.Connection,
    statement: sa.Select[Any],
    column: sa.ColumnElement[Any],
    texts: Iterable[str],
) -> Iterator[sa.Row[Any]]:
    """Yield the rows of the statement whose column equals one of the texts exactly.

    The statement must select the column. Cost: a statement for each thousand texts.
    """
    requested = {text for text in texts if is_storable(text)}
    for chunk in chunks(sorted(requested)):
        for row in connection.execute(statement.where(column.in_(chunk))):
            if row._mapping[column] in requested:
                yield row


def ids_by_name(
    connection: sa.Connection, table: sa.Table, column: sa.Column[str], names: Iterable[str]
) -> dict[str, int]:
    """Return the ids of the names that exist.

    Where the collation of the database treats two spellings as equal, its unique key allows only
    one of them: the other spelling then refers to the same row.
    """
    requested = set(filter(is_storable, names))
    ids: dict[str, int] = {}
    for chunk in chunks(sorted(requested)):
        rows = connection.execute(sa.select(column, table.c.id).where(column.in_(chunk)))
        ids.update((row[0], row[1]) for row in rows)
    if not ids.keys() <= requested:
        for name in requested - ids.keys():
            id_ = connection.execute(sa.select(table.c.id).where(column == name)).scalar()
            ids |= {} if id_ is None else {name: id_}
    return {name: ids[name] for name in names if name in ids}


def ids_by_column(connection: sa.Connection, lookups: Sequence[Lookup]) -> list[dict[str, int]]:
    """Return the ids by name for each lookup, like ``ids_by_name`` for one column.

    Cost: one statement, or one for each thousand names of the longest lookup.
    """
    columns = tuple(column for column, _ in lookups)
    ids: list[dict[str, int]] = [{} for _ in columns]
    parts = (chunks(filter(is_storable, names)) for _, names in lookups)
    for lists in zip_longest(*parts, fillvalue=()):
        parameters = [numbered(f"text_{position}", texts) for position, texts in enumerate(lists)]
        values = {name: text for listed in parameters for name, text in listed.items()}
        statement = _union(columns, tuple(map(len, parameters)))
        for row in connection.execute(statement, values):
            ids[row.position][row.name] = row.id
    return [
        column_ids
        if column_ids.keys() <= set(names)
        else ids_by_name(connection, column.table, column, names)
        for column_ids, (column, names) in zip(ids, lookups, strict=True)
    ]


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
    table: sa.Table,
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
    ids = ids_by_name(connection, table, column, uuids) if others_exist else {}
    missing = [uuid for uuid in uuids if uuid not in ids]
    for chunk in chunks(missing):
        rows = [{column.name: uuid, "created_at": utcnow()} for uuid in chunk]
        connection.execute(table.insert(), rows)
    ids |= ids_by_name(connection, table, column, missing)
    for name in sorted(set(names).difference(uuids)):
        existing = ids_by_name(connection, table, column, [name]) if ids or others_exist else {}
        if name not in existing:
            row = {column.name: name, "created_at": utcnow()}
            existing = {name: inserted_id(connection.execute(table.insert(), row))}
        ids |= existing
    return ids


def inserted_id(result: sa.CursorResult[Any]) -> int:
    """Return the id that the database assigned to the inserted row."""
    key: Any = result.inserted_primary_key
    return int(key[0])


class ResourceClass(NamedTuple):
    """A resource class as it is stored."""

    id: int
    name: str
    modified_at: datetime | None

    @property
    def is_standard(self) -> bool:
        """Whether it is one of os-resource-classes."""
        return self.id < FIRST_CUSTOM_CLASS_ID


def check_names(before: Mapping[str, int], now: Mapping[str, int]) -> None:
    """Return if no class was renamed between two statements.  Raises: WriteConflict.

    A claim does not lock the classes that it reads, and refers to them by name.
    """
    names = {id_: name for name, id_ in now.items()}
    if any(names.get(id_, name) != name for name, id_ in before.items()):
        raise WriteConflict


class ResourceClasses:
    """Resource classes, in one transaction."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def all(self) -> list[ResourceClass]:
        """Return all classes, by id."""
        return [ResourceClass._make(row) for row in self._connection.execute(_SELECT_CLASSES)]

    def find(self, name: str) -> ResourceClass | None:
        """Return the class, or None."""
        return self._one(_SELECT_CLASSES, name)

    def lock(self, name: str) -> ResourceClass | None:
        """Return the class, locked: no other transaction uses or changes it."""
        return self._one(_SELECT_CLASSES.with_for_update(), name)

    def _one(self, statement: sa.Select[Any], name: str) -> ResourceClass | None:
        rows = [*rows_named(self._connection, statement, _class.name, [name])]
        return ResourceClass._make(rows[0]) if rows else None

    def ids(self, names: Collection[str]) -> dict[str, int]:
        """Return the ids of the classes that exist."""
        rows = rows_named(self._connection, _SELECT_CLASSES, _class.name, names)
        return {row.name: row.id for row in rows}

    def lock_shared(self, names: Collection[str]) -> dict[str, int]:
        """Return the ids of the classes that exist; they are not removed in this transaction."""
        custom = {name for name in names if name.startswith(CUSTOM_PREFIX)}
        shared = _SELECT_CLASSES.with_for_update(read=True)
        locked = rows_named(self._connection, shared, _class.name, custom)
        return self.ids(set(names) - custom) | {row.name: row.id for row in locked}

    def insert(self, name: str) -> None:
        """Insert a custom class.

        Its id is the largest one plus one, so classes are inserted one at a time: an insert locks
        the row of the first class, which nothing else locks.
        """
        first = sa.select(_class.id).order_by(_class.id).limit(1).with_for_update()
        self._connection.execute(first).all()
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

    def is_in_use(self, id_: int) -> bool:
        """Return whether inventories have a locked class.

        No inventory of the class can be inserted until the transaction ends.
        """
        advance_all_of_providers(self._connection)
        users = sa.select(inventories.c.id).where(inventories.c.resource_class_id == id_).limit(1)
        return self._connection.execute(users).first() is not None

    def delete(self, id_: int) -> None:
        """Delete a locked class."""
        self._connection.execute(resource_classes.delete().where(_class.id == id_))


class Trait(NamedTuple):
    """A trait as it is stored."""

    id: int
    name: str
    modified_at: datetime | None

    @property
    def is_standard(self) -> bool:
        """Whether it is one of os-traits."""
        return not self.name.startswith(CUSTOM_PREFIX)


class Traits:
    """Traits, in one transaction."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def matching(
        self, names: Iterable[str] | None, prefix: str | None, *, associated: bool | None
    ) -> list[Trait]:
        """Return the traits that match all filters that are not None, by id."""
        query = _SELECT_TRAITS
        if associated is not None:
            query = query.where(_IS_ASSOCIATED if associated else ~_IS_ASSOCIATED)
        if prefix is not None:
            if not is_storable(prefix):
                return []
            query = query.where(_trait.name.startswith(prefix, autoescape=True))
        rows: Iterable[sa.Row[Any]] = (
            self._connection.execute(query)
            if names is None
            else rows_named(self._connection, query, _trait.name, names)
        )
        # LIKE ignores case on SQLite and with most collations of MySQL
        matching = [Trait._make(row) for row in rows]
        return sorted(row for row in matching if prefix is None or row.name.startswith(prefix))

    def find(self, name: str) -> Trait | None:
        """Return the trait, or None."""
        return self._one(_SELECT_TRAITS, name)

    def lock(self, name: str) -> Trait | None:
        """Return the trait, locked: no other transaction uses or changes it."""
        return self._one(_SELECT_TRAITS.with_for_update(), name)

    def _one(self, statement: sa.Select[Any], name: str) -> Trait | None:
        rows = [*rows_named(self._connection, statement, _trait.name, [name])]
        return Trait._make(rows[0]) if rows else None

    def lock_shared(self, names: Collection[str]) -> list[Trait]:
        """Return the traits that exist, by id; they are not removed in this transaction."""
        custom = {name for name in names if name.startswith(CUSTOM_PREFIX)}
        shared = _SELECT_TRAITS.with_for_update(read=True)
        rows = [
            *rows_named(self._connection, _SELECT_TRAITS, _trait.name, set(names) - custom),
            *rows_named(self._connection, shared, _trait.name, custom),
        ]
        return sorted(map(Trait._make, rows))

    def insert(self, name: str) -> None:
        """Insert a custom trait."""
        self._connection.execute(traits.insert(), {"name": name, "created_at": utcnow()})

    def is_in_use(self, id_: int) -> bool:
        """Return whether providers have a locked trait.

        The trait cannot be added to a provider until the transaction ends.
        """
        advance_all_of_providers(self._connection)
        users = sa.select(_association.trait_id).where(_association.trait_id == id_).limit(1)
        return self._connection.execute(users).first() is not None

    def delete(self, id_: int) -> None:
        """Delete a locked trait."""
        self._connection.execute(traits.delete().where(_trait.id == id_))

    def of_provider(self, provider_id: int) -> list[Trait]:
        """Return the traits of a provider, by id."""
        rows = self._connection.execute(_OF_PROVIDER, {"provider_id": provider_id})
        return [Trait._make(row) for row in rows]

    def associate(self, provider_id: int, trait_ids: Collection[int]) -> None:
        """Add traits to a locked provider."""
        rows = [
            {"resource_provider_id": provider_id, "trait_id": id_, "created_at": utcnow()}
            for id_ in sorted(trait_ids)
        ]
        if rows:
            self._connection.execute(resource_provider_traits.insert(), rows)

    def dissociate(self, provider_id: int, trait_ids: Collection[int]) -> None:
        """Remove traits from a locked provider."""
        for chunk in chunks(trait_ids):
            self._connection.execute(
                resource_provider_traits.delete().where(
                    _association.resource_provider_id == provider_id,
                    _association.trait_id.in_(chunk),
                )
            )
