"""The store on SQLAlchemy: transactions, and when they are run again."""

import copy
import random
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from types import MappingProxyType
from typing import Concatenate, ParamSpec, Self, TypeVar

import sqlalchemy as sa

from placement import exception
from placement.db.per_process import PerProcess
from placement.db.sqlalchemy import clocks, db_errors, engines, snapshot_reader
from placement.db.sqlalchemy.aggregates import Aggregates
from placement.db.sqlalchemy.allocations import Allocations
from placement.db.sqlalchemy.consumers import Consumers
from placement.db.sqlalchemy.engines import DatabaseSettings, Engines
from placement.db.sqlalchemy.id_cache import Names
from placement.db.sqlalchemy.insight_requests import InsightRequests
from placement.db.sqlalchemy.inventories import Inventories
from placement.db.sqlalchemy.providers import Providers
from placement.db.sqlalchemy.resource_classes import ResourceClasses
from placement.db.sqlalchemy.snapshot_reader import Changes, Picture, Touched
from placement.db.sqlalchemy.traits import Traits
from placement.db.store import WriteConflict

P = ParamSpec("P")
T = TypeVar("T")

ATTEMPTS = 30
GIVE_UP_AFTER_SECONDS = 30.0


class SqlTransaction:
    """One transaction; each attribute holds the statements about one noun."""

    def __init__(self, connection: sa.Connection, names: Names) -> None:
        self.connection = connection
        self.names = names
        self.providers = Providers(connection, names)
        self.inventories = Inventories(connection, names)
        self.allocations = Allocations(connection, names)
        self.consumers = Consumers(connection, names)
        self.aggregates = Aggregates(connection, names)
        self.traits = Traits(connection, names)
        self.resource_classes = ResourceClasses(connection, names)
        self.picture = Picture(connection, names)
        self.insight_requests = InsightRequests(connection)

    def publish(
        self,
        changed: Iterable[int] = (),
        *,
        generation_bumped: Iterable[int] = (),
        removed: Mapping[int, str] = MappingProxyType({}),
        names: bool = False,
        epoch: bool = False,
    ) -> None:
        """Make the change known to every process: the last call of each write."""
        clocks.publish(
            self.connection,
            set(changed),
            generation_bumped=set(generation_bumped),
            removed=removed,
            names=names,
        )
        if epoch:
            clocks.start_epoch(self.connection)


