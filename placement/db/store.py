"""The database of the service: connections, transactions and retries.

A write is a function that receives a :class:`Transaction`. It runs as a whole, and again from its
start if the database refuses it for a conflict, so its only effects must be those of the
transaction. A read is a context that sees one state of the database.
"""

import copy
import random
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Concatenate, ParamSpec, Self, TypeVar

import sqlalchemy as sa

from placement import exception
from placement.db.per_process import PerProcess
from placement.db.sqlalchemy import (
    clocks,
    db_errors,
    engines,
    snapshot_reader,
    tcp_timeouts,
    usage_counters,
)
from placement.db.sqlalchemy.aggregates import Aggregates
from placement.db.sqlalchemy.allocations import Allocations
from placement.db.sqlalchemy.consumer_list import ConsumerList
from placement.db.sqlalchemy.consumers import Consumers
from placement.db.sqlalchemy.db_errors import WriteConflict
from placement.db.sqlalchemy.engines import DatabaseSettings, Engines
from placement.db.sqlalchemy.first_claims import FirstClaims
from placement.db.sqlalchemy.insight_requests import InsightRequests
from placement.db.sqlalchemy.inventories import Inventories
from placement.db.sqlalchemy.provider_identity import ProviderIdentity
from placement.db.sqlalchemy.providers import Providers
from placement.db.sqlalchemy.resource_classes import ResourceClasses
from placement.db.sqlalchemy.snapshot_reader import (
    ProviderChanges,
    SnapshotReader,
    TouchedProviders,
)
from placement.db.sqlalchemy.statement_batch import StatementBatch
from placement.db.sqlalchemy.traits import Traits

if TYPE_CHECKING:
    from placement.db.sqlalchemy.audit import AuditReader
    from placement.db.sqlalchemy.repairs import Repairs
    from placement.db.sqlalchemy.row_images import RowImages

P = ParamSpec("P")
T = TypeVar("T")

MAX_ATTEMPTS = 30
RETRY_SECONDS = 30.0


class Transaction:
    """One transaction; each attribute has the statements for one kind of resource."""

    def __init__(self, connection: sa.Connection) -> None:
        self.connection = connection
        self.batch = StatementBatch(connection)
        self.providers = Providers(connection)
        self.inventories = Inventories(self.batch)
        self.allocations = Allocations(self.batch)
        self.consumers = Consumers(self.batch)
        self.first_claims = FirstClaims(connection)
        self.consumer_list = ConsumerList(connection)
        self.aggregates = Aggregates(connection)
        self.traits = Traits(connection)
        self.resource_classes = ResourceClasses(connection)
        self.snapshot = SnapshotReader(connection)
        self.insight_requests = InsightRequests(connection)
        self.identity = ProviderIdentity(connection)

    # Audits and repairs are rare: their statements are imported when they are first used.

    @cached_property
    def audit(self) -> "AuditReader":
        """The statements of an audit."""
        from placement.db.sqlalchemy.audit import AuditReader  # noqa: PLC0415

        return AuditReader(self.connection)

    @cached_property
    def repairs(self) -> "Repairs":
        """The statements of repairs."""
        from placement.db.sqlalchemy.repairs import Repairs  # noqa: PLC0415

        return Repairs(self.connection)

    @cached_property
    def row_images(self) -> "RowImages":
        """The rows that a repair changes, for undo."""
        from placement.db.sqlalchemy.row_images import RowImages  # noqa: PLC0415

        return RowImages(self.connection)

    @property
    def lineage(self) -> int:
        """The number of the lineage that the connection belongs to; see ``Store.lineage``."""
        number: int = self.connection.info.get("lineage", 0)
        return number

    def publish(
        self,
        changed: Iterable[int] = (),
        *,
        generation_bumped: Iterable[int] = (),
        removed: Mapping[int, str] = MappingProxyType({}),
        names: bool = False,
        epoch: bool = False,
    ) -> None:
        """Make the change visible to the snapshots of all processes: the last call of each write.

        Advances the clocks of the providers, given by id, in a fixed order, and stamps them.
        The generation of the ``generation_bumped`` providers is increased by one. ``removed`` has
        the UUIDs of removed providers by id, which are recorded for readers of changes. ``names``
        is true if resource classes, traits or aggregates were created or removed, ``epoch`` if
        everything must be loaded again.
        """
        with self.batch.together():
            clocks.publish(
                self.batch,
                set(changed),
                generation_bumped=set(generation_bumped),
                removed=removed,
                names=names,
            )
        if epoch:
            clocks.start_epoch(self.connection)


