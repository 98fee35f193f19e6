"""Keeps the snapshot of all providers as current as the database.

A caller gets a snapshot that contains every write acknowledged before the call, whichever process
wrote it. To find out whether anything changed costs one small statement, the probe of the clocks.
If something did, a second statement reads the changed providers, and the new snapshot shares the
rest with the last one. Everything is loaded, in one transaction, only at first, in a new epoch,
and after a rename. A snapshot that a request is using never changes.
"""

import gc
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Generic, TypeVar

from placement.core.model import EPOCH_CLOCK
from placement.core.snapshot.provider_table import ParentLoop
from placement.core.snapshot.snapshot import Snapshot
from placement.db import clocks
from placement.db.connections.pools import PerProcess
from placement.db.grouped_rows import Truncated
from placement.db.snapshot import changes
from placement.db.snapshot.changes import NameTables, ProviderChanges, UnknownNameError
from placement.db.snapshot.load import SnapshotReader
from placement.db.store import Store
from placement.db.transaction import Transaction
from placement.events import DISCARDS, REFRESH_SECONDS, Observer

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Outcome(Generic[T]):
    """The outcome of the fetch with this number: its result, or the error it raised."""

    number: int
    result: T | None = None
    error: Exception | None = None
    has_failed: bool = False

    def unwrap(self) -> T:
        if self.error is not None:
            raise self.error
        return self.result  # type: ignore[return-value]


class SingleFlight(Generic[T]):
    """Runs one fetch for all concurrent callers.

    A caller gets the result of a fetch that *began* after its call, so that the result includes
    all data that was committed before the call. A fetch that is already running may have read
    older data; callers that arrive in the meantime wait for its end and share the next fetch. A
    caller waits for two fetches at most, for any number of threads.

    If the fetch that the caller waits for fails, the caller gets this error at once: the failure
    happened after the call, and while the database host is unresponsive, another fetch would
    double the time until the response.
    """

    def __init__(self, fetch: Callable[[], T]) -> None:
        self._fetch = fetch
        self._ended = threading.Condition()
        self._started = 0
        self._is_running = False
        self._last: _Outcome[T] = _Outcome(0)

    def result(self) -> T:
        """Return the result of a fetch that begins after the call, or raise its error."""
        with self._ended:
            required, before = self._started + 1, self._last.number
            while self._last.number < required and self._is_running:
                self._ended.wait()
                if self._last.number > before and self._last.has_failed:
                    return self._last.unwrap()
            if self._last.number >= required:
                return self._last.unwrap()
            self._started += 1
            self._is_running = True
        return self._run(self._started).unwrap()

    def _run(self, number: int) -> _Outcome[T]:
        outcome: _Outcome[T] = _Outcome(number, error=RuntimeError("The fetch was interrupted."))
        try:
            outcome = _Outcome(number, result=self._fetch())
        except Exception as error:
            outcome = _Outcome(number, error=error, has_failed=True)
        finally:
            with self._ended:
                self._last, self._is_running = outcome, False
                self._ended.notify_all()
        return outcome


# From this number of providers on, a load excludes all objects of the process from garbage
# collection: a full collection takes 16 ms with 7,000 providers, and a later request would wait
# for it. With fewer this is not worth its risk: the process may run the tests of another project,
# whose garbage must be collected.
FREEZE_PROVIDERS = 1_000


@dataclass(frozen=True, slots=True)
class View:
    """A snapshot with the clocks and names at which it was read, and their lineage.

    ``refreshed_at`` is when this process read the last write that is in it, ``refreshed`` the same
    time by the monotonic clock.
    """

    snapshot: Snapshot
    clocks: Mapping[int, int]
    names: NameTables
    lineage: int
    refreshed_at: datetime = field(default_factory=lambda: datetime.now(UTC))
    refreshed: float = field(default_factory=time.monotonic)

    @property
    def turn(self) -> int:
        """A number that is equal in all processes with this state, and that each change increases.

        A new epoch, which begins with a random value, may decrease it.
        """
        return sum(self.clocks.values())


