"""How rows are found by text that a caller gave.

Collations differ: MySQL finds ``cn1`` when asked for ``CN1`` unless an operator
chose otherwise, SQLite and PostgreSQL do not. So that all answer alike, what is
found is compared again, exactly.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import zip_longest
from typing import Any, TypeVar

import sqlalchemy as sa

from placement.core.storable_text import is_storable
from placement.db.sqlalchemy import compiled_statements
from placement.db.sqlalchemy.clocks import utcnow

T = TypeVar("T")

# Fewer than the parameters of a statement in any database (SQLite: 32766)
CHUNK = 1000

Sought = tuple[sa.Column[str], Sequence[str]]
"""Names, and the column of their table that has them."""


def chunks(values: Iterable[T], size: int = CHUNK) -> Iterator[Sequence[T]]:
    """Yield the values in parts that fit into one statement."""
    rest = tuple(values)
    for start in range(0, len(rest), size):
        yield rest[start : start + size]


def rows_named(
    connection: sa.Connection,
    statement: sa.Select[Any],
    column: sa.ColumnElement[Any],
    texts: Iterable[str],
) -> Iterator[Any]:
    """Yield the rows of the statement in which the column is one of the texts, to the letter.

    The statement must select the column. Cost: a statement for each thousand texts.
    """
    asked = {text for text in texts if is_storable(text)}
    for chunk in chunks(sorted(asked)):
        for row in connection.execute(statement.where(column.in_(chunk))):
            if row._mapping[column] in asked:
                yield row


def ids_by_name(
    connection: sa.Connection, table: sa.Table, column: sa.Column[str], names: Iterable[str]
) -> dict[str, int]:
    """Return the ids of those names that are there.

    Where the database takes two spellings for the same name, it can hold but one
    of them: the other then means the same row.
    """
    asked = set(filter(is_storable, names))
    ids: dict[str, int] = {}
    for chunk in chunks(sorted(asked)):
        rows = connection.execute(sa.select(column, table.c.id).where(column.in_(chunk)))
        ids.update((row[0], row[1]) for row in rows)
    if not ids.keys() <= asked:
        for name in asked - ids.keys():
            same = connection.execute(sa.select(table.c.id).where(column == name)).scalar()
            ids |= {} if same is None else {name: same}
    return {name: ids[name] for name in names if name in ids}


def ids_at_once(connection: sa.Connection, sought: Sequence[Sought]) -> list[dict[str, int]]:
    """Return for each of several columns what ``ids_by_name`` returns for its names.

    Cost: one statement, or as many as the longest list of names has thousands.
    """
    columns = tuple(column for column, _ in sought)
    found: list[dict[str, int]] = [{} for _ in columns]
    parts = (chunks(filter(is_storable, names)) for _, names in sought)
    for texts in zip_longest(*parts, fillvalue=()):
        given = [compiled_statements.filled(own) for own in texts]
        values = {_bind(i, j): text for i, own in enumerate(given) for j, text in enumerate(own)}
        statement = _at_once(columns, tuple(map(len, given)))
        for row in compiled_statements.execute(connection, statement, values):
            found[row.place][row[2 + row.place]] = row.id
    return [
        own if own.keys() <= set(names) else ids_by_name(connection, column.table, column, names)
        for own, (column, names) in zip(found, sought, strict=True)
    ]


@lru_cache(maxsize=200)
def _at_once(columns: Sequence[sa.Column[str]], counts: Sequence[int]) -> sa.ClauseElement:
    """Each column keeps a place of its own: the collations of different tables may differ."""
    return sa.union_all(
        *(
            sa.select(
                sa.literal_column(str(place)).label("place"),
                column.table.c.id,
                *(column if other is column else sa.null() for other in columns),
            ).where(column.in_([sa.bindparam(_bind(place, j)) for j in range(count)]))
            for place, (column, count) in enumerate(zip(columns, counts, strict=True))
            if count
        )
    )


def _bind(place: int, number: int) -> str:
    return f"text_{place}_{number}"


def ids_made(
    connection: sa.Connection, table: sa.Table, column: sa.Column[str], names: Iterable[str]
) -> dict[str, int]:
    """Return the ids of names that are added, or were meant by a spelling just added.

    In order, so that transactions that add the same ones wait in one line.
    """
    ids: dict[str, int] = {}
    for name in sorted(set(names)):
        found = ids_by_name(connection, table, column, [name]) if ids else {}
        if name not in found:
            row = {column.name: name, "created_at": utcnow()}
            found = {name: inserted_id(connection.execute(table.insert(), row))}
        ids |= found
    return ids


def inserted_id(done: sa.CursorResult[Any]) -> int:
    """Return the id that the database gave to the one row inserted."""
    key: Any = done.inserted_primary_key
    return int(key[0])
