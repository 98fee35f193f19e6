"""At which roots a plan has a solution.

Cheap bounds over all trees come first: a tree whose providers have less left than all slots want
together needs no solver. What they leave is solved problem by problem.
"""

from collections.abc import Sequence
from functools import reduce

import numpy as np

from placement.core.search.anchors import (
    anchors_by_kind,
    narrow_all,
    possible_anchors,
    reach_abroad,
)
from placement.core.search.deadline import Budget
from placement.core.search.filters import Served
from placement.core.search.plan import Plan
from placement.core.search.problem import Problem
from placement.core.search.problem_builder import ProblemBuilder
from placement.core.search.solver import solve
from placement.core.snapshot.rows import Mask, mask_of
from placement.core.snapshot.snapshot import Snapshot


class Feasibility:
    """Answers for one snapshot, within one budget."""

    def __init__(self, snapshot: Snapshot, budget: Budget) -> None:
        self._snapshot = snapshot
        self._budget = budget

    def roots(self, plan: Plan, among: Mask | None = None) -> Mask:
        """Return the roots, of some, around which the plan has a solution.

        Raises: SearchDeadlineExceeded.
        """
        self._budget.look()
        served = narrow_all(self._snapshot, plan)
        possible = possible_anchors(self._snapshot, plan, served)
        if among is not None:
            possible = possible & among
        if not possible.any():
            return possible
        possible = possible & ~self._hopeless(plan, served)
        anchors = anchors_by_kind(self._snapshot, plan, served, possible)
        fitting = mask_of(anchors.lone.astype(np.int32), self._snapshot.size)
        others = [*anchors.mixed.tolist(), *anchors.shared.tolist()]
        fitting[self._solvable(plan, served, others)] = True
        return fitting

    def _solvable(self, plan: Plan, served: Sequence[Served], anchors: list[int]) -> list[int]:
        builder = ProblemBuilder(self._snapshot, plan, served)
        known: dict[Problem, bool] = {}
        found = []
        for anchor in anchors:
            self._budget.spend()
            problem = builder.problem(anchor)
            if problem not in known:
                known[problem] = next(solve(plan, problem, self._budget), None) is not None
            if known[problem]:
                found.append(anchor)
        return found

    # --- bounds

    def _hopeless(self, plan: Plan, served: Sequence[Served]) -> Mask:
        """Return roots that cannot have a solution: too little, or too few providers."""
        hopeless = np.zeros(self._snapshot.size, dtype=np.bool_)
        if not self._snapshot.forest.branched:
            return hopeless
        for name, amounts in plan.contended.items():
            slots = list(amounts)
            hopeless |= self._lacking(plan, served, slots, self._room(name), sum(amounts.values()))
            seats = self._room(name) // min(amounts.values())
            hopeless |= self._lacking(plan, served, slots, seats, len(slots))
        if plan.isolated:
            ones = np.ones(self._snapshot.size, dtype=np.int32)
            hopeless |= self._lacking(plan, served, plan.isolated, ones, len(plan.isolated))
        return hopeless

    def _room(self, name: str) -> np.ndarray[tuple[int], np.dtype[np.int32]]:
        return self._snapshot.columns[name].room_by_row(self._snapshot.size)

    def _lacking(
        self,
        plan: Plan,
        served: Sequence[Served],
        slots: Sequence[int],
        weights: np.ndarray[tuple[int], np.dtype[np.int32]],
        wanted: int,
    ) -> Mask:
        """Return the roots whose providers for some slots have less than these want together."""
        needs = [served[number] for number in sorted({plan.slots[slot].need for slot in slots})]
        rows = np.flatnonzero(reduce(np.logical_or, [need.local for need in needs]))
        size = self._snapshot.size
        roots = self._snapshot.forest.root[rows]
        total = np.bincount(roots, weights=weights[rows].clip(0), minlength=size)
        lacking: Mask = total < wanted
        for need in needs:
            lacking &= ~reach_abroad(self._snapshot, need)
        return lacking
