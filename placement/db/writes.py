"""The writes of a transaction as values, the one function that executes them, and lists in SQL.

A decision returns its writes as a list, in the order in which they are executed. Statements are
constants, or built once for a number of values, so that SQLAlchemy compiles them once.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import Any, NamedTuple, TypeVar

import sqlalchemy as sa

T = TypeVar("T")

# Fewer than the maximum number of parameters of a statement in any database (SQLite: 32766)
CHUNK = 1000

Values = Mapping[str, Any]


class Write(NamedTuple):
    """A statement without result, and its values; an insert may have values of several rows."""

    statement: sa.Executable
    values: Values | Sequence[Values]


def one_of(column: sa.ColumnElement[Any], name: str) -> sa.ColumnElement[bool]:
    """Return the condition that the column has one of the values of a list parameter.

    >>> print(one_of(sa.column("id"), "ids"))
    id IN (__[POSTCOMPILE_ids])
    """
    return column.in_(sa.bindparam(name, type_=column.type, expanding=True))


def chunks(values: Iterable[T], size: int = CHUNK) -> Iterator[Sequence[T]]:
    """Yield the values in parts that fit into one statement.

    >>> list(chunks("abcde", 2))
    [('a', 'b'), ('c', 'd'), ('e',)]
    """
    items = tuple(values)
    for start in range(0, len(items), size):
        yield items[start : start + size]


def rows_of(
    connection: sa.Connection, query: sa.Select[Any], column: sa.Column[Any], values: Iterable[Any]
) -> Iterator[sa.Row[Any]]:
    """Yield the rows of a query in which the column has one of the values.

    The query must be a constant, because the statements for it are cached.
    Cost: one statement for each thousand values.
    """
    for chunk in chunks(values):
        padded = pad(chunk)
        statement = _restricted(query, column, len(padded))
        yield from connection.execute(statement, numbered("value", padded))


@lru_cache(maxsize=200)  # building a statement takes longer than sending it
def _restricted(query: sa.Select[Any], column: sa.Column[Any], count: int) -> sa.Select[Any]:
    return query.where(one_of_numbered(column, "value", count))


def pad(values: Sequence[T]) -> Sequence[T]:
    """Return the values, with the last one repeated up to a power of two.

    Lists of few different lengths need few statements.

    >>> pad("abcde")
    ['a', 'b', 'c', 'd', 'e', 'e', 'e', 'e']
    """
    if not values:
        return values
    length = 1 << (len(values) - 1).bit_length()
    return [*values, *[values[-1]] * (length - len(values))]


def numbered(name: str, values: Iterable[T]) -> dict[str, T]:
    """Return the parameters of a list.

    >>> numbered("id", [7, 9])
    {'id_0': 7, 'id_1': 9}
    """
    return {f"{name}_{number}": value for number, value in enumerate(values)}


def one_of_numbered(column: sa.Column[Any], name: str, count: int) -> sa.ColumnElement[bool]:
    """Return the condition of ``one_of`` with a parameter for each value, named by ``numbered``.

    SQLAlchemy expands a list parameter again at each execution.
    """
    names = numbered(name, range(count))
    return column.in_([sa.bindparam(parameter, type_=column.type) for parameter in names])


def execute_all(connection: sa.Connection, writes: Iterable[Write]) -> None:
    """Execute the writes in their order.  Raises: DBAPIError, of the first write that fails.

    One message to the server contains many writes, so locks are not kept for a round trip of each
    write. SQLite, and drivers without such messages, execute one write after the other.
    """
    if connection.dialect.driver not in _DRIVERS:
        for statement, values in writes:
            connection.execute(statement, values).close()
        return
    texts: list[str] = []
    parameters: list[Any] = []
    for write in writes:
        text, values = _bound(write, connection.dialect)
        texts.append(text)
        parameters += values
        if len(parameters) > _MAX_PARAMETERS:
            _send(connection, texts, parameters)
            texts, parameters = [], []
    if texts:
        _send(connection, texts, parameters)


def _send(connection: sa.Connection, texts: Sequence[str], parameters: Sequence[Any]) -> None:
    connection.exec_driver_sql("; ".join(texts), tuple(parameters), _IS_MESSAGE).close()


class _Template(NamedTuple):
    """A compiled statement with the names of its parameters, in their order."""

    text: str
    order: Sequence[str]
    constants: Values
    lists: Mapping[str, Sequence[str]]  # the parameters of each value that is a list

    def parameters(self, row: Values) -> list[Any]:
        """Return the parameters for the values of a row, in their order."""
        values = {**self.constants, **row}
        for name, names in self.lists.items():
            values.update(zip(names, row[name], strict=True))
        return [values[name] for name in self.order]


def _bound(write: Write, dialect: sa.Dialect) -> tuple[str, list[Any]]:
    """Return the text of a write and its parameters; an insert lists all its rows."""
    rows = [write.values] if isinstance(write.values, Mapping) else write.values
    sizes = tuple(len(v) if isinstance(v, list | tuple) else None for v in rows[0].values())
    template = _template(write.statement, dialect, tuple(rows[0]), sizes)
    one_row = template.text.rpartition(" VALUES ")[2]
    parameters = chain.from_iterable(map(template.parameters, rows))
    return ", ".join([template.text, *[one_row] * (len(rows) - 1)]), list(parameters)


@lru_cache(maxsize=500)
def _template(
    statement: Any, dialect: sa.Dialect, names: Sequence[str], sizes: Sequence[int | None]
) -> _Template:
    """Return the template for values of these names; ``sizes`` has the lengths of lists."""
    compiled = statement.compile(dialect=dialect, column_keys=list(names))
    values = {
        name: None if size is None else [None] * size
        for name, size in zip(names, sizes, strict=True)
    }
    state = compiled.construct_expanded_state(values)
    return _Template(
        state.statement, state.positiontup, compiled.params, state.parameter_expansion
    )


def accept_messages(engine: sa.Engine) -> None:
    """Let the connections of an engine send messages of several statements."""
    driver = engine.dialect.driver
    if driver not in _DRIVERS:
        return
    if engine.dialect.name != "postgresql":
        sa.event.listen(engine, "do_connect", _allow_messages, insert=True)

    @sa.event.listens_for(engine, "do_execute")
    def execute(cursor: Any, text: str, parameters: Any, context: Any) -> bool:
        """Return whether this was a message, and was sent."""
        if not context.execution_options.get("is_message"):
            return False
        if driver == "psycopg":  # other cursors bind on the server: one statement only
            cursor = context.dialect.dbapi.ClientCursor(cursor.connection)
        cursor.execute(text, parameters)
        while driver in _RETURNING_ALL_RESULTS and cursor.nextset():
            pass  # the error of a statement is raised where its result is read
        return True


def _allow_messages(_dialect: object, _record: object, _: object, named: dict[str, Any]) -> None:
    named["client_flag"] = named.get("client_flag", 0) | _MULTI_STATEMENTS


_MULTI_STATEMENTS = 1 << 16  # in the protocol of MySQL
_RETURNING_ALL_RESULTS = frozenset({"pymysql", "mysqldb"})
_DRIVERS = _RETURNING_ALL_RESULTS | {"psycopg", "psycopg2"}
_IS_MESSAGE = {"is_message": True}
_MAX_PARAMETERS = 5000  # of a message; servers limit its size
