"""Writes the records of requests without candidates and refused claims.

Writes are bounded in number, age and rate, and never delay the response. One thread of a process
writes at a time. If another thread is writing, that thread writes the record, so that a slow
database delays at most one thread. A record that the database refuses is dropped alone. After any
other failure, writes pause for some seconds, and the records of this time are dropped.
"""

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from placement import exception
from placement.db.store import Store
from placement.insight.recording import sql
from placement.insight.recording.model import RecordedRequest, first_id

LOG = logging.getLogger(__name__)

PRUNE_AFTER_ROWS: Final = 50
"""The number of rows that a process adds before it prunes."""
PRUNE_BATCH: Final = 100
"""The number of rows that one transaction removes."""

_PRUNE_AFTER_SECONDS = 600.0
_PAUSE_SECONDS = 10.0
_REPEATED_AFTER_SECONDS = 3600.0
_MOST_SEEN = 1000
_SECONDS_BETWEEN_WARNINGS = 60.0
_MOST_WAITING = 100
_ATTEMPTS = 3
_CPU_OF_EXPLANATIONS = 0.05  # seconds of CPU time per second
_MOST_CPU_AT_ONCE = 0.5


@dataclass(frozen=True, slots=True)
class RecorderSettings:
    """The options of [insight] that begin with ``record``."""

    enabled: bool = True
    max_rows: int = 10_000
    max_age_days: int = 30
    per_second: int = 5


class Recorder:
    """The recorder of one process; safe to share between threads."""

    def __init__(
        self,
        store: Store,
        settings: RecorderSettings,
        clock: Callable[[], float] = time.monotonic,
        thread_time: Callable[[], float] = time.thread_time,
    ) -> None:
        self.is_enabled = settings.enabled
        self.dropped = 0  # records that could not be written
        self._settings = settings
        self._store = store.with_max_attempts(_ATTEMPTS)
        self._clock = clock
        self._thread_time = thread_time
        self._writing = threading.Lock()
        self._waiting: deque[RecordedRequest] = deque(maxlen=_MOST_WAITING)
        self._unpruned = PRUNE_AFTER_ROWS  # a process that starts prunes with its first row
        self._pruned_at = 0.0
        self._paused_until = self._warned_at = float("-inf")
        self._counting = threading.Lock()
        self._records: dict[str, _Allowance] = {}
        self._explanations: dict[str, _Allowance] = {}
        self._seen: dict[str, float] = {}

    def admits(self, kind: str) -> bool:
        """Count a record of this kind if the rate allows it; return whether it does."""
        now, rate = self._clock(), self._settings.per_second
        with self._counting:
            allowance = self._records.setdefault(kind, _Allowance(rate, rate, now))
            if allowance.left(now) < 1:
                return False
            allowance.take(1)
            return True

    @contextmanager
    def explanation(self, kind: str) -> Iterator[bool]:
        """A context for one explanation; yields whether the rate and the CPU time allow it.

        The explanations of a kind take at most a twentieth of a processor in a process, except
        half a second at once.
        """
        now = self._clock()
        with self._counting:
            new = _Allowance(_CPU_OF_EXPLANATIONS, _MOST_CPU_AT_ONCE, now)
            allowance = self._explanations.setdefault(kind, new)
            has_time = allowance.left(now) > 0
        if not (has_time and self.admits(kind)):
            yield False
            return
        start = self._thread_time()
        try:
            yield True
        finally:
            with self._counting:
                allowance.take(self._thread_time() - start)

    def is_new(self, key: str) -> bool:
        """Return whether this process did not see the key in the last hour.

        Requests that clients repeat every minute are recorded once, so that they do not displace
        other records.
        """
        now = self._clock()
        with self._counting:
            if now - self._seen.get(key, float("-inf")) < _REPEATED_AFTER_SECONDS:
                return False
            if len(self._seen) >= _MOST_SEEN:
                self._seen = {}
            self._seen[key] = now
            return True

    def provider_names(self, uuids: Iterable[str]) -> Mapping[str, str]:
        """Return the names of providers by UUID, none if they cannot be read.  Never raises."""
        try:
            return sql.provider_names(self._store, uuids)
        except Exception:  # a line without names is better than none
            return {}

    def record(self, record: RecordedRequest) -> None:
        """Write the record, queue it for the writing thread, or drop it.  Never raises."""
        if not self.is_enabled:
            return
        if self._clock() < self._paused_until:
            self.dropped += 1
            return
        if len(self._waiting) == _MOST_WAITING:
            self.dropped += 1  # the oldest
        self._waiting.append(record)
        while self._waiting and self._writing.acquire(blocking=False):
            try:
                self._write()
            finally:
                self._writing.release()

    def _write(self) -> None:
        records = [self._waiting.popleft() for _ in range(len(self._waiting))]
        try:
            self._insert(records)
            records = []
            self._prune(self._clock())
        except Exception as error:  # a failure of the recorder must not fail the request
            self._paused_until = self._clock() + _PAUSE_SECONDS
            self.dropped += len(records) + len(self._waiting)
            self._waiting.clear()
            self._warn(error, self._clock())

    def _insert(self, records: list[RecordedRequest]) -> None:
        """Insert the records; one that the database cannot store is dropped, without the others.

        No text is known to be refused, but the character set of a table may be any.
        """
        try:
            self._unpruned += self._store.write(sql.insert, records)
        except exception.BadRequest as error:
            if len(records) > 1:
                for record in records:
                    self._insert([record])
            else:
                self.dropped += 1
                self._warn(error, self._clock())

    def _prune(self, now: float) -> None:
        """Remove a batch of rows that are too old or in excess, after enough rows or time.

        If more rows remain, the next write removes the next batch.
        """
        has_passed = now - self._pruned_at >= _PRUNE_AFTER_SECONDS
        if self._unpruned < PRUNE_AFTER_ROWS and not has_passed:
            return
        oldest = first_id(datetime.now(UTC) - timedelta(days=self._settings.max_age_days))
        removed = self._store.write(sql.prune, oldest, self._settings.max_rows, PRUNE_BATCH)
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


class _Allowance:
    """An amount that is added at a rate up to a maximum, and that can be overdrawn."""

    def __init__(self, per_second: float, most: float, now: float) -> None:
        self._per_second = per_second
        self._most = self._left = most
        self._at = now

    def left(self, now: float) -> float:
        """Return the amount of this time."""
        self._left = min(self._most, self._left + (now - self._at) * self._per_second)
        self._at = now
        return self._left

    def take(self, amount: float) -> None:
        """Subtract an amount."""
        self._left -= amount
