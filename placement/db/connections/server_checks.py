"""Which server a connection reaches, and whether it is the primary.

A new connection is checked, and one in the pool again when it is used after a second: a switchover
may leave connections open, to a server that is read-only from then on and whose data becomes old.

A proxy may route the single statements of a connection to replicas, and its transactions to the
primary. The two are compared when a connection for reads is opened. The statement that reads the
clocks also reads ``PROBED``, which ``verify`` compares with them: a proxy may begin this later.

Notices that connections to a server must not be used any more, and ends their lineage.
"""

import time
from collections.abc import Hashable, Iterable, Mapping, MutableMapping
from typing import Any

import sqlalchemy as sa
from sqlalchemy import event

from placement.db import errors, tables
from placement.db.connections import session_settings, timeouts
from placement.db.connections.lineage import Lineage
from placement.db.errors import ServerReadOnly, SeveralServers
from placement.db.settings import DatabaseSettings

INTERVAL_SECONDS = 1.0

# By dialect, an expression with another value on each server. A server of PostgreSQL is told from
# its standbys by the time of its start.
_MYSQL_SERVER = "CONCAT(@@hostname, ':', @@port, ' (server_id ', @@server_id, ')')"
_POSTGRESQL_SERVER = (
    "CONCAT_WS(' ', host(inet_server_addr()), 'started at', pg_postmaster_start_time())"
)
SERVER: Mapping[str, str] = {"mysql": _MYSQL_SERVER, "postgresql": _POSTGRESQL_SERVER}

# The server, and flags that are set on a read-only one, in one column: drivers written in Python
# take time for each. Replicas of some cloud providers have innodb_read_only alone. A demoted
# primary of PostgreSQL may be no standby, but have default_transaction_read_only, for example with
# pg_auto_failover or when its disk is almost full at a cloud provider. Sessions do not set it.
_MYSQL_PROBED = f"CONCAT_WS(',', {_MYSQL_SERVER}, @@read_only, @@innodb_read_only)"
PROBED: Mapping[str, str] = {
    "mysql": _MYSQL_PROBED,
    "mariadb": _MYSQL_PROBED,
    "postgresql": (
        f"CONCAT_WS(',', {_POSTGRESQL_SERVER}, pg_is_in_recovery(),"
        " current_setting('default_transaction_read_only'))"
    ),
}
_PRIMARY, _PROBED_PRIMARY = "primary", "probed primary"


def note_primary(backend: str, connection: Any, info: MutableMapping[str, Any]) -> None:
    """Record the server that the transactions of a new connection for reads reach.

    Pgpool-II routes by the functions of a statement: to the primary if one is volatile, such as
    ``pg_is_in_recovery``. The nodes of a Galera cluster are one server.
    Cost: four statements.  Raises: ServerReadOnly, SeveralServers if single statements reach
    another server.
    """
    if info["server"] is not None:
        return
    with connection.cursor() as cursor:
        cursor.execute("BEGIN")
        cursor.execute(f"SELECT {PROBED[backend]}")
        probed = cursor.fetchone()[0]
        cursor.execute("COMMIT")
        cursor.execute(f"SELECT {SERVER[backend]}")
        single_server = cursor.fetchone()[0]
    verify(info, probed)
    info[_PRIMARY], info[_PROBED_PRIMARY] = probed.split(",")[0], probed
    _compare(info, single_server)


def verify(info: Mapping[str, Any], probed: str) -> None:
    """Return if a statement of a connection, which returned ``PROBED``, reached the primary.

    Raises: ServerReadOnly, SeveralServers.
    """
    if probed == info.get(_PROBED_PRIMARY):
        return
    server, *flags = probed.split(",")
    if is_read_only(flags):
        raise ServerReadOnly(
            f"The database server {server} is read-only: it is a standby, or was set read-only."
        )
    _compare(info, server)


def _compare(info: Mapping[str, Any], server: str) -> None:
    primary = info.get(_PRIMARY, server)
    if server != primary:
        raise SeveralServers(
            "A proxy routes the statements of one database connection to several servers: "
            f"transactions to {primary}, others to {server}. Replicas return old data. Connect "
            "to the primary, or to a listener that forwards whole connections to it."
        )


def is_read_only(flags: Iterable[str]) -> bool:
    """Return whether a flag of a read-only server is set; servers return numbers or words.

    >>> is_read_only(["0", "OFF", "f"]), is_read_only(["1"]), is_read_only(["READ_ONLY"])
    (False, True, True)
    """
    return any(flag not in {"0", "OFF", "f", "off"} for flag in flags)


