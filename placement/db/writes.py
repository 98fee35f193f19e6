"""Lists in SQL; and the writes of a transaction as values, which one function executes.

A decision returns its writes as a list, in the order in which they are executed. Statements are
constants, or built once for a number of values, so that SQLAlchemy compiles them once.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, TypeVar

import sqlalchemy as sa

from placement.db import errors
from placement.db.connections import messages

T = TypeVar("T")
_Filtered = sa.Select[Any] | sa.Update | sa.Delete

# Fewer than the maximum number of parameters of a statement in any database (SQLite: 32766)
CHUNK = 1000
_MAX_PARAMETERS = 5000  # of a message; servers limit its size

Values = Mapping[str, Any]


class Statements:
    """The statements for one kind of resource, in one transaction."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection


class Write(NamedTuple):
    """A statement without result, and its values; an insert may have values of several rows."""

    statement: sa.Executable
    values: Values | Sequence[Values]


def chunks(values: Iterable[T], size: int = CHUNK) -> Iterator[Sequence[T]]:
    """Yield the values in parts that fit into one statement.

    >>> list(chunks("abcde", 2))
    [('a', 'b'), ('c', 'd'), ('e',)]
    """
    items = tuple(values)
    for start in range(0, len(items), size):
        yield items[start : start + size]


def writes_of(
    statement: _Filtered, column: sa.Column[Any], values: Iterable[Any], **others: Any
) -> list[Write]:
    """Return the writes of a statement to the rows in which the column has one of the values.

    The statement should be a constant; ``others`` are its parameters.
    One write has up to a thousand values.
    """
    lists = (numbered("item", chunk) for chunk in chunks(values))
    return [
        Write(_restricted(statement, column, len(listed)), {**listed, **others})
        for listed in lists
    ]


def rows_of(
    connection: sa.Connection, query: sa.Select[Any], column: sa.Column[Any], values: Iterable[Any]
) -> Iterator[sa.Row[Any]]:
    """Yield the rows of a query in which the column has one of the values.

    The query should be a constant, because the statements for it are cached.
    Cost: one statement for each thousand values.
    """
    for statement, parameters in writes_of(query, column, values):
        yield from connection.execute(statement, parameters)


@lru_cache(maxsize=400)  # building a statement takes longer than sending it
def _restricted(statement: _Filtered, column: sa.Column[Any], count: int) -> _Filtered:
    return statement.where(one_of(column, "item", count))


def numbered(name: str, values: Sequence[T]) -> dict[str, T]:
    """Return the parameters of a list, in which the last value is repeated up to a power of two.

    Lists of few different lengths need few statements.

    >>> numbered("id", [7, 8, 9])
    {'id_0': 7, 'id_1': 8, 'id_2': 9, 'id_3': 9}
    """
    if not values:
        return {}
    padding = (1 << (len(values) - 1).bit_length()) - len(values)
    padded = [*values, *[values[-1]] * padding]
    return {f"{name}_{number}": value for number, value in enumerate(padded)}


def one_of(column: sa.Column[Any], name: str, count: int) -> sa.ColumnElement[bool]:
    """Return the condition that the column has one of the values of a ``numbered`` list.

    Each value is a parameter: SQLAlchemy would expand a list again at each execution.
    """
    return column.in_(
        [sa.bindparam(f"{name}_{number}", type_=column.type) for number in range(count)]
    )


def execute_all(connection: sa.Connection, writes: Iterable[Write]) -> int:
    """Execute the writes in their order; return how many rows the last one changed.

    Raises: DBAPIError, of the first write that fails.

    One message to the server contains many writes, so locks are not kept for a round trip of each
    write. SQLite, and drivers without such messages, execute one write after the other.
    """
    rows = 0
    if connection.dialect.driver not in messages.DRIVERS:
        for statement, values in writes:
            result = connection.execute(statement, values)
            rows = result.rowcount
            result.close()
        return rows
    texts: list[str] = []
    parameters: list[Any] = []
    for write in writes:
        text, values = _bound(write, connection.dialect)
        texts.append(text)
        parameters += values
        if len(parameters) > _MAX_PARAMETERS:
            rows = _send(connection, texts, parameters)
            texts, parameters = [], []
    return _send(connection, texts, parameters) if texts else rows


def _send(connection: sa.Connection, texts: Sequence[str], parameters: Sequence[Any]) -> int:
    """Send one message; return how many rows its last statement changed.

    Raises: NumbersUsedUp, other driver errors.
    """
    counts: list[int] = []
    options = {messages.COUNTS: counts}
    try:
        connection.exec_driver_sql("; ".join(texts), tuple(parameters), options).close()
    except sa.exc.DBAPIError as error:
        if connection.dialect.name != "postgresql":  # returns all results, or the error only
            errors.check_numbers(error, "".join(texts[len(counts) :][:1]))
        raise
    return counts[-1]


def _bound(write: Write, dialect: sa.Dialect) -> tuple[str, list[Any]]:
    """Return the text of a write and its parameters; an insert lists all its rows."""
    rows = [write.values] if isinstance(write.values, Mapping) else write.values
    text, order, constants = _compiled(write.statement, dialect, tuple(rows[0]))
    one_row = text.rpartition(" VALUES ")[2]
    parameters = []
    for row in rows:
        values = {**constants, **row}
        parameters += [values[name] for name in order]
    return ", ".join([text, *[one_row] * (len(rows) - 1)]), parameters


@lru_cache(maxsize=500)
def _compiled(
    statement: Any, dialect: sa.Dialect, names: Sequence[str]
) -> tuple[str, Sequence[str], Values]:
    """Return the text for values of these names, its parameters in their order, and constants."""
    compiled = statement.compile(dialect=dialect, column_keys=list(names))
    return compiled.string, compiled.positiontup, compiled.params
