"""Connections to the database, set up so that a transaction costs few round trips.

There are two pools. Connections for writes begin transactions at READ COMMITTED: they read rows
under locks, and see what was committed last. Connections for reads commit by themselves, so that
one statement is one round trip; a read that needs several statements on one state sends BEGIN
itself. Changing a connection between the two roles would cost up to four round trips each time
with the MySQL drivers, and SQLAlchemy's ping before and rollback after each use two more.

SQLite has one pool: its transactions set their mode themselves.
"""

import logging
import os
import sqlite3
import time
import traceback
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy import event, pool
from sqlalchemy.engine import URL, make_url

from placement.db.lineage import Lineage
from placement.db.sqlalchemy import (
    db_errors,
    grouped_rows,
    server_checks,
    statement_batch,
    tcp_timeouts,
)

# A lock that is held longer is held by something that is stuck.
LOCK_TIMEOUT_SECONDS = 10
SQLITE_LOCK_TIMEOUT_SECONDS = 30
SQLITE_RETRY_SECONDS = 0.005
# The client of a transaction without statements for longer is lost: an unresponsive host would
# otherwise keep its locks for hours.
IDLE_TIMEOUT_SECONDS = 15

# Usually the number of threads of a server: each connection beyond it is opened and closed.
POOL_SIZE = 15


@dataclass(frozen=True, slots=True)
class DatabaseSettings:
    """The options of [placement_database]."""

    connection: str
    connection_parameters: str = ""
    sqlite_synchronous: bool = True
    mysql_sql_mode: str | None = "TRADITIONAL"
    connection_recycle_time: int = 3600
    max_pool_size: int | None = None
    max_overflow: int | None = None
    pool_timeout: int | None = None
    max_retries: int = 10
    retry_interval: int = 10
    connection_debug: int = 0
    connection_trace: bool = False

    @property
    def url(self) -> URL:
        """The URL with the extra parameters."""
        url = make_url(self.connection)
        return url.update_query_string(self.connection_parameters, append=True)

    @property
    def backend(self) -> str:
        """The kind of database: ``mysql`` (also for MariaDB), ``postgresql`` or ``sqlite``."""
        return self.url.get_backend_name().replace("mariadb", "mysql")

    @property
    def is_private(self) -> bool:
        """Whether the database is the memory of one connection."""
        return self.backend == "sqlite" and self.url.database in {None, "", ":memory:"}


@dataclass(frozen=True, slots=True)
class Engines:
    """The two pools, and the statements that begin a transaction on their connections."""

    writer: sa.Engine
    reader: sa.Engine
    begin_write: str | None
    begin_read: str
    lineage: Lineage

    def dispose(self) -> None:
        """Close every connection that is not in use, and others when they are returned."""
        self.writer.dispose()
        if self.reader is not self.writer:
            self.reader.dispose()


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
    if settings.backend == "sqlite":
        engine, lineage = _sqlite(settings), Lineage()
        if not settings.is_private:
            _watch_file(engine, lineage, str(settings.url.database))
        return Engines(engine, engine, "BEGIN IMMEDIATE", begin_read, lineage)
    pools = Engines(_writer(settings), _reader(settings), None, begin_read, Lineage())
    watch = _Watch(pools.lineage, settings)
    watch.listen(pools.writer)
    watch.listen(pools.reader, is_reader=True)
    return pools


def _set_log_level(connection_debug: int) -> None:
    level = logging.WARNING
    if connection_debug >= 50:
        level = logging.DEBUG if connection_debug >= 100 else logging.INFO
    logging.getLogger("sqlalchemy.engine").setLevel(level)


def _create(settings: DatabaseSettings, **arguments: Any) -> sa.Engine:
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
    return engine


def _add_origin(
    _connection: object, _cursor: object, statement: str, parameters: Any, *_: object
) -> tuple[str, Any]:
    """Append the place in the code that sends a statement, as a comment."""
    for frame in reversed(traceback.extract_stack()):
        is_sent_from = "/sqlalchemy/" not in frame.filename and frame.filename != __file__
        if is_sent_from:
            origin = f"{frame.filename}:{frame.lineno} {frame.name}".replace("*/", "")
            return f"{statement} /* {origin.replace('%', '%%')} */", parameters
    return statement, parameters


# --- servers ------------------------------------------------------------------------------


def _writer(settings: DatabaseSettings) -> sa.Engine:
    engine = _create(settings, isolation_level="READ COMMITTED", **_arguments(settings))
    event.listen(engine, "connect", _session(_writer_session(settings.backend)))
    statement_batch.prepare(engine)
    return engine


