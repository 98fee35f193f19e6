"""Finding rows by text that a client sent.

Collations differ: MySQL finds ``cn1`` for ``CN1`` unless the operator chose another collation;
SQLite and PostgreSQL do not. Rows found are therefore compared again, exactly.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import zip_longest
from typing import Any, TypeVar

import sqlalchemy as sa

from placement.core.storable_text import is_storable
from placement.db.sqlalchemy import compiled_statements, packed_rows
from placement.db.sqlalchemy.clocks import utcnow

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
        padded = [compiled_statements.padded(own) for own in texts]
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
