"""Statements with their values in the text, where that is safe.

A message of several statements cannot have parameters on PostgreSQL, and drivers written in Python
need much of the time of a statement to quote them. A value is written into the text only if no
quoting is necessary: whole numbers, timestamps, NULL, and text of printable ASCII characters
without quotation marks and backslashes, such as UUIDs.

Statements without results that are sent to the database in one message.

A claim decides under locks, then writes five tables. None of these statements needs the result of
another, so their round trips would only keep the locks longer. MariaDB executes them as one
compound statement, PostgreSQL as one message with several statements. The last ones of a
transaction are sent together with its COMMIT. The first error ends the message: what follows, also
the COMMIT, is not executed, and the transaction is rolled back, as after an error of a single
statement. Other databases and drivers get one statement after the other.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import datetime
from functools import lru_cache
from types import MappingProxyType, NoneType
from typing import Any, NamedTuple

import sqlalchemy as sa

from placement.db.statements import compiled, driver_rows
from placement.db.statements.compiled import BoundStatement, Values

_PERCENT_STYLES = frozenset({"format", "pyformat"})
_is_plain = re.compile(r"[ !#-&(-\[\]-_a-~]*").fullmatch


def with_literals(statement: BoundStatement, paramstyle: str) -> str | None:
    r"""Return the text of a statement without parameters.

    Returns None if a value has to be quoted, or if the ``paramstyle`` of the driver has other
    placeholders than ``%s``.

    >>> sql = "SET a = %s, b = %s WHERE c %% 2 = %s"
    >>> with_literals(BoundStatement(sql, (1, "x", -3)), "pyformat")
    "SET a = 1, b = 'x' WHERE c % 2 = (-3)"
    >>> with_literals(BoundStatement("SET a = %s", ("it's",)), "format")
    >>> with_literals(BoundStatement("SET a = ?", (1,)), "qmark")
    """
    if paramstyle not in _PERCENT_STYLES:
        return None
    try:
        return statement.sql % tuple(
            [_LITERAL_OF[type(value)](value) for value in statement.parameters]
        )
    except (_NotPlain, KeyError):
        return None


class _NotPlain(Exception):  # noqa: N818
    """The value has to be quoted by the driver."""


def _integer(value: int) -> str:
    return str(value) if value >= 0 else f"({value})"


def _text(value: str) -> str:
    if not _is_plain(value):
        raise _NotPlain
    return f"'{value}'"


@lru_cache(maxsize=10)  # the columns of one statement have the same
def _timestamp(value: datetime) -> str:
    if value.tzinfo is not None:
        raise _NotPlain
    return f"'{value}'"


def _null(_: None) -> str:
    return "NULL"


# by the exact type: a subclass may print otherwise
_LITERAL_OF: Mapping[type, Callable[[Any], str]] = {
    int: _integer,
    str: _text,
    datetime: _timestamp,
    NoneType: _null,
}


# A message is smaller: servers limit its size.
_MAX_CHARACTERS = 500_000
# the key in the values of a connection: whether its transaction was committed in a message
_IS_COMMITTED = "is_committed"


class _Message(NamedTuple):
    """How a driver sends several statements: the template of the text; whether with COMMIT."""

    template: str
    accepts_commit: bool


class StatementBatch:
    """Executes statements on a connection: at once, or together at the end of a context."""

    def __init__(self, connection: sa.Connection) -> None:
        self.connection = connection
        self._message = _message(connection.dialect)
        self._queue: list[str] = []
        self._size = 0
        self._is_collecting = False

    def execute(self, statement: sa.ClauseElement, values: Values | Sequence[Values]) -> None:
        """Execute a constant statement, as ``compiled_statements.execute`` does."""
        if self._is_collecting:
            self._add(compiled.bound(self.connection.dialect, statement, values))
        else:
            if self._queue:
                self._flush()
            compiled.execute(self.connection, statement, values)

    def execute_for(
        self,
        statement: Any,
        column: sa.ColumnElement[Any],
        values: Sequence[Any],
        others: Values = MappingProxyType({}),
    ) -> None:
        """Execute a constant statement for rows, as ``compiled_statements.execute_for`` does."""
        narrowed, listed = compiled.narrowed(statement, column, values)
        self.execute(narrowed, {**others, **listed})

    def together(self) -> AbstractContextManager[None]:
        """Send the statements of the context at its end, in their order.

        Statements that are executed on the connection itself come before them. An error of the
        database is raised at the end of the context. Within another context, that one sends them.
        """
        return self._collecting(sends=True)

    def at_commit(self) -> AbstractContextManager[None]:
        """Send the statements of the context, the last of the transaction, with the COMMIT.

        Where the driver cannot, they are sent at the end of the context. Later statements of this
        batch are sent after them; no others may be executed on the connection.
        """
        return self._collecting(
            sends=self._message is not None and not self._message.accepts_commit
        )

    def _collecting(self, *, sends: bool) -> AbstractContextManager[None]:
        if self._message is None or self._is_collecting:
            return _NOTHING
        return _Collecting(self, sends=sends)

    def start_collecting(self) -> None:
        """Queue statements instead of executing them."""
        self._is_collecting = True

    def stop_collecting(self, *, sends: bool, discards: bool) -> None:
        """Execute statements again; send those that are queued, discard them, or keep them."""
        self._is_collecting = False
        if discards:
            self._take()
        elif sends:
            self._flush()

    def commit(self) -> None:
        """Commit the transaction, with the statements that wait for it."""
        if not self._queue:
            self.connection.commit()
            return
        self._queue.append("COMMIT")
        self._flush()
        info = self.connection.info
        info[_IS_COMMITTED] = True
        try:
            self.connection.commit()
        finally:
            del info[_IS_COMMITTED]

    def _add(self, statement: compiled.BoundStatement) -> None:
        text = with_literals(statement, self.connection.dialect.paramstyle)
        if text is None:
            self._flush()
            self.connection.exec_driver_sql(statement.sql, statement.parameters)
            return
        self._queue.append(text)
        self._size += len(text)
        if self._size > _MAX_CHARACTERS:
            self._flush()

    def _flush(self) -> None:
        statements = self._take()
        if self._message and statements:
            text = "; ".join(statements)
            if len(statements) > 1:
                text = self._message.template.format(text)
            driver_rows.execute(self.connection, text, None)

    def _take(self) -> list[str]:
        statements, self._queue, self._size = self._queue, [], 0
        return statements


class _Collecting:
    """A context in which a batch queues statements; they are discarded if it fails."""

    __slots__ = ("_batch", "_sends")

    def __init__(self, batch: StatementBatch, *, sends: bool) -> None:
        self._batch = batch
        self._sends = sends

    def __enter__(self) -> None:
        self._batch.start_collecting()

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        self._batch.stop_collecting(sends=self._sends, discards=error is not None)


_NOTHING = nullcontext()


def _message(dialect: sa.Dialect) -> _Message | None:
    """Return how to send several statements at once; None if the database or driver cannot.

    A block of MariaDB needs no option of the connection; MySQL has blocks in stored programs
    only. psycopg2 keeps a state of the transaction of its own, which a COMMIT in the text would
    not change.
    """
    if getattr(dialect, "is_mariadb", False):
        return _Message("BEGIN NOT ATOMIC {}; END", accepts_commit=True)
    if dialect.name == "postgresql":
        return _Message("{}", accepts_commit=dialect.driver == "psycopg")
    return None


def prepare(engine: sa.Engine) -> None:
    """Let an engine send the messages of its batches."""
    _skip_second_commit(engine.dialect)
    if engine.dialect.driver == "psycopg":
        setattr(engine.dialect, "do_execute_no_params", _execute_unprepared)  # noqa: B010


def _skip_second_commit(dialect: sa.Dialect) -> None:
    """Send no COMMIT for a transaction whose last message had it.

    SQLAlchemy learns of the end of a transaction by its own commit only.
    """
    commit = dialect.do_commit

    def do_commit(connection: Any) -> None:
        if not connection.info.get(_IS_COMMITTED):
            commit(connection)

    setattr(dialect, "do_commit", do_commit)  # noqa: B010  a method


def _execute_unprepared(cursor: Any, statement: str, _context: object = None) -> None:
    """Execute a batch: psycopg would prepare a text that is repeated, but only one statement."""
    cursor.execute(statement, prepare=False)
