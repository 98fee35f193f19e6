"""Which server a connection reaches, and whether it is the primary.

A new connection is checked, and one in the pool again when it is used after a second: a switchover
may leave connections open, to a server that is read-only from then on and whose data becomes old.

A proxy may route the single statements of a connection to replicas, and its transactions to the
primary. The two are compared when a connection for reads is opened. The statement that reads the
clocks also reads ``PROBED``, which ``verify`` compares with them: a proxy may begin this later.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any

from placement.db.sqlalchemy import clock_versions
from placement.db.sqlalchemy.db_errors import ServerReadOnly, SeveralServers

INTERVAL_SECONDS = 1.0

# By dialect, an expression with another value on each server. A server of PostgreSQL is told from
# its standbys by the time of its start.
_MYSQL_SERVER = "CONCAT_WS(':', @@hostname, @@port, @@server_id)"
_POSTGRESQL_SERVER = "CAST(pg_postmaster_start_time() AS TEXT)"
SERVER: Mapping[str, str] = {"mysql": _MYSQL_SERVER, "postgresql": _POSTGRESQL_SERVER}

# The server, and flags that are set on a read-only one, in one column: drivers written in Python
# take time for each. Replicas of some cloud providers have innodb_read_only alone.
_MYSQL_PROBED = f"CONCAT_WS(',', {_MYSQL_SERVER}, @@read_only, @@innodb_read_only)"
PROBED: Mapping[str, str] = {
    "mysql": _MYSQL_PROBED,
    "mariadb": _MYSQL_PROBED,
    "postgresql": f"CONCAT_WS(',', {_POSTGRESQL_SERVER}, pg_is_in_recovery())",
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
        raise ServerReadOnly(f"The database server {server}, which was read, is read-only.")
    _compare(info, server)


def _compare(info: Mapping[str, Any], server: str) -> None:
    primary = info.get(_PRIMARY, server)
    if server != primary:
        raise SeveralServers(
            "A proxy routes the statements of one database connection to several servers: "
            f"transactions to {primary}, others to {server}. Replicas return old data. Connect "
            "to the primary, or to a listener that forwards whole connections to it."
        )


def is_read_only(flags: Iterable[object]) -> bool:
    """Return whether a flag of a read-only server is set; drivers return numbers or words.

    >>> is_read_only([0, "OFF", "f"]), is_read_only([1]), is_read_only(["READ_ONLY"])
    (False, True, True)
    """
    return any(str(flag) not in {"0", "OFF", "f"} for flag in flags)


@dataclass(frozen=True, slots=True)
class MysqlChecks:
    """The checks of MySQL, MariaDB and Galera."""

    sql_mode: str | None

    def set_sql_mode(self, connection: Any, _record: object) -> None:
        """Set the SQL mode of a new connection: a listener for SQLAlchemy's event ``connect``.

        It must be the first one: SQLAlchemy reads from the mode how to quote identifiers.
        """
        if self.sql_mode:
            with connection.cursor() as cursor:
                cursor.execute("SET SESSION sql_mode = %s", [self.sql_mode])

    def set_up(self, connection: Any) -> Hashable:
        """Set the session for the kind of server; return the Galera cluster, or None.

        On Galera each transaction begins with everything that any node acknowledged before
        (``wsrep_sync_wait``): a node applies the commits of others a moment later, and one round
        trip of the group communication waits for them. These variables exist only there.
        """
        with connection.cursor() as cursor:
            cursor.execute("SHOW GLOBAL VARIABLES LIKE 'wsrep_on'")
            row = cursor.fetchone()
            if not row or row[1] != "ON":
                return None
            cursor.execute("SET SESSION wsrep_sync_wait = 7, SESSION wsrep_dirty_reads = OFF")
            cursor.execute("SHOW GLOBAL STATUS LIKE 'wsrep_cluster_state_uuid'")
            return str(cursor.fetchone()[1])

    def check(self, connection: Any, info: MutableMapping[str, Any]) -> Hashable:
        """Return what identifies the server and its tables.

        Raises: ServerReadOnly, SeveralServers.
        """
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT @@hostname, @@port, @@server_id, @@read_only, @@innodb_read_only,"
                " (SELECT create_time FROM"
                " information_schema.tables"
                " WHERE table_schema = DATABASE() AND table_name = 'clocks')"
            )
            *server, read_only, innodb_read_only, created_at = cursor.fetchone()
        connection.rollback()
        if is_read_only([read_only, innodb_read_only]):
            raise ServerReadOnly(f"The database server {server[0]}:{server[1]} is read-only.")
        _compare(info, ":".join(map(str, server)))
        # the nodes of a cluster are one server; each creates a table at its own time
        return info["server"] or (*server, created_at)


@dataclass(frozen=True, slots=True)
class PostgresqlChecks:
    """The checks of PostgreSQL."""

    sql_mode: object = None

    def set_sql_mode(self, _connection: Any, _record: object) -> None:
        """Do nothing: PostgreSQL has no such mode."""

    def set_up(self, _connection: Any) -> Hashable:
        """Return None: PostgreSQL needs nothing more."""
        return None

    def check(self, connection: Any, info: MutableMapping[str, Any]) -> Hashable:
        """Return what identifies the server and its tables.

        Raises: ServerReadOnly, SeveralServers.
        """
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT (pg_control_system()).system_identifier,"
                " CAST(pg_postmaster_start_time() AS TEXT),"
                " pg_relation_filenode(to_regclass('clocks')), pg_is_in_recovery(),"
                " inet_server_addr(), COALESCE(pg_relation_size(to_regclass('clocks')), 0)"
            )
            system, started_at, file_node, is_standby, address, size = cursor.fetchone()
        if not connection.autocommit:
            connection.rollback()
        if is_standby:
            raise ServerReadOnly(f"The database server {address} is a standby.")
        _compare(info, started_at)
        clock_versions.note_size(info, size)
        return system, started_at, file_node


BY_BACKEND: Mapping[str, Callable[[str | None], MysqlChecks | PostgresqlChecks]] = {
    "mysql": MysqlChecks,
    "postgresql": PostgresqlChecks,
}