class Engine:
    """The snapshot of one store; safe to share between threads and across forks."""

    def __init__(self, store: Store, observer: Observer | None = None) -> None:
        self._keeper = PerProcess(lambda: _SnapshotKeeper(store, observer or Observer()))

    def current(self) -> Snapshot:
        """Return the current snapshot.

        Cost: one small statement if nothing was written; concurrent callers share it.
        Raises: DatabaseUnavailable.
        """
        return self.view().snapshot

    def view(self) -> View:
        """Return the current snapshot with its clocks; see ``current``."""
        return self._keeper().flight.result()


class _SnapshotKeeper:
    """The snapshot of one process; one thread at a time refreshes it."""

    def __init__(self, store: Store, observer: Observer) -> None:
        self._store = store
        self._observer = observer
        self._view: View | None = None
        self.flight: SingleFlight[View] = SingleFlight(self._refresh)

    def _refresh(self) -> View:
        start = time.monotonic()
        # read first: data that is read while a lineage ends is not valid for the next lineage
        lineage = self._store.lineage
        view, newer = self._view, None
        if view is not None and view.lineage == lineage:
            now = self._store.probe()
            if now == view.clocks and self._store.lineage == lineage:
                return view
            # a load leaves out the loops of another writer, and joins fewer rows to one text
            with suppress(ParentLoop, Truncated):
                newer = advance(view, now, self._store)
            if newer is not None and self._store.lineage == lineage:
                return self._keep(newer, "refresh", start)
        if view is not None:
            self._observer.count(DISCARDS)
        with self._store.read() as tx:
            view = load(tx)
        return self._keep(view, "load", start)

    def _keep(self, view: View, kind: str, start: float) -> View:
        self._view = view
        self._observer.observe(REFRESH_SECONDS, time.monotonic() - start, kind)
        return view


def advance(view: View, now: Mapping[int, int], store: Store) -> View | None:
    """Return a view at least as new as the clocks ``now``, or None if all must be loaded.

    One statement reads the changes. If more clocks advanced before it began, it is repeated with
    their values. It is repeated with all names if a row has the id of an unknown class or trait:
    openstack-placement, or an operator, inserted it.
    """
    has_names = False
    while follows(now, view.clocks):
        newer = store.read_once(_changes, view.clocks, now, has_names=has_names)
        now = newer.clocks
        if newer.is_complete and follows(now, view.clocks):
            with suppress(UnknownNameError):
                return _applied(view, newer)
            has_names = True
    return None


def _changes(
    tx: Transaction, seen: Mapping[int, int], now: Mapping[int, int], *, has_names: bool
) -> ProviderChanges:
    return changes.read(tx.connection, seen, now, has_names=has_names)


def follows(now: Mapping[int, int], seen: Mapping[int, int]) -> bool:
    """Return whether the changes between two values of the clocks can be read.

    They cannot in a new epoch, in another database, and after a restore of an older state.
    """
    return (
        now.keys() == seen.keys()
        and now[EPOCH_CLOCK] == seen[EPOCH_CLOCK]
        and all(now[clock] >= seen[clock] for clock in now)
    )


def _applied(view: View, newer: ProviderChanges) -> View:
    names = newer.names or view.names
    new_names = () if newer.names is None else (names.classes.values(), names.traits.values())
    snapshot = view.snapshot.apply(newer.states(names), newer.removed, *new_names)
    return View(snapshot, newer.clocks, names, view.lineage)


def load(tx: Transaction) -> View:
    """Return the view that a process keeps of everything that the transaction sees."""
    view = loaded(tx)
    if view.snapshot.size >= FREEZE_PROVIDERS:
        gc.freeze()
    return view


def loaded(tx: Transaction) -> View:
    """Return the view of everything that the transaction sees.  Cost: eight statements."""
    reader = SnapshotReader(tx.connection)
    now, names = clocks.values(tx.connection), reader.names()
    collects = gc.isenabled()
    gc.disable()  # to look for cycles would take a fifth of a load, and find none
    try:
        table = reader.table(names)
        snapshot = Snapshot.of_table(table, names.classes.values(), names.traits.values())
    finally:
        if collects:
            gc.enable()
    return View(snapshot, now, names, tx.lineage)
