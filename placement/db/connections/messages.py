"""Several statements in one message to the server: which drivers send them, and how."""

from typing import Any

import sqlalchemy as sa

_MULTI_STATEMENTS = 1 << 16  # in the protocol of MySQL
DRIVERS = frozenset({"pymysql", "mysqldb", "psycopg", "psycopg2"})
# The execution option of messages: a list, to which the number of rows of each statement is
# appended (psycopg2: of the last one only).
COUNTS = "message_counts"


def accept(engine: sa.Engine) -> None:
    """Let the connections of an engine send messages of several statements."""
    driver = engine.dialect.driver
    if driver not in DRIVERS:
        return
    if engine.dialect.name != "postgresql":
        # first, because the listener that opens the connection ends the event
        sa.event.listen(engine, "do_connect", _allow, insert=True)

    @sa.event.listens_for(engine, "do_execute")
    def execute(cursor: Any, text: str, parameters: Any, context: Any) -> bool:
        """Return whether this was a message, and was sent."""
        counts = context.execution_options.get(COUNTS)
        if counts is None:
            return False
        if driver == "psycopg":  # other cursors bind on the server: one statement only
            cursor = context.dialect.dbapi.ClientCursor(cursor.connection)
        cursor.execute(text, parameters)
        counts.append(cursor.rowcount)
        while driver != "psycopg2" and cursor.nextset():
            counts.append(
                cursor.rowcount
            )  # a statement's error is raised where its result is read
        return True


def _allow(_dialect: object, _record: object, _: object, named: dict[str, Any]) -> None:
    named["client_flag"] = named.get("client_flag", 0) | _MULTI_STATEMENTS
