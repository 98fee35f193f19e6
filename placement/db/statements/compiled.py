"""Statements that are compiled once and then sent as text.

For each execution of a statement SQLAlchemy computes a cache key from its structure and expands
its lists: that takes longer than the driver needs to send it. Here the text and the processing of
parameters are kept for each statement and dialect. Columns of the rows have the names in the text.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from operator import itemgetter
from types import MappingProxyType
from typing import Any, NamedTuple, cast

import sqlalchemy as sa

Values = Mapping[str, Any]

# a named parameter of psycopg, which accepts positional ones, too
_NAMED = re.compile(r"(?<!%)%\((\w+)\)s")


class BoundStatement(NamedTuple):
    """The text of a statement and its positional parameters, as the driver accepts them."""

    sql: str
    parameters: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class _Text:
    """A statement compiled for one dialect.

    ``fixed`` has the parameters that are always the same, ``adapted`` the conversions of those
    that the driver does not accept as they are; ``in_order`` returns the values of all parameters
    in the order of the text.
    """

    sql: str
    fixed: Values
    adapted: Mapping[str, Callable[[Any], Any]]
    in_order: Callable[[Values], tuple[Any, ...]]

    def parameters(self, values: Values) -> tuple[Any, ...]:
        if self.fixed or self.adapted:
            values = {**self.fixed, **values}
            for name, adapt in self.adapted.items():
                values[name] = adapt(values[name])
        return self.in_order(values)

    def of_rows(self, rows: Sequence[Values]) -> BoundStatement:
        """Return the statement that inserts all rows; the text has the values of one."""
        one_row = self.sql.rpartition(" VALUES ")[2]
        sql = ", ".join([self.sql, *[one_row] * (len(rows) - 1)])
        return BoundStatement(sql, tuple(chain.from_iterable(map(self.parameters, rows))))


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
    narrowed_statement, listed = narrowed(statement, column, values)
    return execute(connection, narrowed_statement, {**others, **listed})


def bound(
    dialect: sa.Dialect, statement: sa.ClauseElement, values: Values | Sequence[Values]
) -> BoundStatement:
    """Return the text and parameters of a constant statement.

    With several sets of values, the statement must be one of ``inserted``.
    """
    text = _text(statement, dialect)
    if isinstance(values, list | tuple):  # in a fifth of the time of a check for Mapping
        return text.of_rows(values)
    return BoundStatement(text.sql, text.parameters(cast("Values", values)))


def narrowed(
    statement: Any, column: sa.ColumnElement[Any], values: Sequence[Any]
) -> tuple[sa.ClauseElement, Values]:
    """Return the statement for the rows whose column has one of the values, and its parameters."""
    listed = {f"one_of_{number}": value for number, value in enumerate(padded(values))}
    return _narrowed(statement, column, len(listed)), listed


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
    narrowed_statement: sa.ClauseElement = statement.where(
        column.in_([sa.bindparam(name, type_=column.type) for name in names])
    )
    return narrowed_statement


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
        sql=compiled.string if compiled.positional else _NAMED.sub("%s", compiled.string),
        fixed={name: value for name, value in compiled.params.items() if name not in required},
        adapted={name: adapt for name, adapt in adapters.items() if adapt is not None},
        in_order=_in_order(compiled.positiontup or _NAMED.findall(compiled.string)),
    )


def _in_order(names: Sequence[str]) -> Callable[[Values], tuple[Any, ...]]:
    if len(names) > 1:
        return itemgetter(*names)
    return lambda values: tuple([values[name] for name in names])


def inserted(table: sa.Table, *columns: str) -> sa.Insert:
    """Return the statement that inserts a row with values of these columns."""
    return table.insert().inline().values({name: sa.bindparam(name) for name in columns})
