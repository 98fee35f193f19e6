"""The number of transactions that wait for a lock which another transaction has."""

import threading
from collections.abc import Callable, Container, Iterator
from contextlib import contextmanager

import pytest
import sqlalchemy as sa

from placement.db.connections import session_settings
from placement.tests.support import innodb_status

POSTGRESQL = (
    "SELECT count(*) FROM pg_stat_activity"
    " WHERE datname = current_database() AND wait_event_type = 'Lock'"
)


@contextmanager
def lock_waits(engine: sa.Engine) -> Iterator[Callable[[], int]]:
    """Yield a function that returns the number of transactions of the database that wait."""
    backend = engine.dialect.name
    if backend == "sqlite":
        with _of_sqlite(engine) as count:
            yield count
        return
    observer = sa.create_engine(engine.url, poolclass=sa.NullPool, isolation_level="AUTOCOMMIT")
    count_in = _of_postgresql if backend == "postgresql" else _of_mysql
    with observer.connect() as connection:
        yield lambda: count_in(connection)


def _of_postgresql(connection: sa.Connection) -> int:
    return int(connection.exec_driver_sql(POSTGRESQL).scalar_one())


def _of_mysql(connection: sa.Connection) -> int:
    return sum(each.waits_for_lock for each in innodb_status.open_transactions(connection))


@contextmanager
def _of_sqlite(engine: sa.Engine) -> Iterator[Callable[[], int]]:
    """Count the threads that wait to begin a write: SQLite has one lock and reports no waits."""
    beginning: set[int] = set()

    def before(_connection, _cursor, statement, *_):
        if statement == "BEGIN IMMEDIATE":
            beginning.add(threading.get_ident())

    def after(*_):
        beginning.discard(threading.get_ident())

    listeners = (("before_cursor_execute", before), ("after_cursor_execute", after))
    for event, listener in listeners:
        sa.event.listen(engine, event, listener)
    try:
        yield lambda: len(beginning)
    finally:
        for event, listener in listeners:
            sa.event.remove(engine, event, listener)


LOCK_TIMEOUTS = ("innodb_lock_wait_timeout", "lock_wait_timeout", "lock_timeout")
IDLE_TIMEOUTS = ("idle_transaction_timeout", "idle_in_transaction_session_timeout")


def set_timeouts(monkeypatch: pytest.MonkeyPatch, names: Container[str], seconds: int) -> None:
    """Replace timeouts in the settings of sessions."""
    for listed in ("MYSQL", "MARIADB_WRITES", "POSTGRESQL", "POSTGRESQL_WRITES"):
        replaced = f"{seconds}s" if listed.startswith("POSTGRESQL") else seconds
        settings = {
            name: replaced if name in names else value
            for name, value in getattr(session_settings, listed).items()
        }
        monkeypatch.setattr(session_settings, listed, settings)
