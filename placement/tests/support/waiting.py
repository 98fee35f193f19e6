"""Waits for conditions, and measures stalls of a busy machine.

A test waits for a condition, not for a time. Only a test that fails waits for all of the limit.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Self

SECONDS_TO_WAIT = 60
SECONDS_OF_COMMANDS = 240
"""The limit of a command and of the start of a server, which use the processor and do not wait."""

TICK_SECONDS = 0.05


def wait_until(
    condition: Callable[[], object],
    seconds: float = SECONDS_TO_WAIT,
    *,
    pause_seconds: float = 0.02,
    message: Callable[[], object] = lambda: "the condition does not hold in time",
) -> None:
    """Return when the condition holds.  Raises: AssertionError after ``seconds``."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, message()
        time.sleep(pause_seconds)


class Stalls:
    """Measures in a thread how long this process does not run although it could.

    A limit of time is for the time that the code waits; that of the machine is subtracted.
    """

    def __init__(self) -> None:
        self._late: list[tuple[float, float]] = []  # when it should have run, and when it ran
        self._is_ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._is_ended.set()
        self._thread.join()

    def _run(self) -> None:
        due = time.monotonic() + TICK_SECONDS
        while not self._is_ended.wait(max(0.0, due - time.monotonic())):
            now = time.monotonic()
            self._late.append((due, now))
            due = now + TICK_SECONDS

    def seconds(self, since: float, until: float) -> float:
        """Return the length of all stalls of which a part was between two moments."""
        return sum(ran - due for due, ran in self._late if due < until and ran > since)


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Run the block.  Raises: AssertionError if it takes longer, without the machine's stalls."""
    with Stalls() as stalls:
        began = time.monotonic()
        yield
        ended = time.monotonic()
    assert ended - began - stalls.seconds(began, ended) < seconds
