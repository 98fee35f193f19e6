"""The pools of connections to a database server, for writes and for reads."""

from typing import Any

import sqlalchemy as sa
from sqlalchemy import event

from placement.db.sqlalchemy import grouped_rows, statement_batch, tcp_timeouts
from placement.db.sqlalchemy.database_settings import DatabaseSettings
from placement.db.sqlalchemy.new_engine import new_engine

# A lock that is held longer is held by something that is stuck.
LOCK_TIMEOUT_SECONDS = 10
# The client of a transaction without statements for longer is lost: an unresponsive host would
# otherwise keep its locks for hours.
IDLE_TIMEOUT_SECONDS = 15

# Usually the number of threads of a server: each connection beyond it is opened and closed.
POOL_SIZE = 15


def writer(settings: DatabaseSettings) -> sa.Engine:
    """Return the pool for writes, whose connections begin transactions at READ COMMITTED."""
    engine = new_engine(settings, isolation_level="READ COMMITTED", **_arguments(settings))
    event.listen(engine, "connect", _session(_writer_session(settings.backend)))
    statement_batch.prepare(engine)
    return engine


def reader(settings: DatabaseSettings) -> sa.Engine:
    """Return the pool for reads, whose connections commit by themselves."""
    engine = new_engine(
        settings,
        isolation_level="AUTOCOMMIT",
        skip_autocommit_rollback=True,
        **_arguments(settings),
    )
    event.listen(engine, "connect", _session(_reader_session(settings.backend)))
    return engine


def _arguments(settings: DatabaseSettings) -> dict[str, Any]:
    """Return the sizes of a pool, and arguments of the driver that the URL does not have."""
    sizes = {
        "pool_size": POOL_SIZE if settings.max_pool_size is None else settings.max_pool_size,
        "max_overflow": settings.max_overflow,
        "pool_timeout": settings.pool_timeout,
    }
    specified = {name: size for name, size in sizes.items() if size is not None}
    return specified | {"connect_args": _connect_args(settings)}


def _connect_args(settings: DatabaseSettings) -> dict[str, Any]:
    defaults: dict[str, Any] = {"connect_timeout": tcp_timeouts.CONNECT_SECONDS}
    if settings.backend == "mysql":
        defaults["charset"] = "utf8"  # fits databases of either character set
        if _is_local_without_tls(settings.url):
            defaults["ssl_disabled"] = True
    else:
        # of several hosts, or of one that was demoted, only a primary is used
        defaults |= {"target_session_attrs": "read-write", "client_encoding": "utf8"}
    return {name: value for name, value in defaults.items() if name not in settings.url.query}


def _is_local_without_tls(url: sa.URL) -> bool:
    """Return whether PyMySQL shall not offer TLS: a Unix socket, and no parameters of TLS.

    Servers such as MariaDB 11.4 would encrypt what does not leave the machine.
    """
    has_tls_parameters = any(name.startswith("ssl") for name in url.query)
    is_local = "unix_socket" in url.query and url.get_driver_name() == "pymysql"
    return is_local and not has_tls_parameters


def _writer_session(backend: str) -> tuple[str, ...]:
    """Return the statements for each new connection of the writer pool."""
    if backend == "postgresql":
        idle = f"SET idle_in_transaction_session_timeout = '{IDLE_TIMEOUT_SECONDS}s'"
        return *_lock_timeouts(backend), idle
    (timeouts,) = _lock_timeouts(backend)
    # only MariaDB executes what is in the comment
    idle = f"/*M!100300 , SESSION idle_transaction_timeout = {IDLE_TIMEOUT_SECONDS} */"
    return (f"{timeouts} {idle}",)


def _reader_session(backend: str) -> tuple[str, ...]:
    """Return the statements for each new connection of the reader pool."""
    if backend == "postgresql":
        return _lock_timeouts(backend)
    (timeouts,) = _lock_timeouts(backend)
    # the default of MySQL would truncate the texts of ``joined_values``
    texts = f"SESSION group_concat_max_len = {grouped_rows.MAX_LENGTH}"
    isolation = "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ"
    return f"{timeouts}, {texts}", isolation


def _lock_timeouts(backend: str) -> tuple[str, ...]:
    """Return the statements that limit the wait for locks of rows, tables and backups."""
    if backend == "postgresql":
        return (f"SET lock_timeout = '{LOCK_TIMEOUT_SECONDS}s'",)
    rows = f"SESSION innodb_lock_wait_timeout = {LOCK_TIMEOUT_SECONDS}"
    return (f"SET {rows}, SESSION lock_wait_timeout = {LOCK_TIMEOUT_SECONDS}",)


def _session(statements: tuple[str, ...]) -> Any:
    def set_session(connection: Any, _record: object) -> None:
        with connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
        connection.commit()

    return set_session
