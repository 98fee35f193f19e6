"""Statements that are compiled once and then sent as text.

For each execution of a statement SQLAlchemy computes a cache key from its structure and expands
its lists: that takes longer than the driver needs to send it. Here the text and the processing of
parameters are kept for each statement and dialect. Columns of the rows have the names in the text.
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
    """A statement compiled for one dialect.

    ``fixed`` has the parameters that are always the same, ``adapted`` the conversions of those
    that the driver does not accept as they are; ``order`` is None if parameters are named.
    """

    sql: str
    fixed: Values
    adapted: Mapping[str, Callable[[Any], Any]]
    order: Sequence[str] | None

    def parameters(self, values: Values) -> Any:
        all_values = {**self.fixed, **values}
        for name, adapt in self.adapted.items():
            all_values[name] = adapt(all_values[name])
        if self.order is None:
            return all_values
        return tuple([all_values[name] for name in self.order])


def execute(
    connection: sa.Connection, statement: sa.ClauseElement, values: Values | Sequence[Values]
) -> sa.CursorResult[Any]:
    """Execute a statement that is a constant, once or for each of several sets of values."""
    text = _text(statement, connection.dialect)
    if isinstance(values, Mapping):
        return connection.exec_driver_sql(text.sql, text.parameters(values))
    return connection.exec_driver_sql(text.sql, [text.parameters(each) for each in values])


def execute_for(
    connection: sa.Connection,
    statement: Any,
    column: sa.ColumnElement[Any],
    values: Sequence[Any],
    others: Values = MappingProxyType({}),
) -> sa.CursorResult[Any]:
    """Execute a constant statement for the rows whose column has one of the values.

    The list of values is padded, so that few texts are compiled.
    """
    listed = {f"one_of_{number}": value for number, value in enumerate(padded(values))}
    return execute(connection, _narrowed(statement, column, len(listed)), {**others, **listed})


def padded(values: Sequence[Any]) -> Sequence[Any]:
    """Return the values, the last one repeated until their number is a power of two.

    >>> padded([1, 2, 3])
    [1, 2, 3, 3]
    """
    if not values:
        return values
    count = 1 << (len(values) - 1).bit_length()
    return [*values, *[values[-1]] * (count - len(values))]


@lru_cache(maxsize=200)
def _narrowed(statement: Any, column: sa.ColumnElement[Any], count: int) -> sa.ClauseElement:
    names = (f"one_of_{number}" for number in range(count))
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
