"""Writes the records of requests without candidates, refused writes and lost races.

Writes are bounded in number, age and rate, and never delay a request: a timer writes the records
of a process together, a moment later. The contributor's documentation has the details.
"""

import atexit
import json
import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Final, TypeVar
from weakref import WeakMethod, WeakSet

from placement import exception
from placement.db.store import Store
from placement.db.transaction import Transaction
from placement_insight.documents import document
from placement_insight.explain.records import sql
from placement_insight.explain.records.model import RecordedRequest, equal_key, first_id

_Read = TypeVar("_Read")

LOG = logging.getLogger(__name__)

PRUNE_AFTER_ROWS: Final = 50
"""The number of rows that a process adds before it prunes."""
PRUNE_BATCH: Final = 100
"""The number of rows that one transaction removes."""
MOST_WAITING: Final = 1000
"""The number of records that wait to be written."""

_PRUNE_AFTER_SECONDS = 600.0
_PAUSE_SECONDS = 10.0
# The requests are marked again after this time: other processes have written their counts.
_SUPERSEDE_AFTER_SECONDS = 5.0
_MOST_KEYS = 10_000
_MOST_FOUND = 10_000
_SECONDS_BETWEEN_WARNINGS = 60.0
_MOST_SECONDS_OF_READERS = 1.0
_ATTEMPTS = 8  # processes count equal requests in one row
_CPU_OF_EXPLANATIONS = 0.05  # seconds of CPU time per second
_MOST_CPU_AT_ONCE = 0.5
_BURST_SECONDS = 4.0
_REPEATED: Final = "repeated"
_FURTHER: Final = "one of several different requests: more than [insight]record_per_second records"


@dataclass(frozen=True, slots=True)
class RecorderSettings:
    """The options of [insight] that begin with ``record``."""

    record: bool = True
    record_users: bool = True
    record_max_rows: int = 10_000
    record_max_age_days: int = 30
    record_per_second: int = 5


def start_timer(seconds: float, flush: Callable[[], None]) -> None:
    """Call a function in another thread after some time."""
    timer = threading.Timer(seconds, flush)
    timer.daemon = True
    timer.start()


def do_at_exit(work: Callable[[], None]) -> None:
    """Call a method when the process ends, unless its object ended before.

    uWSGI does not end the interpreter with ``skip-atexit-teardown``, and calls ``uwsgi.atexit``.
    """
    method = WeakMethod(work)

    def do() -> None:
        if (still := method()) is not None:
            still()

    atexit.register(do)
    with suppress(ImportError):
        import uwsgi  # type: ignore[import-untyped]  # noqa: PLC0415  only in its processes

        uwsgi.atexit = do


