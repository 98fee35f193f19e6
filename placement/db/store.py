"""The database of the service: writes and reads, each in a transaction.

A write is a function that receives a ``Transaction``. It runs as a whole, and again from its start
after a conflict or one lost connection (``retried``), so it must have no effects outside of
the transaction. A read is a context that sees one state of the database.
"""

import copy
import random
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

import sqlalchemy as sa

from placement import exception
from placement.core.model import EPOCH_CLOCK
from placement.db import clocks, errors, usage_counters
from placement.db.connections import pools, timeouts
from placement.db.connections.bulkhead import Wait
from placement.db.connections.pools import Engines, PerProcess
from placement.db.connections.session_settings import LOCK_TIMEOUT_SECONDS
from placement.db.errors import WriteConflict
from placement.db.settings import DatabaseSettings
from placement.db.transaction import ChangeObserver, Transaction

T = TypeVar("T")

MAX_ATTEMPTS = 30
# A foreign key fails once or twice if other transactions remove rows, always if rows are
# inconsistent.
_MAX_FOREIGN_KEY_FAILURES = 8
# After a conflict, no attempt begins later than this time after the first attempt; after a wait
# for a lock, no attempt whose next wait may end later.
RETRY_SECONDS = 30.0

P = ParamSpec("P")


def write_transaction(
    work: Callable[Concatenate[Transaction, P], T],
) -> Callable[Concatenate["Store", P], T]:
    """Decorate the work of a write: callers pass a store, and ``Store.write`` runs it."""

    @wraps(work)
    def written(store: "Store", /, *args: P.args, **kwargs: P.kwargs) -> T:
        return store.write(work, *args, **kwargs)

    return written


def ignore(*_: object) -> None:
    """Do nothing about a conflict, or with a progress report."""


def retried(
    attempt: Callable[[], T],
    max_attempts: int = MAX_ATTEMPTS,
    on_conflict: Callable[[], object] = ignore,
) -> T:
    """Return the result of the attempt, repeated after conflicts and after one lost connection.

    One lost connection is enough. A restarted server leaves a pool of broken connections, and the
    first broken connection that is noticed discards all of them, so the next one is new. While the
    host is unresponsive, the attempt is repeated only if it has not yet waited for a new
    connection.

    Raises: Conflict; DatabaseUnavailable, also if the last attempt timed out waiting for a lock;
    the IntegrityError of a foreign key that fails again and again.
    """
    deadline = time.monotonic() + RETRY_SECONDS
    conflicts = lost_connections = foreign_key_failures = 0
    while conflicts < max_attempts:
        begun_at = time.monotonic()
        try:
            return attempt()
        except errors.HostUnresponsive as error:
            raise exception.DatabaseUnavailable(str(error)) from error
        except WriteConflict as error:
            conflicts += error.is_attempt
            on_conflict()
            foreign_key_failures += isinstance(error, errors.ForeignKeyFailed)
            cause = error.__cause__
            if cause and foreign_key_failures == _MAX_FOREIGN_KEY_FAILURES:
                raise cause from cause.__cause__
            is_timeout = isinstance(error, errors.LockTimeout)
            wait_seconds = LOCK_TIMEOUT_SECONDS if is_timeout and error.is_attempt else 0
            if conflicts == max_attempts or time.monotonic() + wait_seconds > deadline:
                if is_timeout:
                    raise exception.DatabaseUnavailable(str(error)) from error
                break
        except errors.ConnectionLost as error:
            lost_connections += 1
            if lost_connections > 1 or not timeouts.has_time_to_reconnect(begun_at):
                raise exception.DatabaseUnavailable(str(error)) from error
        time.sleep(random.uniform(0, min(0.25, 0.001 * 2**conflicts)))  # noqa: S311
    raise exception.Conflict


def retried_read(attempt: Callable[[], T]) -> T:
    """Return the result of the attempt.  Raises: DatabaseUnavailable, also after conflicts."""
    try:
        return retried(attempt)
    except exception.Conflict as error:
        raise exception.DatabaseUnavailable("Reads are refused for conflicts.") from error


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """How a store writes; with 0 attempts, each write raises Conflict.

    The observer receives the changes. No request waits for writes ``in_background``.
    """

    max_attempts: int = MAX_ATTEMPTS
    on_conflict: Callable[[], object] = ignore
    observer: ChangeObserver | None = None
    in_background: bool = False