class Store:
    """A database reached through SQLAlchemy; safe to share between threads and across forks."""

    def __init__(self, settings: DatabaseSettings) -> None:
        self.settings = settings
        self.engines: PerProcess[Engines] = PerProcess(lambda: engines.connect(settings))
        self.is_ready = False  # whether schema and standard names were checked, see db_api.store
        self._max_attempts = MAX_ATTEMPTS
        self._on_conflict: Callable[[], object] = _ignore
        # the one connection of an in-memory database can be used by one thread at a time
        self.exclusive = threading.RLock() if settings.is_private else nullcontext()

    @property
    def compares_text_exactly(self) -> bool:
        """Whether the database distinguishes letter case; MySQL and MariaDB usually do not."""
        return not self.settings.connection.startswith(("mysql", "mariadb"))

    def with_max_attempts(self, attempts: int) -> Self:
        """Return a copy of this store that runs a write at most ``attempts`` times.

        With 0, each write raises Conflict.
        """
        store = copy.copy(self)
        store._max_attempts = attempts
        return store

    def with_conflict_observer(self, on_conflict: Callable[[], object]) -> Self:
        """Return a copy of this store that calls the function at each write conflict."""
        store = copy.copy(self)
        store._on_conflict = on_conflict
        return store

    def write(
        self,
        work: Callable[Concatenate[Transaction, P], T],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """Return ``work(tx, ...)`` after its transaction is committed.

        The work is run again after deadlocks, serialization failures, lock timeouts, unique
        keys that another transaction inserted first, and WriteConflict.
        Raises: Conflict if that does not succeed, DatabaseUnavailable, CommitLost, and whatever
        the work raises.
        """
        try:
            return _retried(
                lambda: self._write_once(work, *args, **kwargs),
                self._max_attempts,
                self._on_conflict,
            )
        except db_errors.UsageNotCounted as error:
            self.write(usage_counters.count_again, error.provider_ids)
            return self.write(work, *args, **kwargs)

    def _write_once(
        self,
        work: Callable[Concatenate[Transaction, P], T],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """Return the result of the work in one transaction, committed or rolled back."""
        with self.exclusive:
            pools = self.engines()
            with db_errors.connecting():
                connection = pools.writer.connect()
            try:
                with db_errors.translated():
                    if pools.begin_write is not None:
                        connection.exec_driver_sql(pools.begin_write)
                    transaction = Transaction(connection)
                    result = work(transaction, *args, **kwargs)
                with db_errors.committing():
                    transaction.batch.commit()
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
            connection = _retried_read(self._begin_read)
            try:
                with _unavailable_if_interrupted(), self._ending_lineage():
                    yield Transaction(connection)
                    connection.exec_driver_sql("COMMIT")
            except BaseException:
                _roll_back(connection, "ROLLBACK")
                raise
            finally:
                connection.close()

    def _begin_read(self) -> sa.Connection:
        pools = self.engines()
        with db_errors.connecting():
            connection = pools.reader.connect()
            try:
                connection.exec_driver_sql(pools.begin_read)
            except BaseException:
                connection.close()
                raise
        return connection

    def probe(self) -> Mapping[int, int]:
        """Return the value of each clock: each committed write increases at least one.

        Cost: one statement that reads a few rows, outside of any transaction.
        """
        return self._single_statement(clocks.values)

    def epoch(self) -> int:
        """Return the number of the current epoch: another one after a restore and ``db sync``."""
        with self.read() as tx:
            return clocks.values(tx.connection)[clocks.EPOCH_CLOCK]

    def changes(self, seen: Mapping[int, int], now: Mapping[int, int]) -> ProviderChanges:
        """Return the providers that changed since the clocks had the values ``seen``.

        Reads the changes of the clocks whose values differ between ``seen`` and ``now``.
        Cost: one statement, outside of any transaction.
        """
        return self._single_statement(
            lambda connection: SnapshotReader(connection).changes(seen, now)
        )

    def touched(self, seen: Mapping[int, int], now: Mapping[int, int]) -> TouchedProviders:
        """Return the providers that changed or were removed since the clocks were ``seen``.

        Cost: one statement that reads only these rows, outside of any transaction.
        """
        return self._single_statement(
            lambda connection: snapshot_reader.touched(connection, seen, now)
        )

    def _single_statement(self, execute: Callable[[sa.Connection], T]) -> T:
        """Return the result of one statement, which sees one state without a transaction."""

        def attempt() -> T:
            with (
                self.exclusive,
                db_errors.connecting(),
                self.engines().reader.connect() as connection,
                self._ending_lineage(),
            ):
                return execute(connection)

        return _retried_read(attempt)

    @contextmanager
    def _ending_lineage(self) -> Iterator[None]:
        """Replace all connections if a statement reached a server that is not the primary."""
        try:
            yield
        except (db_errors.ServerReadOnly, db_errors.SeveralServers):
            self.engines().lineage.end()
            raise

    @property
    def lineage(self) -> int:
        """The number of the lineage that reads belong to, see :mod:`placement.db.lineage`."""
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


def _ignore() -> None:
    """Do nothing about a conflict."""


def _retried(
    attempt: Callable[[], T],
    max_attempts: int = MAX_ATTEMPTS,
    on_conflict: Callable[[], object] = _ignore,
) -> T:
    """Return the result of the attempt, repeated after conflicts and after one lost connection.

    One connection, because a restarted server leaves a pool of broken ones: the first broken
    connection that is noticed discards them all, so the next one is new. While the host is
    unresponsive, the attempt is repeated only if it did not wait for a new connection yet.

    Raises: Conflict, or DatabaseUnavailable if a lock was not released all the time.
    """
    deadline = time.monotonic() + RETRY_SECONDS
    conflicts = lost_connections = 0
    while conflicts < max_attempts:
        begun_at = time.monotonic()
        try:
            return attempt()
        except db_errors.HostUnresponsive as error:
            raise exception.DatabaseUnavailable(str(error)) from error
        except WriteConflict as error:
            conflicts += 1
            on_conflict()
            if time.monotonic() > deadline:
                if isinstance(error, db_errors.LockTimeout):
                    raise exception.DatabaseUnavailable(str(error)) from error
                break
        except db_errors.ConnectionLost as error:
            lost_connections += 1
            if lost_connections > 1 or not tcp_timeouts.has_time_to_reconnect(begun_at):
                raise exception.DatabaseUnavailable(str(error)) from error
        time.sleep(random.uniform(0, min(0.1, 0.001 * 2**conflicts)))  # noqa: S311
    raise exception.Conflict


def _retried_read(attempt: Callable[[], T]) -> T:
    """Return the result of the attempt.  Raises: DatabaseUnavailable, also after conflicts."""
    try:
        return _retried(attempt)
    except exception.Conflict as error:
        raise exception.DatabaseUnavailable("Reads are refused for conflicts.") from error


@contextmanager
def _unavailable_if_interrupted() -> Iterator[None]:
    try:
        with db_errors.translated():
            yield
    except (db_errors.ConnectionLost, WriteConflict) as error:
        raise exception.DatabaseUnavailable(str(error)) from error


def _roll_back(connection: sa.Connection, statement: str | None = None) -> None:
    """Roll back; discard a connection on which even that fails."""
    if connection.invalidated:
        return
    try:
        connection.exec_driver_sql(statement) if statement else connection.rollback()
    except Exception:  # the original error is the one to raise
        with suppress(Exception):
            connection.invalidate()
