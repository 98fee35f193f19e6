"""Many threads that want the same answer at one time, and one that fetches it."""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Flight(Generic[T]):
    """What the fetch of this number brought: a result, or the error it ended with."""

    number: int
    result: T | None = None
    error: Exception | None = None

    def land(self) -> T:
        if self.error is not None:
            raise self.error
        return self.result  # type: ignore[return-value]


class SingleFlight(Generic[T]):
    """Fetches one thing for all that ask.

    Whoever asks gets the result of a fetch that *began* after it asked, so that
    it contains what was true then. One that is already under way may have
    looked too early; those that arrive meanwhile wait for it to end, and share
    the next. Two fetches at most are waited for, whatever the number of threads.
    """

    def __init__(self, fetch: Callable[[], T]) -> None:
        self._fetch = fetch
        self._changed = threading.Condition()
        self._begun = 0
        self._under_way = False
        self._last: _Flight[T] = _Flight(0)

    def result(self) -> T:
        """Return what a fetch that begins from now on finds, or raise what it raises."""
        with self._changed:
            wanted = self._begun + 1
            while self._last.number < wanted and self._under_way:
                self._changed.wait()
            if self._last.number >= wanted:
                return self._last.land()
            self._begun += 1
            self._under_way = True
        return self._fly(self._begun).land()

    def _fly(self, number: int) -> _Flight[T]:
        flight: _Flight[T] = _Flight(number, error=RuntimeError("the fetch was broken off"))
        try:
            flight = _Flight(number, result=self._fetch())
        except Exception as error:
            flight = _Flight(number, error=error)
        finally:
            with self._changed:
                self._last, self._under_way = flight, False
                self._changed.notify_all()
        return flight