class Store:
    """A database reached through SQLAlchemy; safe to share between threads and across forks."""

    def __init__(self, settings: DatabaseSettings) -> None:
        self.settings = settings
        self.engines: PerProcess[Engines] = PerProcess(lambda: pools.connect(settings))
        self.is_ready = False  # whether schema and standard names were checked, see db_api.store
        self._writes = WriteOptions()
        # the one connection of an in-memory database can be used by one thread at a time
        self.exclusive = threading.RLock() if settings.is_private else nullcontext()

    @property
    def compares_text_exactly(self) -> bool:
        """Whether the database distinguishes letter case; MySQL and MariaDB usually do not."""
        return not self.settings.connection.startswith(("mysql", "mariadb"))

    def writing_with(self, **options: Any) -> Self:
        """Return a copy of this store with other ``WriteOptions``."""
        store = copy.copy(self)
        store._writes = replace(self._writes, **options)
        return store

    def write(
        self,
        work: Callable[Concatenate[Transaction, P], T],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """Return ``work(tx, ...)`` after its transaction is committed.

        The work is run again after deadlocks, serialization failures, lock timeouts, unique
        keys that another transaction inserted first, foreign keys to rows that another
        transaction removed, and WriteConflict.
        Raises: Conflict if no attempt succeeds, DatabaseUnavailable, CommitLost, and the
        exceptions that the work raises.
        """
        options, engines = self._writes, self.engines()
        wait = Wait(engines.background if options.in_background else engines.bulkhead)

        def attempt() -> T:
            try:
                return self._write_once(lambda tx: work(tx, *args, **kwargs), wait)
            except errors.LockTimeout as timeout:
                ids = wait.provider_ids
                generations = self.read_once(lambda tx: tx.providers.just_changed(ids))
                timeout.is_attempt = wait.has_ended(generations)
                raise

        try:
            result = retried(attempt, options.max_attempts, options.on_conflict)
        except errors.UsageNotCounted as error:
            self.write(usage_counters.count_again, error.provider_ids)
            return self.write(work, *args, **kwargs)
        if options.observer is not None:
            options.observer.after_write()
        return result

    def _write_once(self, work: Callable[[Transaction], T], wait: Wait) -> T:
        """Return the result of the work in one transaction, committed or rolled back."""
        pools = self.engines()
        with self.exclusive, wait.bulkhead.write(wait):
            with errors.connecting():
                connection = pools.connect_writer(wait)
            try:
                with errors.translated():
                    connection.info["wait"], wait.provider_ids = wait, ()
                    if pools.begin_write is not None:
                        connection.exec_driver_sql(pools.begin_write)
                    result = work(Transaction(connection, self._writes.observer))
                commit = wait.bulkhead.commit(connection.connection.driver_connection)
                with commit, errors.committing():
                    connection.commit()
            except BaseException:
                _roll_back(connection)
                raise
            finally:
                connection.close()
            return result

    @contextmanager
    def read(self) -> Iterator[Transaction]:
        """A read-only transaction that sees one state of the database.

        Raises: DatabaseUnavailable.
        """
        with self.exclusive:
            connection = retried_read(self._begin_read)
            try:
                with errors.translated(), self._ending_lineage():
                    yield Transaction(connection)
                    connection.exec_driver_sql("COMMIT")
            except BaseException as error:
                _roll_back(connection, "ROLLBACK")
                if isinstance(error, errors.ConnectionLost | WriteConflict):
                    raise exception.DatabaseUnavailable(str(error)) from error
                raise
            finally:
                connection.close()

    def _begin_read(self) -> sa.Connection:
        pools = self.engines()
        with errors.connecting():
            connection = pools.reader.connect()
            try:
                connection.exec_driver_sql(pools.begin_read)
            except BaseException:
                connection.close()
                raise
        return connection

    def probe(self) -> Mapping[int, int]:
        """Return the value of each clock: each committed write increases at least one of them.

        Cost: one statement that reads a few rows, outside of any transaction.
        """
        return self.read_once(lambda tx: clocks.values(tx.connection))

    def epoch(self) -> int:
        """Return the number of the current epoch; a restore and ``db sync`` change it."""
        return self.probe()[EPOCH_CLOCK]

    def read_once(
        self, work: Callable[Concatenate[Transaction, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Return ``work(tx, ...)``: one statement, which sees one state without a transaction.

        Raises: DatabaseUnavailable.
        """

        def attempt() -> T:
            with self.exclusive:
                with errors.connecting():
                    connection = self.engines().reader.connect()
                with connection, errors.translated(), self._ending_lineage():
                    return work(Transaction(connection), *args, **kwargs)

        return retried_read(attempt)

    @contextmanager
    def _ending_lineage(self) -> Iterator[None]:
        """Replace all connections if a statement reached a server that is not the primary."""
        try:
            yield
        except (errors.ServerReadOnly, errors.SeveralServers):
            self.engines().lineage.end()
            raise

    @property
    def lineage(self) -> int:
        """The number of the lineage of reads: see :mod:`placement.db.connections.lineage`."""
        return self.engines().lineage.number

    def dispose(self) -> None:
        """Close all connections; the next use opens new ones."""
        pools = self.engines.existing()
        if pools is not None and not self.settings.is_private:
            pools.dispose()

    def ping(self) -> None:
        """Return if the database responds.  Raises: DatabaseUnavailable."""
        with self.read() as tx:
            tx.connection.exec_driver_sql("SELECT 1")


def _roll_back(connection: sa.Connection, statement: str | None = None) -> None:
    """Roll back; discard the connection if the rollback fails."""
    if connection.invalidated:
        return
    try:
        connection.exec_driver_sql(statement) if statement else connection.rollback()
    except Exception:  # the original error is the one to raise
        with suppress(Exception):
            connection.invalidate()
