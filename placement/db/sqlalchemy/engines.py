"""Connections to the database, set up so that a transaction costs few round trips.

There are two pools. Connections for writes begin transactions at READ
COMMITTED: they read rows under locks, and see what was committed last.
Connections for reads commit by themselves, so that one statement is one round
trip; a read that needs several statements on one state says BEGIN itself.
Changing a connection between the two roles would cost up to four round trips
each time with the MySQL drivers, and a ping before and a rollback after each
use, as oslo.db and SQLAlchemy have it by default, two more.

SQLite has one pool: its transactions say themselves what they are.
"""

import sqlite3
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from oslo_db.sqlalchemy import engines as oslo_engines
from sqlalchemy import event, pool
from sqlalchemy.dialects import plugins
from sqlalchemy.engine import URL, CreateEnginePlugin, make_url

from placement.db.sqlalchemy import tcp_timeouts

# A lock that is held longer than this is held by something that is stuck.
LOCK_TIMEOUT_SECONDS = 10
SQLITE_LOCK_TIMEOUT_SECONDS = 30
SQLITE_RETRY_SECONDS = 0.005
# A transaction in which nothing is said for longer has lost its client: a host that fell
# silent does not say so, and would keep its locks for hours.
IDLE_TIMEOUT_SECONDS = 15

# As many as a server's threads, usually: one beyond these is opened and closed at each use.
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
    def is_private(self) -> bool:
        """Whether the database is the memory of one connection."""
        url = self.url
        return url.get_backend_name() == "sqlite" and url.database in {None, "", ":memory:"}


@dataclass(frozen=True, slots=True)
class Engines:
    """The two pools, and the words that begin a transaction on their connections."""

    writer: sa.Engine
    reader: sa.Engine
    begin_write: str | None
    begin_read: str

    def dispose(self) -> None:
        """Close every connection that is not in use."""
        self.writer.dispose()
        self.reader.dispose()


_BEGIN_READ = {
    "sqlite": "BEGIN",
    "mysql": "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY",
    "postgresql": "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
}


def connect(settings: DatabaseSettings) -> Engines:
    """Return the pools for a database; no connection is made yet."""
    backend = settings.url.get_backend_name().replace("mariadb", "mysql")
    if backend == "sqlite":
        engine = _create(settings, "placement_sqlite")
        return Engines(engine, engine, "BEGIN IMMEDIATE", _BEGIN_READ[backend])
    writer = _create(settings, "placement_writer")
    reader = _create(settings, "placement_reader")
    return Engines(writer, reader, None, _BEGIN_READ[backend])


def _create(settings: DatabaseSettings, plugin: str) -> sa.Engine:
    """Have oslo.db make an engine with its options, session settings and error translation."""
    engine: sa.Engine = oslo_engines.create_engine(
        settings.url.update_query_dict({"plugin": plugin}).render_as_string(hide_password=False),
        sqlite_synchronous=settings.sqlite_synchronous,
        mysql_sql_mode=settings.mysql_sql_mode or None,
        connection_recycle_time=settings.connection_recycle_time,
        connection_debug=settings.connection_debug,
        connection_trace=settings.connection_trace,
        max_pool_size=POOL_SIZE if settings.max_pool_size is None else settings.max_pool_size,
        max_overflow=settings.max_overflow,
        pool_timeout=settings.pool_timeout,
        max_retries=0,
        thread_checkin=False,
    )
    return engine


class _Arguments(CreateEnginePlugin):
    """Arguments of ``sqlalchemy.create_engine`` that oslo.db does not offer.

    Every transaction is ended by the store itself, and a connection that broke in
    the pool is noticed by the first statement, with nothing lost but a retry.
    """

    def __init__(self, url: URL, kwargs: dict[str, Any]) -> None:
        super().__init__(url, kwargs)
        kwargs |= {"pool_pre_ping": False, "pool_reset_on_return": None}

    def update_url(self, url: URL) -> URL:
        """Leave the URL as it is."""
        return url


