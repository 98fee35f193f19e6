"""Rows of which a database server returns one column: a JSON array of all.

The drivers and SQLAlchemy take time for each column of each result, about 6 us. That was a tenth
of a claim, which reads 14 columns under its lock. SQLite returns the columns themselves.
"""

import json
from collections import namedtuple
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import Any, NamedTuple

import sqlalchemy as sa

from placement.db.statements import compiled, driver_rows
from placement.db.statements.batch import with_literals
from placement.db.statements.compiled import BoundStatement, Values

_Pack = Callable[..., sa.ColumnElement[Any]]

_row_type: Any = namedtuple  # noqa: PYI024  others need names that are literals


class _Packed(NamedTuple):
    """A statement that returns one column; ``unpack`` makes rows of its values."""

    statement: Any
    unpack: Callable[[Iterable[str]], Sequence[Any]]


def execute(connection: sa.Connection, statement: Any, values: Values) -> Sequence[Any]:
    """Return the rows of a constant query, whose columns are attributes."""
    pack = _PACK.get(connection.dialect.name)
    if pack is None:
        return compiled.execute(connection, statement, values).all()
    packed = _packed(statement, pack)
    bound = compiled.bound(connection.dialect, packed.statement, values)
    return packed.unpack([text for (text,) in _rows(connection, bound)])


def _rows(connection: sa.Connection, bound: BoundStatement) -> Sequence[Sequence[Any]]:
    """Return the rows of a query; the drivers of MySQL would write its values into the text."""
    if connection.dialect.name != "postgresql":
        text = with_literals(bound, connection.dialect.paramstyle)
        if text is not None:
            return driver_rows.execute(connection, text, None)
    return driver_rows.execute(connection, bound.sql, bound.parameters)


def execute_for(
    connection: sa.Connection,
    statement: Any,
    column: sa.ColumnElement[Any],
    values: Sequence[Any],
    others: Values = MappingProxyType({}),
) -> Sequence[Any]:
    """Return the rows of a constant query whose column has one of the values."""
    narrowed, listed = compiled.narrowed(statement, column, values)
    return execute(connection, narrowed, {**others, **listed})


def _json_text(*values: Any) -> sa.ColumnElement[str]:
    """Return an array as text: psycopg2 reads values of the type JSON itself."""
    return sa.cast(sa.func.json_build_array(*values), sa.Text)


_PACK: Mapping[str, _Pack] = {
    "mysql": sa.func.json_array,
    "mariadb": sa.func.json_array,
    "postgresql": _json_text,
}


@lru_cache(maxsize=500)
def _packed(statement: Any, pack: _Pack) -> _Packed:
    """Return the statement with one column, for a query or a union of queries."""
    if isinstance(statement, sa.CompoundSelect):
        union = sa.union_all(*(_with_one_column(each, pack) for each in statement.selects))
        return _Packed(union, _unpacker(statement.selects[0].selected_columns))
    return _Packed(_with_one_column(statement, pack), _unpacker(statement.selected_columns))


def _with_one_column(query: Any, pack: _Pack) -> Any:
    columns = query.selected_columns
    # JSON has the shortest text of a double, which is not that of a FLOAT column
    values = [sa.cast(each, sa.String) if _is_real(each) else each for each in columns]
    return query.with_only_columns(pack(*values), maintain_column_froms=True)


def _is_real(column: sa.ColumnElement[Any]) -> bool:
    return isinstance(column.type, sa.Float)


def _unpacker(columns: Any) -> Callable[[Iterable[str]], Sequence[Any]]:
    row_type = _row_type("Row", columns.keys())
    real = [number for number, column in enumerate(columns) if _is_real(column)]

    def unpack(texts: Iterable[str]) -> Sequence[Any]:
        rows = json.loads(f"[{','.join(texts)}]")
        for number in real:
            for values in rows:
                values[number] = None if values[number] is None else float(values[number])
        return [row_type._make(values) for values in rows]

    return unpack