class MysqlChecks:
    """The checks of MySQL, MariaDB and Galera."""

    def set_up(self, connection: Any) -> Hashable:
        """Set the session on a node of a Galera cluster; return the cluster, or None.

        A node applies the commits of others a moment later: each transaction waits for them, which
        takes one round trip of the group communication.
        """
        with connection.cursor() as cursor:
            cursor.execute("SHOW GLOBAL VARIABLES LIKE 'wsrep_on'")
            row = cursor.fetchone()
            if not row or row[1] != "ON":
                return None
            cursor.execute(f"SET {session_settings.assignments(session_settings.GALERA)}")
            cursor.execute("SHOW GLOBAL STATUS LIKE 'wsrep_cluster_state_uuid'")
            return str(cursor.fetchone()[1])

    def check(self, connection: Any, info: MutableMapping[str, Any]) -> Hashable:
        """Return what identifies the server and its tables.

        Raises: ServerReadOnly, SeveralServers.
        """
        with connection.cursor() as cursor:
            cursor.execute(
                f"SELECT {PROBED['mysql']},"  # noqa: S608  a constant
                " (SELECT create_time FROM information_schema.tables"
                " WHERE table_schema = DATABASE() AND table_name = 'clocks')"
            )
            probed, created_at = cursor.fetchone()
        connection.rollback()
        verify(info, probed)
        # the nodes of a cluster are one server; each creates a table at its own time
        return info["server"] or (probed, created_at)


class PostgresqlChecks:
    """The checks of PostgreSQL."""

    def set_up(self, _connection: Any) -> Hashable:
        """Return None: PostgreSQL needs nothing more."""
        return None

    def check(self, connection: Any, info: MutableMapping[str, Any]) -> Hashable:
        """Return what identifies the server and its tables.

        Raises: ServerReadOnly, SeveralServers.
        """
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT (pg_control_system()).system_identifier, pg_postmaster_start_time(),"
                f" pg_relation_filenode(to_regclass('clocks')), {PROBED['postgresql']},"
                " COALESCE(pg_relation_size(to_regclass('clocks')), 0)"
            )
            system, started_at, file_node, probed, size = cursor.fetchone()
        if not connection.autocommit:
            connection.rollback()
        verify(info, probed)
        tables.note_size(info, size)
        return system, started_at, file_node


BY_BACKEND: Mapping[str, MysqlChecks | PostgresqlChecks] = {
    "mysql": MysqlChecks(),
    "postgresql": PostgresqlChecks(),
}


class ConnectionWatch:
    """Checks each new connection, then again after a second; one failure discards all of them.

    Connections of an earlier lineage are replaced when they are next used.
    """

    def __init__(self, lineage: Lineage, settings: DatabaseSettings) -> None:
        self._lineage = lineage
        self._backend = settings.backend
        self._checks = BY_BACKEND[settings.backend]
        # SQLAlchemy before 2.1 does not close a connection that cannot be set up. The drivers of
        # MySQL close it when it is collected, and raise if it is closed twice.
        self._may_close_twice = settings.backend == "postgresql"
        self._limits_tcp = "tcp_user_timeout" not in settings.url.query

    def listen(self, engine: sa.Engine, *, is_reader: bool = False) -> None:
        """Watch the connections of one pool."""

        def set_up(connection: Any, record: Any) -> None:
            self._set_up(connection, record, is_reader=is_reader)

        event.listen(engine, "do_connect", timeouts.connect)
        if self._limits_tcp:  # from the first statement on
            event.listen(engine, "connect", timeouts.limit_unresponsive, insert=True)
        event.listen(engine, "connect", set_up)
        event.listen(engine, "checkout", self._check_again)
        event.listen(engine, "handle_error", self._note_failure)

    def _set_up(self, connection: Any, record: Any, *, is_reader: bool) -> None:
        try:
            record.info["server"] = self._checks.set_up(connection)
            self._check(connection, record)
            if is_reader:
                note_primary(self._backend, connection, record.info)
            record.info["lineage"] = self._lineage.number
        except BaseException:
            if self._may_close_twice:
                connection.close()
            raise

    def _check(self, connection: Any, record: Any) -> None:
        self._lineage.reach(self._checks.check(connection, record.info))
        record.info["checked_at"] = time.monotonic()

    def _check_again(self, connection: Any, record: Any, _proxy: object) -> None:
        age_seconds = time.monotonic() - record.info["checked_at"]
        if age_seconds >= INTERVAL_SECONDS:
            try:
                self._check(connection, record)
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
