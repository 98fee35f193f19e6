"""Finding rows by text that a client sent.

Collations differ: MySQL finds ``cn1`` for ``CN1`` unless the operator chose another collation;
SQLite and PostgreSQL do not. Rows found are therefore compared again, exactly.

Statements for resource classes.

A write that uses a custom class locks its row, shared, until its end. A write that renames or
deletes it locks the row exclusively. Standard classes never change and are not locked.

Statements for traits, and for the traits of providers.

Custom traits are locked like custom classes, see ``resource_classes``.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from itertools import zip_longest
from typing import Any, NamedTuple, TypeVar

import sqlalchemy as sa

from placement.core.model import CUSTOM_PREFIX, FIRST_CUSTOM_CLASS_ID
from placement.core.text import is_storable
from placement.db.clocks import advance_all_of_providers, utcnow
from placement.db.errors import WriteConflict
from placement.db.statements import compiled, packed_rows
from placement.db.tables import inventories, resource_classes, resource_provider_traits, traits

T = TypeVar("T")

# Fewer than the maximum number of parameters of a statement in any database (SQLite: 32766)
CHUNK = 1000
_FEW = 3
_UUID = re.compile("[0-9a-f-]+")

Lookup = tuple[sa.Column[str], Sequence[str]]
"""A column and the names to find in it."""


def chunks(values: Iterable[T], size: int = CHUNK) -> Iterator[Sequence[T]]:
    """Yield the values in parts that fit into one statement.

    >>> list(chunks("abcde", 2))
    [('a', 'b'), ('c', 'd'), ('e',)]
    """
    rest = tuple(values)
    for start in range(0, len(rest), size):
        yield rest[start : start + size]


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
    """Return, for each lookup, what ``ids_by_name`` returns for its column and names.

    Cost: one statement, or one for each thousand names of the longest lookup.
    """
    columns = tuple(column for column, _ in lookups)
    ids: list[dict[str, int]] = [{} for _ in columns]
    parts = (chunks(filter(is_storable, names)) for _, names in lookups)
    for texts in zip_longest(*parts, fillvalue=()):
        padded = [compiled.padded(own) for own in texts]
        values = {_bind(i, j): text for i, own in enumerate(padded) for j, text in enumerate(own)}
        statement = _union(columns, tuple(map(len, padded)))
        for row in packed_rows.execute(connection, statement, values):
            ids[row.position][row[2 + row.position]] = row.id
    return [
        own if own.keys() <= set(names) else ids_by_name(connection, column.table, column, names)
        for own, (column, names) in zip(ids, lookups, strict=True)
    ]


@lru_cache(maxsize=200)
def _union(columns: Sequence[sa.Column[str]], counts: Sequence[int]) -> sa.ClauseElement:
    """Each text column has a position of its own: the collations of the tables may differ."""
    return sa.union_all(
        *(
            sa.select(
                sa.literal_column(str(position)).label("position"),
                column.table.c.id,
                *(
                    (column if other is column else sa.null()).label(f"name_{number}")
                    for number, other in enumerate(columns)
                ),
            ).where(column.in_([sa.bindparam(_bind(position, j)) for j in range(count)]))
            for position, (column, count) in enumerate(zip(columns, counts, strict=True))
            if count
        )
    )


def _bind(position: int, number: int) -> str:
    return f"text_{position}_{number}"


def insert_names(
    connection: sa.Connection,
    table: sa.Table,
    column: sa.Column[str],
    names: Collection[str],
    *,
    others_exist: bool = False,
) -> dict[str, int]:
    """Insert names that do not exist, and return their ids.

    In order, so that concurrent transactions that insert the same names wait for one another in
    one direction only. A name may equal one just inserted by the collation of the database, or one
    that exists and is requested too (``others_exist``). Many UUIDs are inserted a thousand at a
    time: no collation treats two of them as equal.
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
    """Return the id that the database gave to the inserted row."""
    key: Any = result.inserted_primary_key
    return int(key[0])


_class = resource_classes.c
_class_modified_at = sa.func.coalesce(_class.updated_at, _class.created_at).label("modified_at")
_SELECT_CLASSES = sa.select(_class.id, _class.name, _class_modified_at).order_by(_class.id)


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

    A claim does not lock the classes that it reads, and computes by their names.
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
        """Return whether an inventory has a locked class; no inventory gets it until the end."""
        advance_all_of_providers(self._connection)
        users = sa.select(inventories.c.id).where(inventories.c.resource_class_id == id_).limit(1)
        return self._connection.execute(users).first() is not None

    def delete(self, id_: int) -> None:
        """Delete a locked class."""
        self._connection.execute(resource_classes.delete().where(_class.id == id_))


_trait = traits.c
_association = resource_provider_traits.c
_trait_modified_at = sa.func.coalesce(_trait.updated_at, _trait.created_at).label("modified_at")
_SELECT_TRAITS = sa.select(_trait.id, _trait.name, _trait_modified_at).order_by(_trait.id)
_OF_PROVIDER = _SELECT_TRAITS.join(
    resource_provider_traits, _association.trait_id == _trait.id
).where(_association.resource_provider_id == sa.bindparam("provider_id"))
_IS_ASSOCIATED = sa.exists().where(_association.trait_id == _trait.id)


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
        """Return whether a provider has a locked trait; no provider gets it until the end."""
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