class Recorder:
    """The recorder of one process; safe to share between threads."""

    def __init__(
        self,
        store: Store,
        settings: RecorderSettings,
        clock: Callable[[], float] = time.monotonic,
        thread_time: Callable[[], float] = time.thread_time,
        call_after: Callable[[float, Callable[[], None]], None] | None = None,
    ) -> None:
        self.is_enabled = settings.record
        self.records_users = settings.record_users
        self.dropped = 0  # requests that could not be recorded
        self._settings = settings
        self._store = store.writing_with(max_attempts=_ATTEMPTS, in_background=True)
        self._clock = clock
        self._thread_time = thread_time
        self._writing = threading.Lock()
        timers = self._writing, call_after or start_timer
        self._write_later = _Delayed(1 / settings.record_per_second, self._write, *timers)
        self._supersede_later = _Delayed(_SUPERSEDE_AFTER_SECONDS, self._supersede, *timers)
        self._unpruned = PRUNE_AFTER_ROWS  # a process that starts prunes with its first row
        self._pruned_at = 0.0
        self._paused_until = self._warned_at = float("-inf")
        self._counting = threading.RLock()
        self._allowances: dict[str, _Allowance] = {}
        self._keys: set[str | None] = set()  # of records that this process wrote or will write
        self._waiting: dict[str, RecordedRequest] = {}
        self._found: dict[str, tuple[datetime, float]] = {}
        self._reports = WeakSet[threading.Event]()  # a report that never runs is forgotten

    def awaited(self, report: Callable[[], None]) -> Callable[[], None]:
        """Return the report of a response; readers wait for its record until it ends."""
        ended = threading.Event()
        with self._counting:
            self._reports.add(ended)

        def run() -> None:
            try:
                report()
            finally:
                ended.set()

        return run

    def admits(self, kind: str) -> bool:
        """Count a record of this kind if the rate allows it; return whether it does."""
        rate = self._settings.record_per_second
        with self._counting:
            allowance = self._allowance(kind, rate, rate * _BURST_SECONDS)
            if allowance.left < 1:
                return False
            allowance.left -= 1
            return True

    def _allowance(self, name: str, per_second: float, most: float) -> "_Allowance":
        """Return the allowance with the amount of this time."""
        now = self._clock()
        allowance = self._allowances.setdefault(name, _Allowance(most, now))
        allowance.left = min(most, allowance.left + (now - allowance.at) * per_second)
        allowance.at = now
        return allowance

    @contextmanager
    def explanation(self, kind: str) -> Iterator[bool]:
        """A context for one explanation; yields whether the rate and the CPU time allow it.

        The explanations of a kind take at most a twentieth of a processor in a process, except
        half a second at once.
        """
        with self._counting:
            name = f"CPU time {kind}"
            allowance = self._allowance(name, _CPU_OF_EXPLANATIONS, _MOST_CPU_AT_ONCE)
            has_time = allowance.left > 0
        if not (has_time and self.admits(f"explanation {kind}")):
            yield False
            return
        start = self._thread_time()
        try:
            yield True
        finally:
            with self._counting:
                allowance.left -= self._thread_time() - start

    def read(self, read: Callable[[Transaction], _Read], without: _Read) -> _Read:
        """Return what a report adds, ``without`` if it cannot be read.  Never raises."""
        try:
            return self._store.read_once(read)
        except Exception:  # a line without names is better than none
            return without

    def record(self, record: RecordedRequest) -> None:
        """Add the record to those that a timer writes, or count it in an equal one.

        It is dropped if the database fails.  Never raises.
        """
        if not self.is_enabled:
            return
        if self._is_paused:
            self.dropped += 1
            return
        with self._counting:
            if not (record.equal_key in self._keys or self.admits(record.kind)):
                record = _further(record)
            self._add(record)
        self._write_later.start()

    def _add(self, record: RecordedRequest) -> None:
        """Add the record to those that wait to be written, or count it in an equal one."""
        key = record.equal_key
        if (equal := self._waiting.get(key)) is not None:
            record = equal.with_equal(record)
        elif len(self._waiting) >= MOST_WAITING:
            self.dropped += self._waiting.pop(next(iter(self._waiting))).requests
        self._waiting[key] = record
        if len(self._keys) >= _MOST_KEYS:
            self._keys.clear()
        self._keys.add(key)

    def found(self, *keys: str, at: datetime) -> None:
        """Note what supersedes requests before a time, see ``model.Found``.  Never raises."""
        if not self.is_enabled:
            return
        with self._counting:
            if len(self._found) >= _MOST_FOUND:
                self._found.clear()
            noted = at.replace(tzinfo=None), self._clock() + _SUPERSEDE_AFTER_SECONDS
            self._found |= dict.fromkeys(keys, noted)
        self._supersede_later.start()

    def flush(self) -> None:
        """Write the counted requests, and mark the superseded ones.  Never raises.

        Waits one second at most for reports, and one for another thread that writes.
        """
        with self._counting:
            reports = list(self._reports)
        end = self._clock() + _MOST_SECONDS_OF_READERS
        for ended in reports:
            ended.wait(end - self._clock())
        if self._writing.acquire(timeout=_MOST_SECONDS_OF_READERS):
            try:
                self._write()
                self._supersede()
            finally:
                self._writing.release()

    @property
    def _is_paused(self) -> bool:
        return self._clock() < self._paused_until

    def _write(self) -> None:
        if self._is_paused or not self._waiting:
            return
        with self._counting:
            waiting, self._waiting = self._waiting, {}
        # in an order that avoids deadlocks
        records = sorted(waiting.values(), key=lambda record: record.equal_key)
        try:
            self._insert(records)
            batches, records = 1 + len(records) // PRUNE_BATCH, []
            for _ in range(batches):
                self._prune(self._clock())
        except Exception as error:  # a failure of the recorder must not fail the request
            self._pause(error, records)

    def _supersede(self) -> None:
        if self._is_paused or not self._found:
            return
        with self._counting:
            found = {each: at for each, (at, _) in self._found.items()}
            now, pending = self._clock(), self._found
            self._found = {each: (at, end) for each, (at, end) in pending.items() if now < end}
        try:
            sql.supersede(self._store, found)
        except Exception as error:  # as above; nothing is lost but marks
            LOG.debug("Superseded requests cannot be marked: %s", error)
        if self._found:
            self._supersede_later.start()

    def _pause(self, error: Exception, records: Iterable[RecordedRequest] = ()) -> None:
        self._paused_until = self._clock() + _PAUSE_SECONDS
        with self._counting:
            self._keys.clear()
            dropped = (*records, *self._waiting.values())
            self._waiting.clear()
        self.dropped += sum(record.requests for record in dropped)
        self._warn(error, self._clock())

    def _insert(self, records: list[RecordedRequest]) -> None:
        """Insert the records; one that the database cannot store is dropped, without the others.

        No text is known to be refused, but the character set of a table may be any.
        """
        try:
            self._unpruned += self._store.write(sql.add, records)
        except exception.BadRequest as error:
            if len(records) > 1:
                for record in records:
                    self._insert([record])
            else:
                self.dropped += records[0].requests
                self._warn(error, self._clock())

    def _prune(self, now: float) -> None:
        """Remove a batch of rows that are too old or in excess, after enough rows or time.

        If more rows remain, the next write removes the next batch.
        """
        has_passed = now - self._pruned_at >= _PRUNE_AFTER_SECONDS
        if self._unpruned < PRUNE_AFTER_ROWS and not has_passed:
            return
        oldest = first_id(datetime.now(UTC) - timedelta(days=self._settings.record_max_age_days))
        removed = self._store.write(sql.prune, oldest, self._settings.record_max_rows, PRUNE_BATCH)
        if removed < PRUNE_BATCH:
            self._unpruned, self._pruned_at = 0, now

    def _warn(self, error: Exception, now: float) -> None:
        """Log, once a minute, that records are dropped."""
        if now - self._warned_at >= _SECONDS_BETWEEN_WARNINGS:
            LOG.warning(
                "Requests cannot be recorded: %s. Dropped so far: %d. [insight]record = false "
                "turns the recorder off.",
                str(error).partition("\n")[0],
                self.dropped,
            )
            self._warned_at = now


