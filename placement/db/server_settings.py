"""Settings of a database server, or of a pooler before it, with which the service cannot work."""

import sqlalchemy as sa

from placement.db.sqlalchemy import db_errors
from placement.db.sqlalchemy.server_checks import SERVER
from placement.db.store import Store

# A proxy may choose one of several servers for each statement.
_STATEMENTS = 8


class UnsuitableServer(RuntimeError):  # noqa: N818
    """The service must not be started with this server."""


def check(store: Store) -> None:
    """Return if the service works with the server.  Raises: UnsuitableServer."""
    backend = store.settings.backend
    try:
        if backend in SERVER:
            _check_routing(store, f"SELECT {SERVER[backend]}")
        if backend == "mysql":
            _check_binary_log(store)
        if backend == "postgresql":
            _check_pooler(store)
    except db_errors.SeveralServers as error:
        raise UnsuitableServer(f"{error} Then start the service again.") from error


def _check_binary_log(store: Store) -> None:
    """Refuse a format that cannot log transactions at READ COMMITTED (error 1665)."""
    with store.read() as tx:
        query = "SELECT @@GLOBAL.log_bin, @@GLOBAL.binlog_format"
        is_on, binlog_format = tx.connection.exec_driver_sql(query).one()
    if is_on and binlog_format == "STATEMENT":
        raise UnsuitableServer(
            "The database server has binlog_format = STATEMENT, with which it refuses all writes "
            "of this service (error 1665). Set it to ROW or MIXED, then start the service again."
        )


def _check_pooler(store: Store) -> None:
    """Refuse a pooler that gives a server connection to several clients in turn.

    Session settings and prepared statements belong to a server connection. Two open connections
    of the same process then have the same one.
    """
    query = "SELECT pg_backend_pid()"
    with store.engines().reader.connect() as one, store.engines().reader.connect() as other:
        pids = {each.exec_driver_sql(query).scalar_one() for each in (one, other)}
    if len(pids) == 1:
        raise UnsuitableServer(
            "The connections to PostgreSQL go through a pooler in transaction mode, which does "
            "not keep session settings and prepared statements. Set pool_mode = session for this "
            "database in PgBouncer, or connect to PostgreSQL directly."
        )


def _check_routing(store: Store, query: str) -> None:
    """Refuse a proxy that routes the statements of one connection to several servers.

    A replica lacks the last commits. Galera nodes wait for them (``wsrep_sync_wait``).
    """
    with store.engines().reader.connect() as connection:
        if connection.info["server"] is not None:
            return
        servers = set(_servers_of_statements(connection, query, store.engines().begin_read))
    if len(servers) > 1:
        raise UnsuitableServer(
            "A proxy routes the statements of one database connection to several servers: "
            f"{'; '.join(sorted(map(str, servers)))}. Replicas return old data. Connect to the "
            "primary, or to a listener that forwards whole connections to it, then start the "
            "service again."
        )


def _servers_of_statements(
    connection: sa.Connection, query: str, begin_read: str
) -> list[sa.Row[tuple[object, ...]]]:
    """Return the server of statements outside of transactions, and in each kind of transaction."""
    servers = [connection.exec_driver_sql(query).one() for _ in range(_STATEMENTS)]
    for begin in (begin_read, "BEGIN"):
        connection.exec_driver_sql(begin)
        servers.append(connection.exec_driver_sql(query).one())
        connection.exec_driver_sql("COMMIT")
    return servers
