"""Servers, poolers and connections that the service cannot work with; sessions cannot repair them.

Settings that a session can change are in ``session_settings``. ``server_checks`` checks new
connections.
"""

from placement.db import errors
from placement.db.store import Store

# A pooler may choose one of several server connections for each statement.
_STATEMENTS = 8


class UnsuitableServer(RuntimeError):  # noqa: N818
    """The service must not be started with this server."""


def check(store: Store) -> None:
    """Return if the service works with the server.  Raises: UnsuitableServer."""
    backend = store.settings.backend
    try:
        if backend == "postgresql":
            _check_pooler(store)  # first: it loses prepared statements of the other checks
        if backend in _CHARACTER_SETS:
            _check_character_set(store, _CHARACTER_SETS[backend])
        if backend == "mysql":
            _check_binary_log(store)
    except errors.SeveralServers as error:
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


_CHARACTER_SETS = {
    "mysql": "SELECT @@character_set_client, @@character_set_connection, @@character_set_results",
    "postgresql": "SHOW client_encoding",
}


def _check_character_set(store: Store, query: str) -> None:
    """Refuse connections that cannot transfer every text that the database can store."""
    with store.engines().reader.connect() as connection:
        names = {str(name) for name in connection.exec_driver_sql(query).one()}
    unsuitable_names = sorted(name for name in names if not name.lower().startswith("utf8"))
    if unsuitable_names:
        raise UnsuitableServer(
            "The connections to the database have the character set "
            f"{', '.join(unsuitable_names)}, which cannot encode all names. Remove the parameter "
            "for it from [placement_database]connection, or the command that sets it for each "
            "connection, or use utf8 or (MariaDB and MySQL) utf8mb4. Then start the service again."
        )


def _check_pooler(store: Store) -> None:
    """Refuse a pooler that assigns a server connection to a client for a transaction only.

    Session settings and prepared statements belong to a server connection. Without such a pooler,
    two open connections have different server connections, and keep them. A pooler that assigns
    the server connection that was released last assigns the same one to both. A pooler that takes
    turns changes the server connection between two statements. The statements have different
    texts, so that no driver prepares them.
    """
    with store.engines().reader.connect() as one, store.engines().reader.connect() as other:
        used = {
            (connection, connection.exec_driver_sql(f"SELECT pg_backend_pid(), {n}").scalar_one())
            for n in range(_STATEMENTS)
            for connection in (one, one, other)
        }
    if len(used) > 2 or len({pid for _, pid in used}) < 2:
        raise UnsuitableServer(
            "The connections to PostgreSQL go through a pooler in transaction mode, which does "
            "not keep session settings and prepared statements. Set pool_mode = session for this "
            "database in PgBouncer, or connect to PostgreSQL directly."
        )
