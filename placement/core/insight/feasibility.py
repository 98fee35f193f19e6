"""At which roots a plan has a solution.

Counting decides most trees (``bounds``). What it leaves open is solved problem by problem.
"""

from collections.abc import Sequence

import numpy as np

from placement.core.insight.bounds import Bounds
from placement.core.search.anchors import (
    anchors_by_kind,
    possible_anchors,
)
from placement.core.search.deadline import Deadline
from placement.core.search.filters import Domain, find_domain
from placement.core.search.plan import Need, SearchPlan
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
        self._domains: dict[Need, Domain] = {}

    def roots(self, plan: SearchPlan, among: Mask | None = None) -> Mask:
        """Return the roots, of some, around which the plan has a solution.

        Raises: SearchDeadlineExceeded.
        """
        self._deadline.check()
        domains = [self._domain(need) for need in plan.needs]
        possible = possible_anchors(self._snapshot, plan, domains, self._deadline)
        if among is not None:
            possible = possible & among
        if not possible.any():
            return possible
        certain = np.zeros(self._snapshot.size, dtype=np.bool_)
        if self._snapshot.forest.is_nested:
            self._deadline.check()
            bounds = Bounds(self._snapshot, plan, domains)
            certain = possible & bounds.feasible
            possible = possible & ~certain & ~bounds.infeasible
        return certain | self._solvable(plan, domains, possible)

    def _domain(self, need: Need) -> Domain:
        """Return the providers that satisfy a need; plans that differ little share most needs."""
        domain = self._domains.get(need)
        if domain is None:
            self._deadline.check()
            domain = self._domains[need] = find_domain(self._snapshot, need)
        return domain

    def _solvable(self, plan: SearchPlan, domains: Sequence[Domain], possible: Mask) -> Mask:
        """Return which of the roots have a solution, by solving the problem of each tree."""
        anchors = anchors_by_kind(self._snapshot, plan, domains, possible)
        fitting = mask_of(anchors.standalone.astype(np.int32), self._snapshot.size)
        builder = ProblemBuilder(self._snapshot, plan, domains)
        solvable: dict[Problem, bool] = {}
        others = [*anchors.general.tolist(), *anchors.shared_only.tolist()]
        for block in builder.blocks(others):
            self._deadline.check()
            for number, anchor in enumerate(block.anchors):
                problems = [problem for problem, _ in block.parts_of(number)]
                fitting[anchor] = any(self._is_solvable(plan, one, solvable) for one in problems)
        return fitting

    def _is_solvable(
        self, plan: SearchPlan, problem: Problem, solvable: dict[Problem, bool]
    ) -> bool:
        """Return whether a problem has a solution; each is solved once."""
        self._deadline.tick()
        if problem not in solvable:
            solvable[problem] = next(solve(plan, problem, self._deadline), None) is not None
        return solvable[problem]
