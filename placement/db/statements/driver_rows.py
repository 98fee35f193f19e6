"""Statements that the cursor of the driver executes, and their rows.

SQLAlchemy takes about 20 us for each statement, and twice as long if its code is not in the caches
of the processor: it merges options, and computes names, types and conversions of the columns. A
claim consists of two statements that need none of this. Their transaction is SQLAlchemy's, their
errors are raised by SQLAlchemy, and where listeners or a log see statements, it executes them.
"""

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

_AS_IT_IS = {"no_parameters": True}


def execute(
    connection: sa.Connection, sql: str, parameters: tuple[Any, ...] | None
) -> Sequence[Sequence[Any]]:
    """Execute the text of a statement; return its rows, none if it is not a query.

    Without parameters (None) the text is sent as it is.
    Raises: DBAPIError, as ``exec_driver_sql`` does.
    """
    if _is_observed(connection):
        options = _AS_IT_IS if parameters is None else None
        result = connection.exec_driver_sql(sql, parameters, execution_options=options)
        return result.all() if result.returns_rows else ()
    if not connection.in_transaction():
        connection.begin()
    pooled, cursor = connection.connection, None
    try:
        cursor = pooled.cursor()
        if parameters is None:
            connection.dialect.do_execute_no_params(cursor, sql)
        else:
            connection.dialect.do_execute(cursor, sql, parameters)
        rows = cursor.fetchall() if cursor.description else ()
        cursor.close()
    except BaseException as error:
        # translates the error, calls its listeners, and discards a connection that broke
        connection._handle_dbapi_exception(error, sql, parameters, cursor, None)
    return rows


def _is_observed(connection: sa.Connection) -> bool:
    """Return whether events or the log of SQLAlchemy have to see the statements."""
    return connection._has_events or connection.engine._has_events or connection._echo
