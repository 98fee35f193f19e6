"""Which server a connection reaches, and whether it is the primary.

A new connection is checked. Each second in which a server is used, one connection to it is checked
again: a switchover may leave connections open to a server that has become read-only, and whose
data becomes old.

A proxy may route the single statements of a connection to replicas, and its transactions to the
primary. A new connection for reads is therefore checked in a transaction, and by a single
statement. The statement that reads the clocks also reads ``PRIMARY``, which ``verify`` compares
with the server of the connection: a proxy may begin to route statements to replicas later.
"""

import time
from collections.abc import Mapping
from functools import partial
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy import event

from placement.db import errors
from placement.db.connections import session_settings, timeouts
from placement.db.connections.lineage import Lineage
from placement.db.errors import ServerReadOnly, SeveralServers
from placement.db.settings import DatabaseSettings

INTERVAL_SECONDS = 1.0


class Expressions(NamedTuple):
    """SQL expressions about the server that a statement reaches."""

    server: str  # identifies the server
    is_read_only: str  # whether it was set read-only
    is_standby: str
    tables: str  # identifies all tables; a restore creates them again


# Replicas of some cloud providers set only innodb_read_only. The variable read_only is a number or
# a word, depending on the version.
_MYSQL = Expressions(
    "CONCAT(@@hostname, ':', @@port, ' (server_id ', @@server_id, ')')",
    "(CONCAT(@@read_only) NOT IN ('0', 'OFF') OR @@innodb_read_only)",
    "FALSE",
    "(SELECT GROUP_CONCAT(table_name, ' ', create_time ORDER BY table_name)"
    " FROM information_schema.tables WHERE table_schema = DATABASE())",
)
# The start time distinguishes a primary from its standbys. A demoted primary may not be a standby,
# but have default_transaction_read_only, for example with pg_auto_failover or when its disk is
# almost full at a cloud provider. Sessions do not set this variable.
# Pgpool-II routes statements with volatile functions to the primary, and other statements to
# standbys: only the expression for standbys has a volatile function.
_POSTGRESQL = Expressions(
    "CONCAT_WS(' ', host(inet_server_addr()), 'started at', pg_postmaster_start_time())",
    "CAST(current_setting('default_transaction_read_only') AS boolean)",
    "pg_is_in_recovery()",
    "(SELECT string_agg(CONCAT(pg_class.oid, ' ', relfilenode), ',' ORDER BY pg_class.oid)"
    " FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace"
    " WHERE relkind IN ('r', 'i') AND nspname = ANY (current_schemas(false)))",
)
_BY_BACKEND = {"mysql": _MYSQL, "postgresql": _POSTGRESQL}
# By dialect, the server that a statement reaches, or NULL if it is read-only.
PRIMARY: Mapping[str, str] = {
    dialect: f"CASE WHEN NOT {expressions.is_read_only} THEN {expressions.server} END"
    for dialect, expressions in {**_BY_BACKEND, "mariadb": _MYSQL}.items()
}


def verify(info: Mapping[str, Any], server: str | None) -> None:
    """Return if the statement that read ``PRIMARY`` reached the server of its connection.

    The nodes of a Galera cluster are one server.
    Raises: ServerReadOnly, SeveralServers.
    """
    if server is None:
        raise ServerReadOnly(f"The database server {info['server']} was set read-only.")
    if server != info["server"] and info["cluster"] is None:
        raise SeveralServers(
            "A proxy routes the statements of one database connection to several servers: "
            f"transactions to {info['server']}, others to {server}. Replicas return old data. "
            "Connect to the primary, or to a listener that forwards whole connections to it."
        )