class _Remote(_Arguments):
    """Connections to a server, which may fall silent."""

    isolation_level: str

    def __init__(self, url: URL, kwargs: dict[str, Any]) -> None:
        super().__init__(url, kwargs)
        kwargs["isolation_level"] = self.isolation_level
        tcp_timeouts.bound_connecting(url.query, kwargs["connect_args"])

    def engine_created(self, engine: sa.Engine) -> None:
        """Have the session settings made on each new connection."""
        if tcp_timeouts.is_left_to_us(engine.url.query):
            event.listen(engine, "connect", tcp_timeouts.end_when_silent)
        backend = engine.dialect.name.replace("mariadb", "mysql")
        for setting in _SESSION.get((type(self).__name__, backend), ()):
            event.listen(engine, "connect", setting)


class Writer(_Remote):
    """Connections for writes."""

    isolation_level = "READ COMMITTED"


class Reader(_Remote):
    """Connections for reads."""

    isolation_level = "AUTOCOMMIT"

    def __init__(self, url: URL, kwargs: dict[str, Any]) -> None:
        super().__init__(url, kwargs)
        kwargs["skip_autocommit_rollback"] = True


class Sqlite(_Arguments):
    """Connections to SQLite, kept in a pool: opening one reads the whole schema."""

    def __init__(self, url: URL, kwargs: dict[str, Any]) -> None:
        super().__init__(url, kwargs)
        if kwargs.get("poolclass") is not pool.StaticPool:
            kwargs["poolclass"] = pool.QueuePool
            kwargs["connect_args"] |= {
                "check_same_thread": False,
                "timeout": SQLITE_LOCK_TIMEOUT_SECONDS,
            }

    def engine_created(self, engine: sa.Engine) -> None:
        """Have the write-ahead log on, and BEGIN left to the store."""
        event.listen(engine, "connect", _keep_write_ahead_log)
        event.listen(engine, "begin", _begin_nothing, insert=True)


def _keep_write_ahead_log(connection: Any, _record: object) -> None:
    """Let readers go on while one connection writes; the file remembers it.

    The first to open a new file changes it. SQLite refuses others that try to at the same
    instant, without the wait for a lock that it does elsewhere: they wait here.
    """
    given_up = time.monotonic() + SQLITE_LOCK_TIMEOUT_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL").close()
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > given_up:
                raise
            time.sleep(SQLITE_RETRY_SECONDS)
        else:
            return


def _begin_nothing(connection: sa.Connection) -> None:
    """Say what oslo.db's own listener looks for, so that it sends no BEGIN of its own."""
    connection.info["in_transaction"] = True


def _execute(connection: Any, *statements: str) -> None:
    with connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)


def _give_up_locks_mysql(connection: Any, _record: object) -> None:
    """Wait for no lock, and keep none, for ever; what is in the comment MariaDB alone reads."""
    _execute(
        connection,
        f"SET SESSION innodb_lock_wait_timeout = {LOCK_TIMEOUT_SECONDS}"
        f" /*M!100300 , SESSION idle_transaction_timeout = {IDLE_TIMEOUT_SECONDS} */",
    )


def _give_up_locks_postgresql(connection: Any, _record: object) -> None:
    """Wait for no lock, and keep none, for ever."""
    _execute(
        connection,
        f"SET lock_timeout = '{LOCK_TIMEOUT_SECONDS}s'",
        f"SET idle_in_transaction_session_timeout = '{IDLE_TIMEOUT_SECONDS}s'",
    )
    connection.commit()


def _see_one_state(connection: Any, _record: object) -> None:
    _execute(connection, "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ")


def _wait_for_cluster(connection: Any, _record: object) -> None:
    """On Galera, have each transaction begin with what any node acknowledged before.

    A node applies the others' commits a moment later. With this a transaction first
    waits until its node has them all: one round trip of the cluster's group
    communication. The variable is unknown to servers without Galera.
    """
    with connection.cursor() as cursor:
        cursor.execute("SHOW GLOBAL VARIABLES LIKE 'wsrep_on'")
        found = cursor.fetchone()
        if found and found[1] == "ON":
            cursor.execute("SET SESSION wsrep_sync_wait = 7")


_SESSION: dict[tuple[str, str], tuple[Callable[[Any, object], None], ...]] = {
    ("Writer", "mysql"): (_give_up_locks_mysql, _wait_for_cluster),
    ("Reader", "mysql"): (_see_one_state, _wait_for_cluster),
    ("Writer", "postgresql"): (_give_up_locks_postgresql,),
}

for _plugin in (Writer, Reader, Sqlite):
    plugins.register(f"placement_{_plugin.__name__.lower()}", __name__, _plugin.__name__)
