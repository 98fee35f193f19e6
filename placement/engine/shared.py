"""Limits of slow requests: few threads serve them, and computations give way to short requests."""

import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar, cast

from placement.exception import TooManySlowRequests

T = TypeVar("T")

_MOST_THREADS: Final = 6
"""For slow requests, of the 8 threads that a process has at least."""
_MOST_CALLERS: Final = 4
"""Of unlike computations, which wait for each other."""

_MOST_WAITING: Final = 5
"""The most time that a request takes, as a multiple of its budget of CPU time."""

_PIECE_SECONDS: Final = 0.0005
_PAUSE_SECONDS: Final = 0.0002
_MOST_CREDIT_SECONDS: Final = 0.02
_ITEMS: Final = 64

_SWITCH_SECONDS: Final = 0.0005
_SWITCH_SECONDS_OF_PROCESS: Final = sys.getswitchinterval()


def request_clock() -> Callable[[], float]:
    """Return a clock, in seconds, of the CPU time of this thread, for the budget of a computation.

    If the machine is busy, the thread waits for its turn, and this is not the cost of the request.
    The clock nevertheless advances by a fifth of the time that passes, so that every computation
    ends. It is read by the thread that computes.
    """
    cpu, wall = time.thread_time(), time.monotonic()

    def now() -> float:
        return max(time.thread_time() - cpu, (time.monotonic() - wall) / _MOST_WAITING)

    return now


class Place:
    """One of few places. Calling it gives the place back, and so does dropping it."""

    def __init__(self, places: deque[None]) -> None:
        self._places: deque[None] | None = places

    def __call__(self) -> None:
        """Give the place back, unless this was called before."""
        places, self._places = self._places, None
        if places is not None:
            places.append(None)

    __del__ = __call__


class ThreadLimit:
    """Lets few threads serve slow requests, until their responses were sent or dropped.

    The places need no lock, which a finalizer could try to take twice: appending to a deque and
    removing from it are atomic.
    """

    def __init__(self, most: int = _MOST_THREADS) -> None:
        self._most = most
        self._places = deque[None]([None] * most)

    def take(self) -> Place:
        """Return a place at once.  Raises: TooManySlowRequests if there is none."""
        try:
            self._places.pop()
        except IndexError:
            raise TooManySlowRequests(self._most) from None
        return Place(self._places)


class ShortRequests:
    """The threads with a request, without those that compute or wait in ``SharedRuns``.

    A computation calls ``give_way`` between pieces of its work, and waits until there are no such
    threads: the interpreter runs one thread at a time. It may wait as long as it has worked, so it
    takes at most twice as long.
    """

    def __init__(
        self,
        now: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._now = now
        self._sleep = sleep
        self._threads: set[int] = set()
        self._worked_from, self._credit = now(), 0.0

    @contextmanager
    def counted(self) -> Iterator[None]:
        """Count this thread."""
        thread = threading.get_ident()
        self._threads.add(thread)
        try:
            yield
        finally:
            self._threads.discard(thread)

    @contextmanager
    def not_counted(self) -> Iterator[None]:
        """Do not count this thread, which may have no request."""
        thread = threading.get_ident()
        has_request = thread in self._threads
        self._threads.discard(thread)
        try:
            yield
        finally:
            if has_request:
                self._threads.add(thread)

    def give_way(self) -> None:
        """Wait for the other threads if a piece of work has been done."""
        now = self._now()
        worked = now - self._worked_from
        if worked < _PIECE_SECONDS:
            return
        self._credit = min(self._credit + worked, _MOST_CREDIT_SECONDS)
        end = now + self._credit
        self._sleep(0)  # lets a request begin
        while self._threads and self._now() < end:
            self._sleep(_PAUSE_SECONDS)
        self._worked_from = self._now()
        self._credit = max(end - self._worked_from, 0.0)

    def paced(self, items: Iterable[T]) -> Iterator[T]:
        """Yield the items, and give way before every 64th."""
        for number, item in enumerate(items):
            if number % _ITEMS == 0:
                self.give_way()
            yield item


@dataclass(slots=True)
class SharedRuns:
    """Runs one computation at a time, and shares it.

    Callers that wait get the result of the run that they waited for, if it has the same key. The
    result may be older than the call: it says its time.
    """

    short_requests: ShortRequests = field(default_factory=ShortRequests)
    _running: threading.Lock = field(default_factory=threading.Lock)
    _callers: ThreadLimit = field(default_factory=lambda: ThreadLimit(_MOST_CALLERS))
    _last: tuple[Hashable, float, Any] = (None, float("-inf"), None)

    def result(self, key: Hashable, compute: Callable[[], T]) -> T:
        """Return the result of ``compute``, or of an equal run that ended after the call."""
        called_at = time.monotonic()
        with self.short_requests.not_counted(), self._running, _other_threads_first():
            last_key, ended_at, last = self._last
            if last_key == key and ended_at >= called_at:
                return cast("T", last)
            result = compute()
            self._last = key, time.monotonic(), result
            return result

    def result_for_few(self, key: Hashable, compute: Callable[[], T]) -> T:
        """Return what ``result`` returns; while a few callers of this method wait, refuse others.

        It is for computations that differ from request to request: each waits for all others.

        Raises: TooManySlowRequests.
        """
        give_back = self._callers.take()
        try:
            return self.result(key, compute)
        finally:
            give_back()


@contextmanager
def _other_threads_first() -> Iterator[None]:
    """Let other threads continue after 0.5 ms instead of 5 ms of this thread.

    A short request waits this long for the interpreter after each round trip to the database.
    """
    sys.setswitchinterval(_SWITCH_SECONDS)
    try:
        yield
    finally:
        sys.setswitchinterval(_SWITCH_SECONDS_OF_PROCESS)
