"""The roots at which a plan has a solution.

This module uses the filters, anchors and problems of the search. The problems of a remaining root
are solved until one has a solution. Many roots have equal problems; equal problems are solved
once.
"""

from collections.abc import Sequence
from functools import cache, partial

import numpy as np

from placement.core.search.anchors import anchors_by_kind, possible_anchors
from placement.core.search.deadline import Deadline
from placement.core.search.filters import Domain, find_domain
from placement.core.search.problems import ProblemBuilder
from placement.core.search.slots import Problem, SearchPlan
from placement.core.search.solver import solve
from placement.core.snapshot.rows import Mask
from placement.core.snapshot.snapshot import Snapshot


class FittingRoots:
    """Finds the fitting roots of one snapshot, within one deadline."""

    def __init__(self, snapshot: Snapshot, deadline: Deadline) -> None:
        self._snapshot = snapshot
        self._deadline = deadline
        self._domain = cache(partial(find_domain, snapshot))  # similar plans share most needs

    def of(self, plan: SearchPlan, among: Mask | None = None) -> Mask:
        """Return the roots around which the plan has a solution, within ``among`` if it is set.

        Raises: SearchDeadlineExceeded.
        """
        domains = []
        for need in plan.needs:
            self._deadline.check()
            domains.append(self._domain(need))
        possible = possible_anchors(self._snapshot, plan, domains, self._deadline)
        if among is not None:
            possible = possible & among
        if plan.are_slots_independent or not possible.any():
            return possible
        return self._solvable(plan, domains, possible)

    def _solvable(self, plan: SearchPlan, domains: Sequence[Domain], possible: Mask) -> Mask:
        """Return a mask of the roots that have a solution, from the problem of every tree."""
        anchors = anchors_by_kind(self._snapshot, plan, domains, possible)
        fitting = np.zeros(self._snapshot.size, dtype=np.bool_)
        fitting[anchors.standalone] = True
        builder = ProblemBuilder(self._snapshot, plan, domains)
        solvable: dict[Problem, bool] = {}
        for block in builder.blocks(np.concatenate([anchors.general, anchors.shared_only])):
            self._deadline.check()
            for number, anchor in enumerate(block.anchors):
                problems = (problem for problem, _ in block.subproblems_of(number))
                fitting[anchor] = any(
                    self._is_solvable(plan, problem, solvable) for problem in problems
                )
        return fitting

    def _is_solvable(
        self, plan: SearchPlan, problem: Problem, solvable: dict[Problem, bool]
    ) -> bool:
        """Return whether a problem has a solution.  Equal problems are solved once."""
        self._deadline.tick()
        if problem not in solvable:
            solvable[problem] = next(solve(plan, problem, self._deadline), None) is not None
        return solvable[problem]
