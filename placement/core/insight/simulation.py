"""Claims made on a snapshot, one after another, where no closed form counts them.

Each root takes the first candidate that the search would offer around it, as often as it fits,
then the next one, until the search has none. That is done in rounds, for all roots at once: a
round finds the domains once and, for each root that still has a candidate, one solution, which
equal roots share.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from placement.core.search.anchors import find_anchors
from placement.core.search.deadline import Deadline
from placement.core.search.filters import find_domains
from placement.core.search.plan import SearchPlan
from placement.core.search.problem import Assignment, Problem
from placement.core.search.problem_builder import Block, ProblemBuilder
from placement.core.search.solver import solve
from placement.core.snapshot.columns import Column
from placement.core.snapshot.rows import Amounts, numbers
from placement.core.snapshot.snapshot import Snapshot
from placement.exception import SearchDeadlineExceeded

Taken = Mapping[tuple[str, int], int]
"""Amounts by class and row."""


@dataclass(slots=True)
class Simulation:
    """How many claims each root took, by row; ``is_finished`` unless the deadline passed.

    ``fitting`` are the roots around which there was a candidate at the beginning.
    """

    claims: dict[int, int] = field(default_factory=lambda: defaultdict(int))
    fitting: set[int] = field(default_factory=set)
    is_finished: bool = False


def simulate(snapshot: Snapshot, plan: SearchPlan, deadline: Deadline) -> Simulation:
    """Return the claims that roots take which do not serve the request as lone providers."""
    outcome = Simulation()
    try:
        while True:
            deadline.check()
            this_round = _Round(snapshot, plan, deadline)
            is_first = not outcome.claims
            for anchor, count in this_round.claims():
                outcome.claims[anchor] += count
                if is_first:
                    outcome.fitting.add(anchor)
            if not this_round.taken:
                break
            snapshot = _after(snapshot, this_round.taken)
    except SearchDeadlineExceeded:
        return outcome
    outcome.is_finished = True
    return outcome


class _Round:
    """One solution for each root, taken as often as it fits."""

    def __init__(self, snapshot: Snapshot, plan: SearchPlan, deadline: Deadline) -> None:
        domains = find_domains(snapshot, plan, deadline)
        anchors = find_anchors(snapshot, plan, domains, deadline)
        self._anchors = [*anchors.general.tolist(), *anchors.shared_only.tolist()]
        self._builder = ProblemBuilder(snapshot, plan, domains)
        self._snapshot, self._plan, self._deadline = snapshot, plan, deadline
        self._first: dict[Problem, Assignment | None] = {}
        self._free: dict[str, Amounts] = {}
        self.taken: defaultdict[tuple[str, int], int] = defaultdict(int)

    def claims(self) -> Iterator[tuple[int, int]]:
        """Yield the roots that have a candidate, and how often they took it: 0 if others did."""
        for block in self._builder.blocks(self._anchors):
            for number, anchor in enumerate(block.anchors):
                self._deadline.tick()
                amounts = self._amounts(block, number)
                if amounts is not None:
                    yield anchor, self._take(amounts)

    def _amounts(self, block: Block, number: int) -> Taken | None:
        """Return what one claim takes, None if there is no candidate."""
        for problem, start in block.parts_of(number):
            assignment = self._solution(problem)
            if assignment is None:
                continue
            amounts: defaultdict[tuple[str, int], int] = defaultdict(int)
            for slot, option in zip(self._plan.slots, assignment, strict=True):
                row = block.rows.item(start + option) if option >= 0 else ~option
                for name, amount in slot.resources:
                    amounts[name, row] += amount
            return amounts
        return None

    def _solution(self, problem: Problem) -> Assignment | None:
        if problem not in self._first:
            self._first[problem] = next(solve(self._plan, problem, self._deadline), None)
        return self._first[problem]

    def _take(self, amounts: Taken) -> int:
        left = min(
            (self._left(name, row) // amount for (name, row), amount in amounts.items()), default=0
        )
        for key, amount in amounts.items() if left else ():
            self.taken[key] += left * amount
        return left

    def _left(self, name: str, row: int) -> int:
        if name not in self._free:
            self._free[name] = free_by_row(self._snapshot, name)
        return self._free[name].item(row) - self.taken.get((name, row), 0)


def free_by_row(snapshot: Snapshot, name: str) -> Amounts:
    """Return what is free of a class in each row, 0 without inventory."""
    dense = np.zeros(snapshot.size, dtype=np.int64)
    column = snapshot.columns.get(name)
    if column is not None:
        dense[column.rows] = column.free
    return dense


def _after(snapshot: Snapshot, taken: Taken) -> Snapshot:
    """Return the snapshot as the search sees it after the claims: only columns differ."""
    by_class: defaultdict[str, dict[int, int]] = defaultdict(dict)
    for (name, row), amount in taken.items():
        by_class[name][row] = amount
    changed = {
        name: _reduced(snapshot.columns[name], amounts) for name, amounts in by_class.items()
    }
    return replace(snapshot, columns={**snapshot.columns, **changed})


def _reduced(column: Column, amounts: Mapping[int, int]) -> Column:
    """Return the column after amounts, by row, were allocated; each was free."""
    at = np.searchsorted(column.rows, numbers(amounts))
    free, allocatable = column.free.copy(), column.allocatable.copy()
    free[at] -= np.fromiter(amounts.values(), dtype=np.int64)
    allocatable[at] = np.minimum(free[at], column.max_unit[at])
    return replace(column, free=free, allocatable=allocatable)
