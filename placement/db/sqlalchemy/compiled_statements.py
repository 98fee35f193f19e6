"""Statements that are made once, and then sent as they are.

For each execution of a statement SQLAlchemy looks its text up by its structure,
and spreads lists over it anew: that takes longer than the driver needs to send
it. A prepared statement keeps, for each kind of database, the text and what is
to be done to its parameters. Its rows have the names that the text gives them.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Any

import sqlalchemy as sa

Values = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class _Text:
    """A statement as one kind of database wants it.

    ``fixed`` are parameters that are always the same, ``adapted`` those that the driver does
    not take as they are, ``order`` is there if parameters go by their places.
    """

    sql: str
    fixed: Values
    adapted: Mapping[str, Callable[[Any], Any]]
    order: Sequence[str] | None

    def parameters(self, given: Values) -> Any:
        values = {**self.fixed, **given}
        for name, adapt in self.adapted.items():
            values[name] = adapt(values[name])
        return values if self.order is None else tuple([values[name] for name in self.order])


def execute(
    connection: sa.Connection, statement: sa.ClauseElement, given: Values | Sequence[Values]
) -> sa.CursorResult[Any]:
    """Execute a statement that its module keeps, once or for each of several sets of values."""
    text = _text(statement, connection.dialect)
    if isinstance(given, Mapping):
        return connection.exec_driver_sql(text.sql, text.parameters(given))
    return connection.exec_driver_sql(text.sql, [text.parameters(values) for values in given])


def execute_for(
    connection: sa.Connection,
    statement: Any,
    column: sa.ColumnElement[Any],
    values: Sequence[Any],
    given: Values = MappingProxyType({}),
) -> sa.CursorResult[Any]:
    """Execute a kept statement for the rows in which a column has one of the values.

    The list is filled up, so that there are few texts.
    """
    listed = {f"one_of_{place}": value for place, value in enumerate(filled(values))}
    return execute(connection, _narrowed(statement, column, len(listed)), {**given, **listed})


def filled(values: Sequence[Any]) -> Sequence[Any]:
    """Return the values, the last of them repeated until their number is a power of two."""
    if not values:
        return values
    count = 1 << (len(values) - 1).bit_length()
    return [*values, *[values[-1]] * (count - len(values))]


@lru_cache(maxsize=200)
def _narrowed(statement: Any, column: sa.ColumnElement[Any], count: int) -> sa.ClauseElement:
    names = (f"one_of_{place}" for place in range(count))
    narrowed: sa.ClauseElement = statement.where(
        column.in_([sa.bindparam(name, type_=column.type) for name in names])
    )
    return narrowed


@lru_cache(maxsize=500)
def _text(statement: sa.ClauseElement, dialect: sa.Dialect) -> _Text:
    written_out = {"render_postcompile": True}  # MySQL's GROUP_CONCAT takes no parameter
    compiled: Any = statement.compile(dialect=dialect, compile_kwargs=written_out)
    required = {bind.key for bind in compiled.binds.values() if bind.required}
    adapters = {
        name: bind.type.dialect_impl(dialect).bind_processor(dialect)
        for bind, name in compiled.bind_names.items()
    }
    return _Text(
        sql=compiled.string,
        fixed={name: value for name, value in compiled.params.items() if name not in required},
        adapted={name: adapt for name, adapt in adapters.items() if adapt is not None},
        order=compiled.positiontup if compiled.positional else None,
    )


def inserted(table: sa.Table, *columns: str) -> sa.Insert:
    """Return the statement that inserts a row with values of these columns."""
    return table.insert().inline().values({name: sa.bindparam(name) for name in columns})
