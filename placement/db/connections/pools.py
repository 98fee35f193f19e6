"""Pools of connections to the database, set up so that a transaction costs few round trips.

A database server has two pools, and a small one for writes that wait (``bulkhead``). Connections
for writes begin transactions at READ COMMITTED: they read rows under locks, and see the data that
was committed last. Connections for reads commit by themselves, so that one statement is one round
trip; a read that needs several statements on one state sends BEGIN itself. Changing a connection
between the two roles would cost up to four round trips each time with the MySQL drivers, and
SQLAlchemy's ping before and rollback after each use two more.

SQLite has one pool, for a file or the memory of one connection: its transactions set their mode
themselves.
"""

import logging
import math
import os
import sqlite3
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import sqlalchemy as sa
from sqlalchemy import event, pool

from placement.db.connections import messages, server_checks, session_settings, timeouts
from placement.db.connections.bulkhead import Background, Bulkhead, Wait
from placement.db.connections.lineage import Lineage
from placement.db.connections.server_checks import ConnectionWatch
from placement.db.connections.session_settings import Role
from placement.db.settings import DatabaseSettings


def new_engine(settings: DatabaseSettings, **arguments: Any) -> sa.Engine:
    """Return an engine without SQLAlchemy's ping and rollback.

    The store ends every transaction itself. A connection that broke in the pool is noticed by its
    first statement, which is then retried.
    """
    engine = sa.create_engine(
        settings.url,
        pool_recycle=settings.connection_recycle_time,
        pool_pre_ping=False,
        pool_reset_on_return=None,
        **arguments,
    )
    if settings.connection_trace:
        event.listen(engine, "before_cursor_execute", _add_origin, retval=True)
    if settings.traces_sql:
        from osprofiler import sqlalchemy as osprofiler  # noqa: PLC0415  an optional library

        osprofiler.add_tracing(sa, engine, "db")
    return engine


def _add_origin(
    _connection: object, _cursor: object, statement: str, parameters: Any, *_: object
) -> tuple[str, Any]:
    """Append a comment with the place in the code, outside of ``db``, that sends the statement."""
    for frame in reversed(traceback.extract_stack()):
        if not any(folder in frame.filename for folder in ("/sqlalchemy/", "/placement/db/")):
            origin = f"{frame.filename}:{frame.lineno} {frame.name}".replace("*/", "")
            return f"{statement} /* {origin.replace('%', '%%')} */", parameters
    return statement, parameters


# Usually the number of threads of a server: each connection beyond it is opened and closed.
POOL_SIZE = 15


def server_engine(settings: DatabaseSettings, role: Role) -> sa.Engine:
    """Return the pool for one role; connections for reads commit by themselves."""
    arguments = _arguments(settings)
    is_reader = role is Role.READS
    if role is Role.WAITING_WRITES:
        size = max(1, settings.max_waiting_writes)
        arguments |= {"pool_size": size, "max_overflow": 0, "pool_timeout": 0}
    if is_reader:
        arguments |= {"isolation_level": "AUTOCOMMIT", "skip_autocommit_rollback": True}
    else:
        arguments["paramstyle"] = "format"  # of messages
    engine = new_engine(settings, **arguments)
    set_session = session_settings.listener(settings, role)
    event.listen(engine, "connect", set_session, insert=True)
    if not is_reader:
        messages.accept(engine)
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
    defaults: dict[str, Any] = {"connect_timeout": timeouts.CONNECT_SECONDS}
    if settings.backend == "mysql":
        defaults["charset"] = "utf8"  # fits databases of either character set
        if _is_local_without_tls(settings.url):
            defaults["ssl_disabled"] = True
    else:
        # only a primary is used, also if there are several hosts or a host was demoted
        defaults |= {"target_session_attrs": "read-write", "client_encoding": "utf8"}
        defaults |= timeouts.libpq_parameters()
    return {name: value for name, value in defaults.items() if name not in settings.url.query}


def _is_local_without_tls(url: sa.URL) -> bool:
    """Return whether PyMySQL shall not offer TLS: a Unix socket, and no parameters of TLS.

    Servers such as MariaDB 11.4 would encrypt data that does not leave the machine.
    """
    has_tls_parameters = any(name.startswith("ssl") for name in url.query)
    is_local = "unix_socket" in url.query and url.get_driver_name() == "pymysql"
    return is_local and not has_tls_parameters


SQLITE_LOCK_TIMEOUT_SECONDS = 30


def sqlite_engine(settings: DatabaseSettings, lineage: Lineage) -> sa.Engine:
    """Return the one pool of a database; opening a connection reads the whole schema."""
    engine = new_engine(
        settings,
        poolclass=pool.StaticPool if settings.is_private else pool.QueuePool,
        connect_args={"check_same_thread": False, "timeout": SQLITE_LOCK_TIMEOUT_SECONDS},
    )

    @event.listens_for(engine, "connect")
    def set_up(connection: Any, _record: object) -> None:
        connection.isolation_level = None  # the store sends BEGIN itself
        if not settings.sqlite_synchronous:
            connection.execute("PRAGMA synchronous = OFF").close()
        _enable_write_ahead_log(connection)

    if not settings.is_private:
        path = str(settings.url.database)
        event.listen(engine, "do_connect", lambda *_: _create_for_owner(path))
        _watch_file(engine, lineage, path)
    return engine


