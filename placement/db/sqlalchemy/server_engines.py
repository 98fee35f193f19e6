"""The pools of connections to a database server, for writes and for reads."""

from typing import Any

import sqlalchemy as sa
from sqlalchemy import event

from placement.db.sqlalchemy import session_settings, statement_batch, tcp_timeouts
from placement.db.sqlalchemy.database_settings import DatabaseSettings
from placement.db.sqlalchemy.new_engine import new_engine

# Usually the number of threads of a server: each connection beyond it is opened and closed.
POOL_SIZE = 15


def writer(settings: DatabaseSettings) -> sa.Engine:
    """Return the pool for writes, whose connections begin transactions at READ COMMITTED."""
    engine = new_engine(settings, **_arguments(settings))
    event.listen(
        engine, "connect", session_settings.listener(settings, is_reader=False), insert=True
    )
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
    event.listen(
        engine, "connect", session_settings.listener(settings, is_reader=True), insert=True
    )
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
