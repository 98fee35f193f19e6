"""Settings of a database server, or of a pooler before it, with which the service cannot work."""

from placement.db.store import Store


class UnsuitableServer(RuntimeError):  # noqa: N818
    """The service must not be started with this server."""


def check(store: Store) -> None:
    """Return if the service works with the server.  Raises: UnsuitableServer."""
    if store.settings.backend == "mysql":
        _check_binary_log(store)
    if store.settings.backend == "postgresql":
        _check_pooler(store)


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