def _set_up_mysql(cursor: Any, *, is_reader: bool) -> str | None:
    """Set variables that only MariaDB or Galera has; return the cluster of the server, or None.

    A node applies the commits of other nodes a moment later. Each transaction waits for these
    commits, which takes one round trip of the group communication.
    """
    cursor.execute(
        "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('idle_transaction_timeout', 'wsrep_on')"
    )
    variables = dict(cursor.fetchall())
    if "idle_transaction_timeout" in variables and not is_reader:
        cursor.execute(f"SET {session_settings.assignments(session_settings.MARIADB_WRITES)}")
    if variables.get("wsrep_on") != "ON":
        return None
    cursor.execute(f"SET {session_settings.assignments(session_settings.GALERA)}")
    cursor.execute("SHOW GLOBAL STATUS LIKE 'wsrep_cluster_state_uuid'")
    return str(cursor.fetchone()[1])


class ConnectionWatch:
    """Checks new connections, and servers each second; a failure discards all connections.

    Connections of an earlier lineage are replaced when they are next used.
    """

    def __init__(self, lineage: Lineage, settings: DatabaseSettings) -> None:
        self._lineage = lineage
        self._backend = settings.backend
        server, is_read_only, is_standby, tables = _BY_BACKEND[settings.backend]
        self._query = f"SELECT {server}, {is_read_only} OR {is_standby}, {tables}"
        self._checked_at: dict[str, float] = {}  # by server

    def listen(self, engine: sa.Engine, *, is_reader: bool = False) -> None:
        """Watch the connections of one pool."""

        def set_up(connection: Any, record: Any) -> None:
            try:
                self._set_up(connection, record, is_reader=is_reader)
            except BaseException:
                # SQLAlchemy before 2.1 does not close the connection. The drivers of MySQL close
                # it when it is collected, and raise if it is closed twice.
                if self._backend == "postgresql":
                    connection.close()
                raise

        event.listen(engine, "do_connect", timeouts.connect)
        event.listen(engine, "connect", set_up)
        event.listen(engine, "checkout", partial(self._check_again, is_reader=is_reader))
        event.listen(engine, "handle_error", self._note_failure)

    def _set_up(self, connection: Any, record: Any, *, is_reader: bool) -> None:
        with connection.cursor() as cursor:
            is_mysql = self._backend == "mysql"
            record.info["cluster"] = (
                _set_up_mysql(cursor, is_reader=is_reader) if is_mysql else None
            )
            if is_reader:
                cursor.execute("BEGIN")
                self._check(cursor, record)
                cursor.execute("COMMIT")
                cursor.execute(f"SELECT {PRIMARY[self._backend]}")
                verify(record.info, *cursor.fetchone())
            else:
                self._check(cursor, record)
                connection.rollback()
        record.info["lineage"] = self._lineage.number

    def _check(self, cursor: Any, record: Any) -> None:
        """Note the server of a connection.  Raises: ServerReadOnly, SeveralServers."""
        began_at = time.monotonic()
        cursor.execute(self._query)
        server, is_read_only, tables = cursor.fetchone()
        if is_read_only:
            raise ServerReadOnly(
                f"The database server {server} is read-only: it is a standby, or was set "
                "read-only."
            )
        record.info.setdefault("server", server)
        verify(record.info, server)
        self._lineage.reach(server, tables)
        self._checked_at[record.info["server"]] = began_at

    def _check_again(
        self, connection: Any, record: Any, _proxy: object, *, is_reader: bool
    ) -> None:
        age_seconds = time.monotonic() - self._checked_at[record.info["server"]]
        if age_seconds >= INTERVAL_SECONDS:
            try:
                with connection.cursor() as cursor:
                    self._check(cursor, record)
                if not is_reader:  # readers commit by themselves
                    connection.rollback()
            except Exception as error:
                self._lineage.end()
                raise sa.exc.DisconnectionError(errors.first_line(error)) from error
        if record.info["lineage"] != self._lineage.number:
            raise sa.exc.DisconnectionError("The connection is of an earlier lineage.")

    def _note_failure(self, context: sa.engine.ExceptionContext) -> None:
        if errors.ends_connection(context.original_exception):
            context.is_disconnect = True
        if context.is_disconnect:
            self._lineage.end()
