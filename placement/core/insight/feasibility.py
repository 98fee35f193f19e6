"""At which roots a plan has a solution.

Cheap bounds over all trees come first: a tree whose providers have less left than all slots want
together needs no solver. What they leave is solved problem by problem.
"""

from collections.abc import Sequence
from functools import reduce

import numpy as np

from placement.core.search.anchors import (
    anchors_by_kind,
    possible_anchors,
    roots_with_shared_option,
)
from placement.core.search.deadline import Deadline
from placement.core.search.filters import Domain, find_domains
from placement.core.search.plan import SearchPlan
from placement.core.search.problem import Problem
from placement.core.search.problem_builder import ProblemBuilder
from placement.core.search.solver import solve
from placement.core.snapshot.rows import Mask, mask_of
from placement.core.snapshot.snapshot import Snapshot


class Feasibility:
    """Answers for one snapshot, within one deadline."""

    def __init__(self, snapshot: Snapshot, deadline: Deadline) -> None:
        self._snapshot = snapshot
        self._deadline = deadline

    def roots(self, plan: SearchPlan, among: Mask | None = None) -> Mask:
        """Return the roots, of some, around which the plan has a solution.

        Raises: SearchDeadlineExceeded.
        """
        self._deadline.check()
        domains = find_domains(self._snapshot, plan)
        possible = possible_anchors(self._snapshot, plan, domains)
        if among is not None:
            possible = possible & among
        if not possible.any():
            return possible
        possible = possible & ~self._hopeless(plan, domains)
        anchors = anchors_by_kind(self._snapshot, plan, domains, possible)
        fitting = mask_of(anchors.standalone.astype(np.int32), self._snapshot.size)
        others = [*anchors.general.tolist(), *anchors.shared_only.tolist()]
        fitting[self._solvable(plan, domains, others)] = True
        return fitting

    def _solvable(
        self, plan: SearchPlan, domains: Sequence[Domain], anchors: list[int]
    ) -> list[int]:
        builder = ProblemBuilder(self._snapshot, plan, domains)
        known: dict[Problem, bool] = {}
        found = []
        for anchor in anchors:
            self._deadline.tick()
            problem = builder.problem(anchor)
            if problem not in known:
                known[problem] = next(solve(plan, problem, self._deadline), None) is not None
            if known[problem]:
                found.append(anchor)
        return found

    # --- bounds

    def _hopeless(self, plan: SearchPlan, domains: Sequence[Domain]) -> Mask:
        """Return roots that cannot have a solution: too little, or too few providers."""
        hopeless = np.zeros(self._snapshot.size, dtype=np.bool_)
        if not self._snapshot.forest.nested_trees:
            return hopeless
        for name, amounts in plan.contended.items():
            slots = list(amounts)
            hopeless |= self._lacking(
                plan, domains, slots, self._allocatable(name), sum(amounts.values())
            )
            seats = self._allocatable(name) // min(amounts.values())
            hopeless |= self._lacking(plan, domains, slots, seats, len(slots))
        if plan.isolated:
            ones = np.ones(self._snapshot.size, dtype=np.int32)
            hopeless |= self._lacking(plan, domains, plan.isolated, ones, len(plan.isolated))
        return hopeless

    def _allocatable(self, name: str) -> np.ndarray[tuple[int], np.dtype[np.int32]]:
        return self._snapshot.columns[name].allocatable_by_row(self._snapshot.size)

    def _lacking(
        self,
        plan: SearchPlan,
        domains: Sequence[Domain],
        slots: Sequence[int],
        weights: np.ndarray[tuple[int], np.dtype[np.int32]],
        wanted: int,
    ) -> Mask:
        """Return the roots whose providers for some slots have less than these want together."""
        needs = [domains[number] for number in sorted({plan.slots[slot].need for slot in slots})]
        rows = np.flatnonzero(reduce(np.logical_or, [need.local for need in needs]))
        size = self._snapshot.size
        roots = self._snapshot.forest.root[rows]
        total = np.bincount(roots, weights=weights[rows].clip(0), minlength=size)
        lacking: Mask = total < wanted
        for need in needs:
            lacking &= ~roots_with_shared_option(self._snapshot, need)
        return lacking
