"""Runs operations concurrently, or with one of them paused at a chosen statement."""

import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from itertools import count

import sqlalchemy as sa

from placement import exception
from placement.tests.support.lock_waits import lock_waits
from placement.tests.support.waiting import SECONDS_TO_WAIT, wait_until

# A lock may be waited for because a transaction ends just now: this is seen twice.
SECONDS_BETWEEN_CHECKS = 0.02
# the number of runs of each race; `make stress` sets more
TIMES = int(os.environ.get("RACE_TIMES", "12"))


def at_once(*works) -> list:
    """Run all concurrently; return the result of each, or the PlacementException it raised.

    Other exceptions fail the test, and so does a Conflict, which is raised after all retries.
    """
    start = threading.Barrier(len(works))

    def run(work):
        start.wait()
        return outcome_of(work)

    with ThreadPoolExecutor(len(works)) as pool:
        return list(pool.map(run, works))


def outcome_of(work):
    try:
        return work()
    except exception.Conflict:
        raise
    except exception.PlacementException as refusal:
        return refusal


def is_refused(outcome) -> bool:
    return isinstance(outcome, exception.PlacementException)


def accepted(outcomes) -> int:
    return sum(not is_refused(outcome) for outcome in outcomes)


@contextmanager
def paused_at(store, text) -> Iterator:
    """Pause an operation before its first statement with this text, and run another one.

    The first continues when the other is done or waits for a lock.
    Yields a function that runs both and returns their outcomes.
    """
    engine = store.engines().writer
    reached, go_on, stopped_once = threading.Event(), threading.Event(), threading.Event()

    def before(_connection, _cursor, statement, _parameters, _context, _many):
        is_first = text in statement and not stopped_once.is_set()
        if threading.current_thread().name.startswith("stopped") and is_first:
            stopped_once.set()
            reached.set()
            go_on.wait(SECONDS_TO_WAIT)

    def run(stopped, other):
        with lock_waits(engine) as count_waiting:
            return run_both(stopped, other, count_waiting)

    def run_both(stopped, other, count_waiting):
        for event in (reached, go_on, stopped_once):
            event.clear()
        with (
            ThreadPoolExecutor(1, "stopped") as first,
            ThreadPoolExecutor(1, "other") as second,
        ):
            one = first.submit(outcome_of, stopped)
            assert reached.wait(SECONDS_TO_WAIT), "the statement was never sent"
            two = second.submit(outcome_of, other)
            try:
                wait_until_done_or_waiting([two], count_waiting)
            finally:
                go_on.set()
            return one.result(), two.result()

    sa.event.listen(engine, "before_cursor_execute", before)
    try:
        yield run
    finally:
        sa.event.remove(engine, "before_cursor_execute", before)


def wait_until_done_or_waiting(
    operations: Sequence[Future], count_waiting: Callable[[], int]
) -> None:
    """Return when each operation is done, or waits for a lock."""

    def are_done_or_waiting() -> bool:
        count = count_waiting()  # first: an operation that waits now may be done afterwards
        return count >= sum(not each.done() for each in operations)

    def are_still() -> bool:
        if not are_done_or_waiting():
            return False
        time.sleep(SECONDS_BETWEEN_CHECKS)
        return are_done_or_waiting()

    wait_until(are_still, pause_seconds=0.005)


@contextmanager
def run_before(store, *steps, is_optional: bool = False) -> Iterator[list]:
    """Run an operation before the next statement with its text, for each of the steps in order.

    The statement waits until the operation is done, or waits for a lock. Several steps may have
    the same statement. Yields a list that has the outcomes at the end. Steps whose statements are
    never sent fail the test, unless that is correct (``is_optional``).
    """
    engine, waiting, outcomes = store.engines().writer, list(steps), []
    own, started = threading.current_thread(), []

    def before(_connection, _cursor, statement, _parameters, _context, _many):
        is_own = threading.current_thread() is own
        while is_own and waiting and waiting[0][0] in statement:
            _text, work = waiting.pop(0)
            started.append(pool.submit(outcome_of, work))
            wait_until_done_or_waiting(started, count_waiting)

    sa.event.listen(engine, "before_cursor_execute", before)
    try:
        with lock_waits(engine) as count_waiting, ThreadPoolExecutor(len(steps)) as pool:
            yield outcomes
    finally:
        sa.event.remove(engine, "before_cursor_execute", before)
    assert is_optional or not waiting, "a statement was never sent"
    outcomes += [each.result() for each in started]


@contextmanager
def executed_before(store, number: int, text: str) -> Iterator[list[str]]:
    """Execute SQL before a statement of a write, by its number from 0; yield what was executed."""
    engine, numbers, executed = store.engines().writer, count(), []

    def before(_connection, cursor, _statement, _parameters, _context, _many):
        if next(numbers) == number:
            cursor.execute(text)
            executed.append(text)

    sa.event.listen(engine, "before_cursor_execute", before)
    yield executed
    sa.event.remove(engine, "before_cursor_execute", before)