def _create_for_owner(path: str) -> None:
    """Create a file that only its owner can read and write; SQLite's other files get its mode.

    A file that exists keeps its mode. SQLite reports a folder that does not exist, and URIs.
    """
    with suppress(OSError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))


def _watch_file(engine: sa.Engine, lineage: Lineage, path: str) -> None:
    """End the lineage when another file has this path, or a backup was restored into the file.

    An open connection stays with the file that it opened: it is replaced when it is next used.
    SQLite increases the version of the schema when a backup is restored; it is read once a second.
    """

    @event.listens_for(engine, "connect")
    def note_file(_connection: object, record: Any) -> None:
        record.info.update(file=_identity(path), checked_at=-math.inf)

    @event.listens_for(engine, "checkout")
    def check_file(connection: Any, record: Any, _proxy: object) -> None:
        file, now = record.info["file"], time.monotonic()
        if file != _identity(path):
            lineage.end()
            raise sa.exc.DisconnectionError(f"The file {path} was replaced.")
        if now - record.info["checked_at"] >= server_checks.INTERVAL_SECONDS:
            lineage.reach(file, connection.execute("PRAGMA schema_version").fetchone()[0])
            record.info["checked_at"] = now
        record.info["lineage"] = lineage.number


def _identity(path: str) -> tuple[int, int] | None:
    """Return the device and the number of the file, None if there is no file or path is a URI."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _enable_write_ahead_log(connection: Any) -> None:
    """Let readers continue while one connection writes; the file keeps this mode.

    The first connection to a new file changes it. SQLite refuses other connections that change
    it at the same time: the connection with the lock changes it, or the next one that is opened.
    """
    try:
        connection.execute("PRAGMA journal_mode=WAL").close()
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode != sqlite3.SQLITE_BUSY:
            raise


@dataclass(frozen=True, slots=True)
class Engines:
    """The pools, and the statements that begin a transaction on their connections."""

    writer: sa.Engine
    waiting_writer: sa.Engine
    reader: sa.Engine
    begin_write: str | None
    begin_read: str
    lineage: Lineage
    bulkhead: Bulkhead
    background: Background

    def connect_writer(self, wait: Wait) -> sa.Connection:
        """Return a connection for a write.  Raises: DatabaseUnavailable if too many wait."""
        if wait.has_waited and wait.bulkhead.places:
            with suppress(sa.exc.TimeoutError):
                return self.waiting_writer.connect()
        if wait.has_waited and not (wait.is_passed_on or wait.bulkhead.is_progressing):
            wait.bulkhead.refuse()
        return self.writer.connect()

    def dispose(self) -> None:
        """Close every connection that is not in use, and others when they are returned."""
        for engine in {self.writer, self.waiting_writer, self.reader}:  # of SQLite it is one
            engine.dispose()


_BEGIN_READ = {
    "sqlite": "BEGIN",
    "mysql": "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY",
    "postgresql": "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
}


def connect(settings: DatabaseSettings) -> Engines:
    """Return the pools for a database; no connection is opened yet."""
    _set_log_level(settings.connection_debug)
    begin_read = _BEGIN_READ.get(settings.backend)
    if begin_read is None:
        raise sa.exc.ArgumentError(
            f"{settings.backend} is none of mysql, mariadb, postgresql and sqlite"
        )
    lineage, cancels = Lineage(), settings.backend == "postgresql"
    limits = Bulkhead(settings.max_waiting_writes, cancels), Background(0, cancels)
    if settings.backend == "sqlite":
        engine = sqlite_engine(settings, lineage)
        return Engines(engine, engine, engine, "BEGIN IMMEDIATE", begin_read, lineage, *limits)
    writer, waiting, reader = (server_engine(settings, role) for role in Role)
    watch = ConnectionWatch(lineage, settings)
    watch.listen(writer)
    watch.listen(waiting)
    watch.listen(reader, is_reader=True)
    return Engines(writer, waiting, reader, None, begin_read, lineage, *limits)


def _set_log_level(connection_debug: int) -> None:
    level = logging.WARNING
    if connection_debug >= 50:
        level = logging.DEBUG if connection_debug >= 100 else logging.INFO
    logging.getLogger("sqlalchemy.engine").setLevel(level)


T = TypeVar("T")


class PerProcess(Generic[T]):
    """A value that each process creates on first use.

    WSGI servers load the application and then fork. A connection used on both sides of a fork
    mixes two protocol streams, and a lock held by a thread at the fork stays locked in the child.
    The parent's value is kept but not used: closing or collecting it in the child would, with
    some drivers, end the parent's connection.
    """

    def __init__(self, create: Callable[[], T]) -> None:
        self._create = create
        self._values: dict[int, T] = {}

    def __call__(self) -> T:
        """Return the value of this process; concurrent first calls all return the same value."""
        value = self._values.get(os.getpid())
        return self._values.setdefault(os.getpid(), self._create()) if value is None else value

    def existing(self) -> T | None:
        """Return the value of this process, or None if it was not created yet."""
        return self._values.get(os.getpid())
