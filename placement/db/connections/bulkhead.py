"""Writes that wait for the database never occupy all threads of a process.

A write waits for a lock for a second at most; then it runs again on a connection of a small pool,
whose sessions wait for longer (``Engines.connect_writer``). If that pool is exhausted, the write
is refused, unless another write that waited was committed a moment ago, or any process has changed
the provider during the wait: then each has its turn.
For the next seconds, or until such a commit, further writes are refused at once if they lock a
provider that others wait for, and all of them while writes occupy all threads but one.

A commit takes longer than a second on some disks: all threads but one may wait for one. A commit
of PostgreSQL that waits for a synchronous standby has no limit on the server. It is canceled after
some time: it is then committed on the primary, and possibly not replicated.
"""

import threading
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Never

import sqlalchemy as sa

from placement import exception

LONGEST_COMMIT_SECONDS = 30.0
# A write that takes longer waited for others. Less than the first wait for a lock.
_LONG_SECONDS = 0.5
_RECENT_SECONDS = 3.0  # longer than two waits of a second
# Disks are as slow as this; a commit that takes longer waits for a standby or for space.
_SLOW_COMMIT_SECONDS = 2.5
_TOO_MANY = (
    "As many writes of this process wait for locks or commits as max_waiting_writes allows: see "
    "'Waiting writes' on the page 'High availability' of the documentation."
)


@dataclass(slots=True, eq=False)
class Wait:
    """The waits of one write for locks, in all its attempts.

    ``provider_ids`` are those of the providers that the current attempt locks. ``generations``
    has those that had just been changed when the last wait ended.
    """

    bulkhead: "Bulkhead"
    provider_ids: Collection[int] = ()
    generations: Mapping[int, int] = field(default_factory=dict)
    has_waited: bool = False
    is_passed_on: bool = False

    def has_ended(self, generations: Mapping[int, int]) -> bool:
        """Note that a wait has timed out; return whether it counts as an attempt.

        It does not if another write had the lock and was committed. The first wait never counts: a
        change of the provider may have been before it.
        """
        is_attempt, before = self.has_waited, self.generations
        self.has_waited, self.generations = True, generations
        self.is_passed_on = bool(generations) and generations != before
        return is_attempt and not self.is_passed_on


def before_lock(connection: sa.Connection, provider_ids: Collection[int]) -> None:
    """Note which providers a write locks on its connection.

    Raises: DatabaseUnavailable if others wait for one of them, and the lock is not passed on.
    """
    wait: Wait | None = connection.info.get("wait")
    if wait is not None:
        wait.provider_ids = provider_ids
        if not wait.has_waited:
            wait.bulkhead.check_providers(provider_ids)


@dataclass(slots=True, eq=False)
class _Commit:
    """A commit in progress, on a connection of the driver."""

    connection: Any
    began_at: float = field(default_factory=time.monotonic)
    lock: threading.Lock = field(default_factory=threading.Lock)
    has_ended: bool = False
    is_canceled: bool = False

    def cancel(self) -> None:
        """Cancel the statement until it ends; later the connection may execute another one."""
        while not self.has_ended:
            with self.lock, suppress(Exception):  # of the driver: it is canceled again
                if not self.has_ended:
                    self.is_canceled = True
                    self.connection.cancel()
            time.sleep(1)


class Bulkhead:
    """Limits the waiting writes of one process; safe to share between threads."""

    def __init__(self, places: int, cancels_commits: bool = False) -> None:
        self.places = places
        self._cancels_commits = cancels_commits
        self._most = max(1, 2 * places - 1)  # all threads but one
        self._free_commits = threading.Semaphore(self._most)
        self._lock = threading.Lock()
        self._writes = set[Wait]()
        self._refused_at = self._progressed_at = float("-inf")
        self._commits: set[_Commit] = set()
        self._is_watching = False

    @property
    def is_progressing(self) -> bool:
        """Whether a write that waited was committed a moment ago."""
        return time.monotonic() - self._progressed_at < _RECENT_SECONDS

    @property
    def _is_blocked(self) -> bool:
        is_recent = time.monotonic() - self._refused_at < _RECENT_SECONDS
        return is_recent and self._refused_at > self._progressed_at

    def refuse(self) -> Never:
        """Raise DatabaseUnavailable for a write that would wait, and refuse others a moment."""
        self._refused_at = time.monotonic()
        raise exception.DatabaseUnavailable(_TOO_MANY)

    @contextmanager
    def write(self, wait: Wait) -> Iterator[None]:
        """A context for one attempt of a write.  Raises: DatabaseUnavailable."""
        with self._lock:
            if self._is_blocked and len(self._writes) >= self._most:
                raise exception.DatabaseUnavailable(_TOO_MANY)
            self._writes.add(wait)
        began_at = time.monotonic()
        try:
            yield
            if wait.has_waited or time.monotonic() - began_at > _LONG_SECONDS:
                self._progressed_at = time.monotonic()
        finally:
            with self._lock:
                self._writes.discard(wait)

    def check_providers(self, provider_ids: Collection[int]) -> None:
        """Raise DatabaseUnavailable if writes wait for one of the providers in vain."""
        if self._is_blocked:
            with self._lock:
                awaited = set[int]().union(
                    *(wait.provider_ids for wait in self._writes if wait.has_waited)
                )
            if not awaited.isdisjoint(provider_ids):
                raise exception.DatabaseUnavailable(_TOO_MANY)

    @contextmanager
    def commit(self, connection: Any) -> Iterator[None]:
        """A context for the commit of a connection of the driver.

        Raises: DatabaseUnavailable if too many wait; CommitLost if the commit was canceled.
        """
        has_stalled = self._refused_at > self._progressed_at
        seconds = 1 if has_stalled else _SLOW_COMMIT_SECONDS
        while not self._free_commits.acquire(timeout=0 if self._is_blocked else seconds):
            if not self.is_progressing:
                self.refuse()
        commit = _Commit(connection)
        try:
            if self._cancels_commits:
                self._watch(commit)
            yield
        finally:
            with commit.lock:
                commit.has_ended = True
            with self._lock:
                self._commits.discard(commit)
            self._free_commits.release()
        if commit.is_canceled:
            raise exception.CommitLost("The commit was canceled: no synchronous standby.")

    def _watch(self, commit: _Commit) -> None:
        with self._lock:
            self._commits.add(commit)
            if not self._is_watching:
                threading.Thread(target=self._cancel_late, daemon=True).start()
                self._is_watching = True

    def _cancel_late(self) -> None:
        """Cancel late commits, until a second passes without a commit.

        Each one in a thread, because it waits for a server that does not respond.
        """
        is_watching = True
        while is_watching:
            time.sleep(1)
            began_at = time.monotonic() - LONGEST_COMMIT_SECONDS
            with self._lock:
                late = {commit for commit in self._commits if commit.began_at < began_at}
                self._commits -= late
                is_watching = self._is_watching = bool(self._commits)
            for commit in late:
                threading.Thread(target=commit.cancel, daemon=True).start()


class Background(Bulkhead):
    """The writes of a process that no request waits for; they take no place of requests.

    None is refused, and one after the other is committed.
    """

    is_progressing = True
