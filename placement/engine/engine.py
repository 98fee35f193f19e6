"""Keeps the current snapshot of all providers, exactly as fresh as the database.

Whoever asks gets a snapshot that holds every write acknowledged before it asked,
whichever process took the write. To find out whether there was any costs one
small statement; what has changed is read in one transaction that sees one state,
and put into a new snapshot that shares the rest with the last one. A snapshot
that somebody holds never changes.
"""

import gc
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from placement.core.snapshot.snapshot import Snapshot
from placement.db.per_process import PerProcess
from placement.db.store import Store, Transaction
from placement.engine.single_flight import SingleFlight
from placement.observability.events import Event, SnapshotLoaded, SnapshotRefreshed

# How many providers loaded make it worth to never look for garbage again in all that the process
# has at that moment: a look that a later request pays for takes 16 ms with 7,000. With few it is
# wrong, too: the process may be that of somebody's tests, whose garbage is to be collected.
WORTH_FREEZING = 1_000


@dataclass(frozen=True, slots=True)
class View:
    """A snapshot, and what has to be known to bring it on.

    ``refreshed_at`` is when this process read the last write that is in it.
    """

    snapshot: Snapshot
    clocks: Mapping[int, int]
    names: Any
    refreshed_at: datetime


class Engine:
    """The snapshot of one store; safe to share between threads, and to fork with."""

    def __init__(self, store: Store, observer: Callable[[Event], None] | None = None) -> None:
        self._store = store
        self._observer = observer
        self._keeper = PerProcess(lambda: _Keeper(store, observer))

    def current(self) -> Snapshot:
        """Return the snapshot of now.

        Cost: one small statement if nothing was written; threads that ask at once share it.
        Raises: DatabaseUnavailable.
        """
        return self.view().snapshot

    def view(self) -> View:
        """Return the snapshot of now with the clocks that it is as new as; see ``current``."""
        return self._keeper().flight.result()


class _Keeper:
    """What one process keeps; only one thread at a time refreshes it."""

    def __init__(self, store: Store, observer: Callable[[Event], None] | None) -> None:
        self._store = store
        self._observer = observer
        self._view: View | None = None
        self.flight: SingleFlight[View] = SingleFlight(self._refresh)

    def _refresh(self) -> View:
        view, begun = self._view, time.monotonic()
        now = None if view is None else self._store.probe()
        if view is None or now != view.clocks:
            self._view, event = self._newer(view, now or {}, begun)
            if self._observer is not None:
                self._observer(event)
        assert self._view is not None  # noqa: S101  made above
        return self._view

    def _newer(
        self, view: View | None, now: Mapping[int, int], begun: float
    ) -> tuple[View, Event]:
        """Return a view that is as new as ``now`` at least.

        Where only providers changed, which is nearly always, one statement reads what did.
        If more clocks moved before it began, it is asked again with these.
        """
        while view is not None and self._only_providers_changed(view.clocks, now):
            changes = self._store.changes(view.clocks, now)
            if changes.is_whole:
                return _applied(view, changes, view.names, begun)
            now = changes.clocks
        with self._store.read() as tx:
            return advance(view, tx, begun)

    def _only_providers_changed(self, seen: Mapping[int, int], now: Mapping[int, int]) -> bool:
        names = self._store.NAMES
        return _follows(now, seen, self._store.EPOCH) and now[names] == seen[names]


def advance(view: View | None, tx: Transaction, begun: float) -> tuple[View, Event]:
    """Return the view of the state that the transaction sees, and what it took."""
    clocks = tx.picture.clocks()
    if view is None or not _follows(clocks, view.clocks, tx.picture.EPOCH):
        return _load(tx, clocks, begun)
    names = view.names
    if clocks[tx.picture.NAMES] != view.clocks[tx.picture.NAMES]:
        names = tx.picture.names()
        if names.renames(view.names):
            return _load(tx, clocks, begun)
    return _applied(view, tx.picture.changes(view.clocks, clocks), names, begun)


def _applied(view: View, changes: Any, names: Any, begun: float) -> tuple[View, Event]:
    states = changes.states(names)
    new = () if names is view.names else (names.classes.values(), names.traits.values())
    snapshot = view.snapshot.apply(states, changes.removed, *new)
    event = SnapshotRefreshed(len(states), len(changes.removed), time.monotonic() - begun)
    return View(snapshot, changes.clocks, names, datetime.now(UTC)), event


def _follows(now: Mapping[int, int], seen: Mapping[int, int], epoch: int) -> bool:
    """Whether the changes since then are known; not in a new epoch or another database."""
    return (
        now.keys() == seen.keys()
        and now[epoch] == seen[epoch]
        and all(now[clock] >= seen[clock] for clock in now)
    )


def _load(tx: Transaction, clocks: Mapping[int, int], begun: float) -> tuple[View, Event]:
    names = tx.picture.names()
    with _uncollected():
        states = tx.picture.states(names)
        snapshot = Snapshot.of(states, names.classes.values(), names.traits.values())
        if len(states) >= WORTH_FREEZING:
            gc.freeze()
    event = SnapshotLoaded(len(states), time.monotonic() - begun)
    return View(snapshot, clocks, names, datetime.now(UTC)), event


@contextmanager
def _uncollected() -> Iterator[None]:
    """Look for no cyclic garbage meanwhile.

    A load makes millions of objects and no cycles. Looking through them again and again while
    they grow in number takes 40 % of the time of loading 100,000 providers.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