class SqlStore:
    """A database that is reached through SQLAlchemy; safe to share between threads and forks."""

    NAMES = Picture.NAMES
    EPOCH = Picture.EPOCH

    def __init__(self, settings: DatabaseSettings) -> None:
        self.settings = settings
        self.engines: PerProcess[Engines] = PerProcess(lambda: engines.connect(settings))
        self.names = Names()
        self._attempts: int | None = None
        self._on_race_lost: Callable[[], object] = _nothing
        self.is_ready = False  # whether this process has looked that all that must be there is
        # the one connection of a database in memory is for one thread at a time
        self.turn = threading.RLock() if settings.is_private else nullcontext()

    def trying(self, attempts: int) -> Self:
        """Return this store, but that its writes give up after so many lost races."""
        found = copy.copy(self)
        found._attempts = attempts
        return found

    def telling(self, on_race_lost: Callable[[], object]) -> Self:
        """Return this store, but that it calls the function when a write has lost a race."""
        found = copy.copy(self)
        found._on_race_lost = on_race_lost
        return found

    def write(
        self,
        work: Callable[Concatenate[SqlTransaction, P], T],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """Return ``work(tx, ...)`` after its transaction is committed.

        Raises: Conflict, DatabaseUnavailable, and whatever the work raises.
        """
        return _again(
            lambda: self._write_once(work, *args, **kwargs), self._attempts, self._on_race_lost
        )

    def _write_once(
        self,
        work: Callable[Concatenate[SqlTransaction, P], T],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        names = self.names.draft()
        with self.turn, self._writing() as connection:
            done = work(SqlTransaction(connection, names), *args, **kwargs)
        names.keep()
        return done

    @contextmanager
    def _writing(self) -> Iterator[sa.Connection]:
        """A connection in a transaction that is committed at the end, or undone."""
        found = self.engines()
        with db_errors.connecting():
            connection = found.writer.connect()
        try:
            with db_errors.translated():
                if found.begin_write is not None:
                    connection.exec_driver_sql(found.begin_write)
                yield connection
            with db_errors.committing():
                connection.commit()
        except BaseException:
            _undo(connection)
            raise
        finally:
            connection.close()

    @contextmanager
    def read(self) -> Iterator[SqlTransaction]:
        """A transaction that sees one state of the database, and writes nothing."""
        with self.turn:
            connection = _again(self._begin_read)
            try:
                with _unavailable_if_lost():
                    yield SqlTransaction(connection, self.names)
                    connection.exec_driver_sql("COMMIT")
            except BaseException:
                _undo(connection, "ROLLBACK")
                raise
            finally:
                connection.close()

    def _begin_read(self) -> sa.Connection:
        found = self.engines()
        with db_errors.connecting():
            connection = found.reader.connect()
            try:
                connection.exec_driver_sql(found.begin_read)
            except BaseException:
                connection.close()
                raise
        return connection

    def probe(self) -> Mapping[int, int]:
        """Return the value of each clock: one of them is larger after each committed write."""
        return self._at_once(clocks.values)

    def changes(self, seen: Mapping[int, int], now: Mapping[int, int]) -> Changes:
        """Return what was written since the clocks were ``seen``, by those that moved ``now``."""
        return self._at_once(lambda found: Picture(found, self.names).changes(seen, now))

    def touched(self, seen: Mapping[int, int], now: Mapping[int, int]) -> Touched:
        """Return which providers changed or were removed since the clocks were ``seen``."""
        return self._at_once(lambda found: snapshot_reader.touched(found, seen, now))

    def _at_once(self, ask: Callable[[sa.Connection], T]) -> T:
        """Return the answer to one statement, which needs no transaction to see one state."""

        def attempt() -> T:
            with self.turn, db_errors.connecting(), self.engines().reader.connect() as connection:
                return ask(connection)

        return _again(attempt)

    def dispose(self) -> None:
        """Close all connections; the next use opens new ones."""
        found = self.engines.made()
        if found is not None and not self.settings.is_private:
            found.dispose()

    def ping(self) -> None:
        """Return if the database answers.  Raises: DatabaseUnavailable."""
        with self.read() as tx:
            tx.connection.exec_driver_sql("SELECT 1")


def _nothing() -> None:
    """Be told, and do nothing."""


def _again(
    attempt: Callable[[], T],
    attempts: int | None = None,
    on_race_lost: Callable[[], object] = _nothing,
) -> T:
    """Return what the attempt does, made again after a lost race or one lost connection.

    One connection, because a server that was restarted leaves a pool of broken ones:
    the first to be noticed makes SQLAlchemy drop them all, so that the next is new.
    """
    give_up_at = time.monotonic() + GIVE_UP_AFTER_SECONDS
    most = ATTEMPTS if attempts is None else attempts
    races = connections = 0
    while races < most and time.monotonic() < give_up_at:
        try:
            return attempt()
        except WriteConflict:
            races += 1
            on_race_lost()
        except db_errors.ConnectionLost as error:
            connections += 1
            if connections > 1:
                raise exception.DatabaseUnavailable(str(error)) from error
        time.sleep(random.uniform(0, min(0.1, 0.001 * 2**races)))  # noqa: S311
    raise exception.Conflict


@contextmanager
def _unavailable_if_lost() -> Iterator[None]:
    try:
        with db_errors.translated():
            yield
    except (db_errors.ConnectionLost, WriteConflict) as error:
        raise exception.DatabaseUnavailable(str(error)) from error


def _undo(connection: sa.Connection, statement: str | None = None) -> None:
    """Roll back; a connection that cannot even do that is thrown away."""
    if connection.invalidated:
        return
    try:
        connection.exec_driver_sql(statement) if statement else connection.rollback()
    except Exception:  # the error that led here is the one to tell
        with suppress(Exception):
            connection.invalidate()
