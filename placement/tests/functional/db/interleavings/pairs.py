"""Compares interleavings of two operations with all serial orders of their steps."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import replace
from functools import partial
from itertools import count
from random import randrange

from placement.db import clocks
from placement.db.store import Store
from placement.engine.engine import View, load
from placement.tests.functional.db.interleavings.kinds import KINDS, Kinds, World
from placement.tests.functional.db.interleavings.scheduler import Scheduler, Step, Stop, scheduler
from placement.tests.functional.db.interleavings.stored import StoredRows, values, wrong_counters
from placement.tests.support.races import executed_before, outcome_of
from placement.tests.support.snapshots import assert_exact

Result = tuple[list[str], list[str], dict[str, list[str]]]
"""The outcomes of both operations, and the rows in the end."""

_NAMES = "CUSTOM_OLD", "CUSTOM_NEW"
_RENAME = "UPDATE resource_classes SET name = '{1}' WHERE name = '{0}'"


class Pairs:
    """Runs pairs of operations of one world; each run begins with the same rows."""

    def __init__(
        self, stores: Sequence[Store], scheduler: Scheduler, rows: StoredRows, kinds: Kinds
    ) -> None:
        self.interleavings = self.comparisons = 0
        self._stores, self._scheduler, self._rows = stores, scheduler, rows
        self._kinds = kinds
        self._world = World(stores[0])
        self._before = rows.read()
        with stores[-1].read() as tx:
            self._loaded = load(tx)
        self._serial: dict[tuple[str, ...], list[Result]] = {}

    def steps(self, kind: str, store: Store) -> list[Step]:
        world = copy(self._world)  # an operation knows its entries of an undo file by its world
        return [partial(step, world, store) for step in self._kinds[kind]]

    def failures(
        self,
        first: str,
        second: str,
        second_stop: Callable[[], int | None] = lambda: None,
        *,
        every: int = 1,
    ) -> list[str]:
        """Return the failures of one interleaving for each statement of the first operation.

        The second one runs to its end, or to the statement that ``second_stop`` returns. Of the
        statements, each n-th is tried, from a random one on.
        """
        found: list[str] = []
        number = 1 + randrange(every)
        while True:
            failure, has_stopped = self.run(first, second, Stop(number, second_stop()))
            if not has_stopped:
                return found
            found += failure
            number += every

    def run(self, first: str, second: str, stop: Stop) -> tuple[list[str], bool]:
        """Return the failures of one interleaving, and whether the first operation stopped."""
        serial = self.serial(first, second)
        self._rows.restore(self._before)
        store = self._stores[-1]
        with store.read() as tx:
            updated = kept = replace(self._loaded, clocks=clocks.values(tx.connection))

        def advance(*others: View) -> None:
            nonlocal updated
            with store.read() as tx:
                updated, *_ = assert_exact(tx, updated, *others)

        steps = self.steps(first, self._stores[0]), self.steps(second, store)
        one, two = self._scheduler.run(*steps, stop, advance)
        self.interleavings += one.has_stopped
        self.comparisons += 2
        advance(kept)
        rows = self._rows.read()
        result = _texts(one.outcomes()), _texts(two.outcomes()), values(rows)
        wrong = wrong_counters(rows)
        place = (
            f"{first} stopped before statement {stop.first} ({_statement(one.statements, stop)}) "
            f"and {second} ran in between, to its statement {stop.second}"
        )
        found = [f"{place}: wrong counters {wrong}"] if wrong else []
        if result not in serial:
            found.append(f"{place}: {_difference(result, serial)}")
        return found, one.has_stopped

    def alone(self, kind: str) -> tuple[list[object], bool]:
        """Return the outcomes of one operation that nothing interrupts, and whether rows changed.

        A snapshot that is advanced after each step, or after all, must equal a new one.
        """
        self._rows.restore(self._before)
        store = self._stores[-1]
        with store.read() as tx:
            updated = kept = replace(self._loaded, clocks=clocks.values(tx.connection))
        outcomes = []
        for step in self.steps(kind, self._stores[0]):
            outcomes.append(outcome_of(step))
            with store.read() as tx:
                updated, _ = assert_exact(tx, updated, kept)
        rows = self._rows.read()
        assert not wrong_counters(rows)
        return outcomes, values(rows) != values(self._before)

    def renamed(self, kind: str) -> list[str]:
        """Return the failures of one operation in which a class is renamed before a statement.

        The operation itself renames it, because SQLite has one writer at a time. The results must
        be those of a rename before the operation, or of none.
        """
        store, results = self._stores[0], list[Result]()
        for number in count():
            self._rows.restore(self._before)
            with executed_before(store, number, _RENAME.format(*_NAMES)) as executed:
                outcomes = [outcome_of(step) for step in self.steps(kind, store)]
            with store.engines().writer.begin() as connection:
                connection.exec_driver_sql(_RENAME.format(*reversed(_NAMES)))
            results.append((_texts(outcomes), [], values(self._rows.read())))
            if not executed:
                break
        serial = results[0], results[-1]
        return [
            f"{kind}, and a rename before statement {number}: {_difference(each, serial)}"
            for number, each in enumerate(results)
            if each not in serial
        ]

    def serial(self, first: str, second: str) -> list[Result]:
        """Return the results of all orders of the steps."""
        if (first, second) not in self._serial:
            steps = self.steps(first, self._stores[0]), self.steps(second, self._stores[0])
            found = [self._in_order(order, steps) for order in _merges(*map(len, steps))]
            self._serial[first, second] = found
            self._serial[second, first] = [(two, one, rows) for one, two, rows in found]
        return self._serial[first, second]

    def _in_order(self, order: Sequence[int], steps: tuple[list[Step], list[Step]]) -> Result:
        self._rows.restore(self._before)
        remaining, outcomes = [iter(each) for each in steps], ([], [])
        for operation in order:
            outcomes[operation].append(outcome_of(next(remaining[operation])))
        rows = self._rows.read()
        assert not wrong_counters(rows)
        return _texts(outcomes[0]), _texts(outcomes[1]), values(rows)


@contextmanager
def pairs(*stores: Store, kinds: Kinds = KINDS) -> Iterator[Pairs]:
    rows = StoredRows(stores[-1])
    try:
        with scheduler(*stores) as scheduled:
            yield Pairs(stores, scheduled, rows, kinds)
    finally:
        rows.close()


def _merges(first: int, second: int) -> Iterator[tuple[int, ...]]:
    """Yield the orders of numbers of steps.

    >>> list(_merges(1, 2))
    [(0, 1, 1), (1, 0, 1), (1, 1, 0)]
    """
    if not first or not second:
        yield (0,) * first + (1,) * second
        return
    for order in _merges(first - 1, second):
        yield (0, *order)
    for order in _merges(first, second - 1):
        yield (1, *order)


def _texts(outcomes: Sequence[object]) -> list[str]:
    """Return the outcomes without what is stored, which is compared by itself, and times."""
    return [
        repr(each) if isinstance(each, str | int | None) else type(each).__name__
        for each in outcomes
    ]


def _statement(statements: Sequence[str], stop: Stop) -> str:
    return statements[stop.first][:60] if stop.first < len(statements) else "none"


def _difference(result: Result, serial: Sequence[Result]) -> str:
    """Return how a result differs from each serial result."""
    texts = []
    for other in serial:
        lines = [f"outcomes {result[:2]}, not {other[:2]}"] if result[:2] != other[:2] else []
        for table, rows in result[2].items():
            more, less = set(rows) - set(other[2][table]), set(other[2][table]) - set(rows)
            lines += [f"{table}: + {sorted(more)} - {sorted(less)}"] if more or less else []
        texts.append("; ".join(lines))
    return "\n   or ".join(texts)
