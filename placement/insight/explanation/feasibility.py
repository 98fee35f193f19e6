"""Roots that cannot have a solution, and roots that certainly have one, by counting.

Theory of operation.  Most conditions between groups can be decided by counting providers, with
arrays over all trees at once:

- ``group_policy=isolate``: the slots of each set of needs have, together, at least as many
  providers (Hall's theorem: if this holds for all sets of needs, the slots can be assigned).
- ``same_subtree``: some provider that serves one of the slots has, at and below it, enough
  providers for the others.
- amounts of one class that several slots want: the sum over the tree is enough, and each
  provider has seats, one for each time that the largest of the amounts fits. Enough seats for
  each set of needs is a solution; too few of the smallest amount is none.

What these leave open (shared options, joint traits, several of these conditions about the same
slots) is left to the solver.

``placement.core.search.feasibility`` shares no code with it: that evaluates necessary conditions
for some anchors at a time, while an explanation also needs sufficient ones, for all roots at once.

At which roots a plan has a solution.

Counting decides most trees (``bounds``). What it leaves open is solved problem by problem.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property, reduce
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from placement.core.search.anchors import (
    anchors_by_kind,
    possible_anchors,
    roots_with_shared_option,
)
from placement.core.search.deadline import Deadline
from placement.core.search.filters import Domain, find_domain
from placement.core.search.problems import ProblemBuilder
from placement.core.search.slots import Need, Problem, SearchPlan
from placement.core.search.solver import solve
from placement.core.snapshot.rows import Indices, Mask, mask_of
from placement.core.snapshot.snapshot import Snapshot

MOST_NEEDS = 4  # all sets of so many needs are checked: 15

Counts = NDArray[np.float64] | NDArray[np.intp]


class Bounds:
    """Counts for one plan; ``infeasible`` and ``feasible`` are masks over all rows."""

    def __init__(self, snapshot: Snapshot, plan: SearchPlan, domains: Sequence[Domain]) -> None:
        self._snapshot = snapshot
        self._plan = plan
        self._domains = domains
        self._root = snapshot.forest.root
        self._no_roots = np.zeros(snapshot.size, dtype=np.bool_)

    @cached_property
    def infeasible(self) -> Mask:
        """Roots that have too few providers, or too little of a class."""
        masks = [self._no_roots, *self._short_of_amounts()]
        if self._plan.isolated:
            slots = self._needs_of(self._plan.isolated)
            masks += [~self._has_enough(needs) & self._unshared(needs) for needs in _sets(slots)]
        for subtree in self._plan.subtrees:
            slots = self._needs_of(subtree)
            masks.append(~self._roots_of(self._tops(subtree)) & self._unshared(slots))
        return reduce(np.logical_or, masks)

    @cached_property
    def feasible(self) -> Mask:
        """Roots at which providers of the tree are a solution."""
        plan = self._plan
        if plan.any_of or not plan.request.nested or len(plan.subtrees) > 1:
            return self._no_roots
        if plan.contended:
            is_coupled = bool(plan.isolated or plan.subtrees) or not self._are_single_classed()
            return self._no_roots if is_coupled else self._with_seats()
        if len(self._needs_of(plan.isolated)) > MOST_NEEDS:
            return self._no_roots
        if plan.subtrees:
            (subtree,) = plan.subtrees
            is_coupled = bool(plan.isolated) and set(plan.isolated) != set(subtree)
            return self._no_roots if is_coupled else self._roots_of(self._tops(subtree))
        sets = _sets(self._needs_of(plan.isolated))
        return reduce(np.logical_and, [self._has_enough(needs) for needs in sets], ~self._no_roots)

    # --- amounts of a class that several slots request

    def _short_of_amounts(self) -> Iterator[Mask]:
        for name, amounts in self._plan.contended.items():
            slots = self._needs_of(amounts)
            rows, unshared = self._rows(slots), self._unshared(slots)
            allocatable = self._allocatable(name)[rows]
            yield (self._per_root(rows, allocatable) < sum(amounts.values())) & unshared
            seats = allocatable // min(amounts.values())
            yield (self._per_root(rows, seats) < len(amounts)) & unshared

    def _are_single_classed(self) -> bool:
        """Whether each slot requests at most one contended class."""
        slots = Counter(slot for amounts in self._plan.contended.values() for slot in amounts)
        return max(slots.values()) == 1

    def _with_seats(self) -> Mask:
        """Return the roots that have enough of each contended class for all of its slots."""
        masks = [
            self._has_seats(name, list(amounts), list(amounts.values()))
            for name, amounts in self._plan.contended.items()
        ]
        return reduce(np.logical_and, masks)

    def _has_seats(self, name: str, slots: Sequence[int], amounts: Sequence[int]) -> Mask:
        needs = self._needs_of(slots)
        if len(needs) > MOST_NEEDS:
            return self._no_roots
        allocatable = self._allocatable(name)
        common = [self._domains[need].local for need in needs]
        takes_all = np.flatnonzero(reduce(np.logical_and, common) & (allocatable >= sum(amounts)))
        seats = allocatable // max(amounts)
        masks = [
            self._per_root(rows := self._rows(some), seats[rows]) >= some.total()
            for some in _sets(needs)
        ]
        return self._roots_of(takes_all) | reduce(np.logical_and, masks)

    def _allocatable(self, name: str) -> NDArray[np.int32]:
        return self._snapshot.columns[name].allocatable_by_row(self._snapshot.size).clip(0)

    # --- providers of their own

    def _has_enough(self, slots: Counter[int]) -> Mask:
        """Return the roots with as many providers for some needs as these have slots."""
        rows = self._rows(slots)
        enough: Mask = self._per_root(rows) >= slots.total()
        return enough

    # --- subtrees

    def _tops(self, subtree: Sequence[int]) -> Indices:
        """Return the providers that serve one slot and have providers for the others below."""
        slots = self._needs_of(subtree)
        is_isolated = set(self._plan.isolated) >= set(subtree)
        sets = list(_sets(slots)) if is_isolated else [Counter({need: 1}) for need in slots]
        below = [(some, rows := self._rows(some), self._below(rows)) for some in sets]
        fitting = self._no_roots
        for need in slots:
            tops = self._domains[need].local.copy()
            for some, rows, number in below:
                if is_isolated:
                    here = np.zeros(self._snapshot.size, dtype=np.int8)
                    here[rows] = 1
                    tops &= number - here >= some.total() - (need in some)
                else:
                    tops &= number >= 1
            fitting = fitting | tops
        return np.flatnonzero(fitting)

    def _below(self, rows: Indices) -> NDArray[np.intp]:
        """Return for each provider how many of the rows are at or below it.

        Every subtree is a slice of the tree order, so this is the difference of two sums.
        """
        forest = self._snapshot.forest
        is_counted = np.zeros(forest.size, dtype=np.bool_)
        is_counted[rows] = True
        sums = np.zeros(forest.size + 1, dtype=np.intp)
        np.cumsum(is_counted, out=sums[1:])
        starts = np.arange(forest.size)
        number: NDArray[np.intp] = sums[starts + forest.subtree_size] - sums[starts]
        return number

    # --- counting

    def _needs_of(self, slots: Iterable[int]) -> Counter[int]:
        """Return how many of the slots have each need."""
        return Counter(self._plan.slots[slot].need for slot in slots)

    def _rows(self, needs: Counter[int]) -> Indices:
        return np.flatnonzero(reduce(np.logical_or, [self._domains[need].local for need in needs]))

    def _per_root(self, rows: Indices, weights: NDArray[np.int32] | None = None) -> Counts:
        return np.bincount(self._root[rows], weights=weights, minlength=self._snapshot.size)

    def _roots_of(self, rows: Indices) -> Mask:
        roots = self._no_roots.copy()
        roots[self._root[rows]] = True
        return roots

    def _unshared(self, needs: Counter[int]) -> Mask:
        """Return the roots with which nothing is shared that meets one of the needs."""
        shared = [roots_with_shared_option(self._snapshot, self._domains[need]) for need in needs]
        return ~reduce(np.logical_or, shared)


def _sets(slots: Counter[int]) -> Iterator[Counter[int]]:
    """Yield the sets of needs to look at: all, or only single ones and the whole if many."""
    sizes = range(1, len(slots) + 1) if len(slots) <= MOST_NEEDS else (1, len(slots))
    for size in sizes:
        for needs in combinations(slots, size):
            yield Counter({need: slots[need] for need in needs})


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