def _reader(settings: DatabaseSettings) -> sa.Engine:
    engine = _create(
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


class _Watch:
    """Checks each new connection, then again after a second; one failure discards all of them.

    Connections of an earlier lineage are replaced when they are next used.
    """

    def __init__(self, lineage: Lineage, settings: DatabaseSettings) -> None:
        self._lineage = lineage
        self._backend = settings.backend
        self._checks = server_checks.BY_BACKEND[settings.backend](settings.mysql_sql_mode)
        # SQLAlchemy before 2.1 does not close a connection that cannot be set up. The drivers of
        # MySQL close it when it is collected, and raise if it is closed twice.
        self._may_close_twice = settings.backend == "postgresql"
        self._limits_tcp = "tcp_user_timeout" not in settings.url.query

    def listen(self, engine: sa.Engine, *, is_reader: bool = False) -> None:
        """Watch the connections of one pool."""

        def set_up(connection: Any, record: Any) -> None:
            self._set_up(connection, record, is_reader=is_reader)

        event.listen(engine, "do_connect", tcp_timeouts.connect)
        event.listen(engine, "connect", self._checks.set_sql_mode, insert=True)
        if self._limits_tcp:  # from the first statement on
            event.listen(engine, "connect", tcp_timeouts.limit_unresponsive, insert=True)
        event.listen(engine, "connect", set_up)
        event.listen(engine, "checkout", self._check_again)
        event.listen(engine, "handle_error", self._note_failure)

    def _set_up(self, connection: Any, record: Any, *, is_reader: bool) -> None:
        try:
            record.info["server"] = self._checks.set_up(connection)
            self._check(connection, record)
            if is_reader:
                server_checks.note_primary(self._backend, connection, record.info)
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
        if age_seconds >= server_checks.INTERVAL_SECONDS:
            try:
                self._check(connection, record)
            except Exception as error:
                self._lineage.end()
                raise sa.exc.DisconnectionError(db_errors.first_line(error)) from error
        if record.info["lineage"] != self._lineage.number:
            raise sa.exc.DisconnectionError("The connection is of an earlier lineage.")

    def _note_failure(self, context: sa.engine.ExceptionContext) -> None:
        if db_errors.ends_connection(context.original_exception):
            context.is_disconnect = True
        if context.is_disconnect:
            self._lineage.end()


# --- SQLite -------------------------------------------------------------------------------


def _sqlite(settings: DatabaseSettings) -> sa.Engine:
    """Return the one pool of a file; opening a connection reads the whole schema."""
    connect_args: dict[str, Any] = {"check_same_thread": False}
    if settings.is_private:
        engine = _create(settings, poolclass=pool.StaticPool, connect_args=connect_args)
    else:
        connect_args["timeout"] = SQLITE_LOCK_TIMEOUT_SECONDS
        engine = _create(settings, poolclass=pool.QueuePool, connect_args=connect_args)

    @event.listens_for(engine, "connect")
    def set_up(connection: Any, _record: object) -> None:
        connection.isolation_level = None  # the store sends BEGIN itself
        if not settings.sqlite_synchronous:
            connection.execute("PRAGMA synchronous = OFF").close()
        _enable_write_ahead_log(connection)

    return engine


def _watch_file(engine: sa.Engine, lineage: Lineage, path: str) -> None:
    """End the lineage when another file has this path, or a backup was restored into the file.

    An open connection stays with the file that it opened: it is replaced when it is next used.
    SQLite increases the version of the schema when a backup is restored; it is read once a second.
    """

    def check(connection: Any, record: Any) -> None:
        version = connection.execute("PRAGMA schema_version").fetchone()[0]
        lineage.reach((record.info["file"], version))
        record.info["checked_at"] = time.monotonic()

    @event.listens_for(engine, "connect")
    def note_file(connection: Any, record: Any) -> None:
        record.info["file"] = _identity(path)
        check(connection, record)
        record.info["lineage"] = lineage.number

    @event.listens_for(engine, "checkout")
    def check_file(connection: Any, record: Any, _proxy: object) -> None:
        if record.info["file"] != _identity(path):
            lineage.end()
            raise sa.exc.DisconnectionError(f"The file {path} was replaced.")
        if time.monotonic() - record.info["checked_at"] >= server_checks.INTERVAL_SECONDS:
            check(connection, record)
        record.info["lineage"] = lineage.number


def _identity(path: str) -> tuple[int, int] | None:
    """Return the device and the number of the file, None if there is no file or path is a URI."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _enable_write_ahead_log(connection: Any) -> None:
    """Let readers go on while one connection writes; the file keeps this mode.

    The first connection to a new file changes it. SQLite refuses others that do the same at that
    moment, without the wait for a lock that it has elsewhere: they wait here.
    """
    deadline = time.monotonic() + SQLITE_LOCK_TIMEOUT_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL").close()
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(SQLITE_RETRY_SECONDS)
        else:
            return
