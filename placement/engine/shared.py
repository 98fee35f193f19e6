"""Slow computations that concurrent requests share."""

import threading
import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class SharedRuns:
    """Runs one computation at a time.

    Callers that wait get the result of the run that they waited for, if it has the same key. The
    result may be older than the call: it says its time.
    """

    _running: threading.Lock = field(default_factory=threading.Lock)
    _last: tuple[Hashable, float, Any] = (None, float("-inf"), None)

    def result(self, key: Hashable, compute: Callable[[], Any]) -> Any:
        """Return the result of ``compute``, or of an equal run that ended after the call."""
        called_at = time.monotonic()
        with self._running:
            last_key, ended_at, result = self._last
            if last_key != key or ended_at < called_at:
                result = compute()
                self._last = key, time.monotonic(), result
            return result
