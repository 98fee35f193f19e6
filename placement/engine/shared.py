"""Slow computations that concurrent requests share."""

import sys
import threading
import time
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar, cast

from placement.exception import TooManyComputations

T = TypeVar("T")

_MOST_CALLERS: Final = 4
"""Of unlike computations. A process has 8 threads or more: the others serve short requests."""

_SWITCH_SECONDS: Final = 0.0005
_SWITCH_SECONDS_OF_PROCESS: Final = sys.getswitchinterval()


@dataclass(slots=True)
class SharedRuns:
    """Runs one computation at a time, and shares it.

    Callers that wait get the result of the run that they waited for, if it has the same key. The
    result may be older than the call: it says its time.
    """

    _running: threading.Lock = field(default_factory=threading.Lock)
    _callers: threading.Semaphore = field(
        default_factory=lambda: threading.Semaphore(_MOST_CALLERS)
    )
    _last: tuple[Hashable, float, Any] = (None, float("-inf"), None)

    def result(self, key: Hashable, compute: Callable[[], T]) -> T:
        """Return the result of ``compute``, or of an equal run that ended after the call."""
        called_at = time.monotonic()
        with self._running, _other_threads_first():
            last_key, ended_at, last = self._last
            if last_key == key and ended_at >= called_at:
                return cast("T", last)
            result = compute()
            self._last = key, time.monotonic(), result
            return result

    def result_for_few(self, key: Hashable, compute: Callable[[], T]) -> T:
        """Return what ``result`` returns; while a few callers of this method wait, refuse others.

        It is for computations that differ from request to request: each waits for all others.

        Raises: TooManyComputations.
        """
        if not self._callers.acquire(blocking=False):
            raise TooManyComputations(_MOST_CALLERS)
        try:
            return self.result(key, compute)
        finally:
            self._callers.release()


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
