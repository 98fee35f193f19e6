"""One fetch for many threads that need the same result at the same time."""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

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
