"""Which server a connection reaches, and whether it is the primary.

A new connection is checked, and one in the pool again when it is used after a second: a switchover
may leave connections open, to a server that is read-only from then on and whose data becomes old.
The statement that reads the clocks has the check of ``READ_ONLY_FLAGS`` itself.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any

from placement.db.sqlalchemy import clock_versions
from placement.db.sqlalchemy.db_errors import ServerReadOnly

INTERVAL_SECONDS = 1.0

# By dialect, the expressions that are true on a read-only server. Replicas of some cloud
# providers have innodb_read_only alone. Beside an aggregate function, MariaDB 10.11 returns 0 for
# each boolean variable that is not an argument of a function.
_MYSQL_FLAGS = ("CONCAT(@@read_only)", "CONCAT(@@innodb_read_only)")
READ_ONLY_FLAGS: Mapping[str, tuple[str, ...]] = {
    "mysql": _MYSQL_FLAGS,
    "mariadb": _MYSQL_FLAGS,
    "postgresql": ("pg_is_in_recovery()",),
}


def is_read_only(flags: Iterable[object]) -> bool:
    """Return whether one of ``READ_ONLY_FLAGS`` is set; drivers return numbers or words.

    >>> is_read_only([0, "OFF", False]), is_read_only([1]), is_read_only(["READ_ONLY"])
    (False, True, True)
    """
    return any(str(flag) not in {"0", "OFF", "False"} for flag in flags)


@dataclass(frozen=True, slots=True)
class MysqlChecks:
    """The checks of MySQL, MariaDB and Galera."""

    sql_mode: str | None

    def set_up(self, connection: Any) -> Hashable:
        """Set the session for the kind of server; return the Galera cluster, or None.

        On Galera each transaction begins with everything that any node acknowledged before
        (``wsrep_sync_wait``): a node applies the commits of others a moment later, and one round
        trip of the group communication waits for them. These variables exist only there.
        """
        with connection.cursor() as cursor:
            if self.sql_mode:
                cursor.execute("SET SESSION sql_mode = %s", [self.sql_mode])
            cursor.execute("SHOW GLOBAL VARIABLES LIKE 'wsrep_on'")
            row = cursor.fetchone()
            if not row or row[1] != "ON":
                return None
            cursor.execute("SET SESSION wsrep_sync_wait = 7, SESSION wsrep_dirty_reads = OFF")
            cursor.execute("SHOW GLOBAL STATUS LIKE 'wsrep_cluster_state_uuid'")
            return str(cursor.fetchone()[1])

    def check(self, connection: Any, info: MutableMapping[str, Any]) -> Hashable:
        """Return what identifies the server and its tables.  Raises: ServerReadOnly."""
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT @@server_id, @@hostname, @@port, @@read_only, @@innodb_read_only,"
                " (SELECT create_time FROM"
                " information_schema.tables"
                " WHERE table_schema = DATABASE() AND table_name = 'clocks')"
            )
            *server, read_only, innodb_read_only, created_at = cursor.fetchone()
        connection.rollback()
        if is_read_only([read_only, innodb_read_only]):
            raise ServerReadOnly(f"The database server {server[1]}:{server[2]} is read-only.")
        # the nodes of a cluster are one server; each creates a table at its own time
        return info["server"] or (*server, created_at)


@dataclass(frozen=True, slots=True)
class PostgresqlChecks:
    """The checks of PostgreSQL."""

    sql_mode: object = None

    def set_up(self, _connection: Any) -> Hashable:
        """Return None: PostgreSQL needs nothing more."""
        return None

    def check(self, connection: Any, info: MutableMapping[str, Any]) -> Hashable:
        """Return what identifies the server and its tables.  Raises: ServerReadOnly."""
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT (pg_control_system()).system_identifier, pg_postmaster_start_time(),"
                " pg_relation_filenode(to_regclass('clocks')), pg_is_in_recovery(),"
                " inet_server_addr(), COALESCE(pg_relation_size(to_regclass('clocks')), 0)"
            )
            system, started_at, file_node, is_standby, address, size = cursor.fetchone()
        if not connection.autocommit:
            connection.rollback()
        if is_standby:
            raise ServerReadOnly(f"The database server {address} is a standby.")
        clock_versions.note_size(info, size)
        return system, started_at, file_node


BY_BACKEND: Mapping[str, Callable[[str | None], MysqlChecks | PostgresqlChecks]] = {
    "mysql": MysqlChecks,
    "postgresql": PostgresqlChecks,
}