def _further(record: RecordedRequest) -> RecordedRequest:
    """Return the record without what distinguishes it from others of its reason and project."""
    parts = (record.kind, record.reason, record.project_id, record.user_id, _REPEATED)
    key = equal_key(record.created_at, *parts)
    text = json.dumps(document(sentence=_FURTHER))
    return replace(record, explanation=text, equal_key=key, query=None, claim=None, subject=None)


@dataclass(slots=True)
class _Allowance:
    """An amount that is added at a rate up to a maximum, and that can be overdrawn."""

    left: float
    at: float


class _Delayed:
    """Work that another thread does later, with a lock; one thread at most waits to do it."""

    def __init__(
        self,
        seconds: float,
        work: Callable[[], None],
        lock: threading.Lock,
        call_after: Callable[[float, Callable[[], None]], None],
    ) -> None:
        self._seconds = seconds
        self._work = work
        self._lock = lock
        self._call_after = call_after
        self._waits = threading.Lock()

    def start(self) -> None:
        """Start the thread unless one waits; if the system refuses, the next call tries again."""
        if not self._waits.acquire(blocking=False):
            return
        try:
            self._call_after(self._seconds, self._run)
        except RuntimeError as error:  # can't start new thread
            self._waits.release()
            LOG.debug("Records are written later: %s", error)

    def _run(self) -> None:
        with self._lock:
            self._waits.release()
            self._work()
