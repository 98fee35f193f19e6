"""Statements without results that are sent to the database in one message.

A claim decides under locks, then writes five tables. None of these statements needs the result of
another, so their round trips would only keep the locks longer. MariaDB executes them as one
compound statement, PostgreSQL in the pipeline of psycopg. The first error ends the batch, and the
transaction is rolled back, as after an error of a single statement. Other databases and drivers
get one statement after the other.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any

import sqlalchemy as sa
from sqlalchemy import event

from placement.db.sqlalchemy import compiled_statements
from placement.db.sqlalchemy.compiled_statements import BoundStatement, Values

Send = Callable[[sa.Connection, Sequence[BoundStatement]], object]

# A message has less than a megabyte, also with text: servers limit its size.
_MAX_PARAMETERS = 10_000
# the execution option with the statements of a pipeline
PIPELINE = "placement_pipeline"


class StatementBatch:
    """Executes statements on a connection: at once, or together at the end of ``together``."""

    def __init__(self, connection: sa.Connection) -> None:
        self.connection = connection
        self._send = _sender(connection.dialect)
        self._queue: list[BoundStatement] = []
        self._is_together = False

    def execute(self, statement: sa.ClauseElement, values: Values | Sequence[Values]) -> None:
        """Execute a constant statement, as ``compiled_statements.execute`` does."""
        if self._is_together:
            self._add(compiled_statements.bound(self.connection.dialect, statement, values))
        else:
            compiled_statements.execute(self.connection, statement, values)

    def execute_for(
        self,
        statement: Any,
        column: sa.ColumnElement[Any],
        values: Sequence[Any],
        others: Values = MappingProxyType({}),
    ) -> None:
        """Execute a constant statement for rows, as ``compiled_statements.execute_for`` does."""
        narrowed, listed = compiled_statements.narrowed(statement, column, values)
        self.execute(narrowed, {**others, **listed})

    @contextmanager
    def together(self) -> Iterator[None]:
        """Send the statements of the context at its end, in their order.

        Statements that are executed on the connection itself come before them. An error of the
        database is raised at the end of the context. Contexts may be nested.
        """
        if self._send is None or self._is_together:
            yield
            return
        self._is_together = True
        try:
            yield
            self._flush()
        finally:
            self._is_together = False
            self._queue = []

    def _add(self, statement: BoundStatement) -> None:
        self._queue.append(statement)
        if sum(len(each.parameters) for each in self._queue) > _MAX_PARAMETERS:
            self._flush()

    def _flush(self) -> None:
        if self._send is not None and self._queue:
            self._send(self.connection, self._queue)
            self._queue = []


def _sender(dialect: sa.Dialect) -> Send | None:
    """Return how to send several statements at once; None if the database or driver cannot."""
    if getattr(dialect, "is_mariadb", False):
        return _send_compound
    if dialect.driver == "psycopg" and _has_pipeline(dialect):
        return _send_pipeline
    return None


# --- MariaDB ------------------------------------------------------------------------------


def _send_compound(connection: sa.Connection, statements: Sequence[BoundStatement]) -> None:
    """Send one statement that is a block of others; no option of the connection permits it.

    MySQL has blocks in stored programs only.
    """
    sql = "; ".join([each.sql for each in statements])
    if len(statements) > 1:
        sql = f"BEGIN NOT ATOMIC {sql}; END"
    parameters = tuple([value for each in statements for value in each.parameters])
    connection.exec_driver_sql(sql, parameters)


# --- PostgreSQL ---------------------------------------------------------------------------


def _has_pipeline(dialect: sa.Dialect) -> bool:
    """Return whether the client library of PostgreSQL has pipelines: version 14 or newer."""
    driver: Any = dialect.loaded_dbapi
    is_supported: bool = driver.Pipeline.is_supported()
    return is_supported


def _send_pipeline(connection: sa.Connection, statements: Sequence[BoundStatement]) -> None:
    text = "; ".join([each.sql for each in statements])
    options = {PIPELINE: tuple(statements)}
    connection.exec_driver_sql(text, execution_options=options)


def enable_pipelines(engine: sa.Engine) -> None:
    """Execute the statements that ``_send_pipeline`` leaves, within SQLAlchemy's execution.

    So their errors are wrapped, and a broken connection is discarded, as with other statements.
    """
    if engine.dialect.driver == "psycopg" and _has_pipeline(engine.dialect):
        event.listen(engine, "do_execute", _execute_in_pipeline)


def _execute_in_pipeline(cursor: Any, _text: str, _parameters: Any, context: Any) -> bool:
    """Return whether the execution is that of a batch; if so, it is executed here."""
    statements = context.execution_options.get(PIPELINE)
    if statements is None:
        return False
    with cursor.connection.pipeline():
        for each in statements:
            cursor.execute(each.sql, each.parameters)
    return True
