"""Runs two operations with chosen interleavings of their statements.

An operation is a list of steps, each with a transaction of its own, which run in one thread. It
stops before the statement with a chosen number; COMMIT counts as a statement. A stopped operation
keeps its locks: the other operation runs until it is done, stops, or waits for one of them.
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from placement.db.store import Store
from placement.tests.support.lock_waits import lock_waits
from placement.tests.support.races import SECONDS_BETWEEN_CHECKS, outcome_of
from placement.tests.support.waiting import SECONDS_TO_WAIT, wait_until

Step = Callable[[], object]
SECONDS_OF_A_WRITE = 0.01  # one that takes longer possibly waits for a lock


@dataclass(frozen=True)
class Stop:
    """Where the first operation stops, and the second one in the time of the first; or nowhere."""

    first: int
    second: int | None = None


class Operation:
    """Steps in a thread, which stops before the statement with a number."""

    def __init__(self, steps: Sequence[Step], stop: int | None = None) -> None:
        self.statements: list[str] = []
        self.has_stopped = False
        self._steps, self._stop = steps, stop
        self._is_still, self._continues = threading.Event(), threading.Event()

    def start(self, pool: ThreadPoolExecutor) -> None:
        self._future: Future[list[object]] = pool.submit(self._run)

    def _run(self) -> list[object]:
        _running.operation = self
        try:
            return [outcome_of(step) for step in self._steps]
        finally:
            _running.operation = None
            self._is_still.set()

    def reach(self, statement: str) -> None:
        """Stop if the statement has the number."""
        if len(self.statements) == self._stop and not self.has_stopped:
            self.has_stopped = True
            self._is_still.set()
            assert self._continues.wait(SECONDS_TO_WAIT)
        self.statements.append(statement)

    def go_on(self) -> None:
        if not self._future.done():
            self._is_still.clear()
        self._continues.set()

    def wait_until_still(self, count_waiting: Callable[[], int]) -> None:
        """Return when the operation is done, has stopped, or waits for a lock of the other one."""

        def is_still() -> bool:
            if self._future.done() or self._is_still.wait(SECONDS_OF_A_WRITE):
                return True
            return count_waiting() > 0 and (
                self._is_still.wait(SECONDS_BETWEEN_CHECKS) or count_waiting() > 0
            )

        wait_until(is_still, pause_seconds=0)

    def outcomes(self) -> list[object]:
        return self._future.result(SECONDS_TO_WAIT)


class _Running(threading.local):
    operation: Operation | None = None


_running = _Running()


class Scheduler:
    """Runs operations of which one stops."""

    def __init__(self, pool: ThreadPoolExecutor, counts: Sequence[Callable[[], int]]) -> None:
        self._pool, self._counts = pool, counts

    def _count_waiting(self) -> int:
        return sum(count() for count in self._counts)

    def run(
        self,
        first: Sequence[Step],
        second: Sequence[Step],
        stop: Stop,
        meanwhile: Callable[[], object] = lambda: None,
    ) -> tuple[Operation, Operation]:
        """Run the first operation to its stop, the second one, and both to their ends.

        ``meanwhile`` is called after the second one has run as far as it can.
        """
        one, two = Operation(first, stop.first), Operation(second, stop.second)
        one.start(self._pool)
        try:
            one.wait_until_still(lambda: 0)
            two.start(self._pool)
            two.wait_until_still(self._count_waiting)
            meanwhile()
            one.go_on()
            one.wait_until_still(self._count_waiting)
        finally:
            one.go_on()
            two.go_on()
        one.outcomes(), two.outcomes()
        return one, two


@contextmanager
def scheduler(*stores: Store) -> Iterator[Scheduler]:
    """A scheduler of operations on stores: one, or one for each node of a cluster."""
    listeners = {"before_cursor_execute": _before_statement, "commit": _before_commit}
    with ExitStack() as stack:
        counts = []
        for store in stores:
            engines = store.engines()
            counts.append(stack.enter_context(lock_waits(engines.writer)))
            for engine in {engines.writer, engines.reader}:
                for event, listener in listeners.items():
                    sa.event.listen(engine, event, listener)
                    stack.callback(sa.event.remove, engine, event, listener)
        yield Scheduler(stack.enter_context(ThreadPoolExecutor(2)), counts)


def _before_statement(_connection: object, _cursor: object, statement: str, *_: Any) -> None:
    if _running.operation is not None:
        _running.operation.reach(statement)


def _before_commit(_connection: object) -> None:
    if _running.operation is not None:
        _running.operation.reach("COMMIT")
