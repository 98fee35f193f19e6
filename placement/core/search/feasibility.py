"""Necessary conditions of a solution, for many trees at once, by arrays.

Each condition is a *bound*: some slots need at least a certain sum over the
providers of a region, which is a tree or, for same_subtree, a subtree. As every
subtree is a slice of the tree order, sums over all regions are differences of one
cumulative sum. The bounds:

- the providers that satisfy a need are at least as many as the isolated slots with it,
  and those that satisfy any need of isolated slots as many as these slots together
  (Hall's condition for a need, and for all);
- the allocatable amounts of a contended class are at least the sum of the requests for
  it, and suffice for as many slots, were each request as small as the smallest.

A region that violates a bound contains no solution, so nothing is lost; one that
satisfies all may still have none, which the solver decides.

``placement.insight.explanation.feasibility`` counts for explanations: it has sufficient
conditions too, and necessary ones that cost more than they save in a search.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce

import numpy as np
from numpy.typing import NDArray

from placement.core.search.filters import Domain
from placement.core.search.slots import SearchPlan
from placement.core.search.subproblems import Offsets, PartIndex, TreeMembers, divided, whole_trees
from placement.core.snapshot.rows import Mask, Numbers
from placement.core.snapshot.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class _Bound:
    """The sum of ``weights`` (by row) over a region is at least ``minimum``."""

    weights: NDArray[np.generic]
    minimum: int


class Feasibility:
    """Divides anchors into parts, and discards those that violate a bound."""

    def __init__(self, snapshot: Snapshot, plan: SearchPlan, domains: Sequence[Domain]) -> None:
        self._snapshot = snapshot
        self._plan = plan
        self._domains = domains
        self._isolated = frozenset(plan.isolated)
        self._local_subtrees = [
            number for number, slots in enumerate(plan.subtrees) if not self._is_shared(slots)
        ]
        self.split: int | None = next(iter(self._local_subtrees), None)
        """The same_subtree by which anchors are divided into parts, None if by none."""

    def parts(self, anchors: Numbers) -> PartIndex:
        """Return the parts of the anchors, in the order of the anchors."""
        members = TreeMembers(self._snapshot, anchors)
        possible = _satisfied(members, self._tree_bounds, members.starts, members.tree_sizes)
        tops = {number: self._tops(members, number, possible) for number in self._local_subtrees}
        for own in tops.values():
            has_top = np.zeros(len(anchors), dtype=np.bool_)
            has_top[members.tree_of[own]] = True
            possible &= has_top
        if self.split is None:
            return whole_trees(members, np.flatnonzero(possible))
        own = tops[self.split]
        own = own[possible[members.tree_of[own]]]
        if len(self._plan.subtrees[self.split]) == len(self._plan.slots):
            return divided(members, own, own, members.sizes[own])
        trees = members.tree_of[own]
        return divided(members, own, members.starts[trees], members.tree_sizes[trees])

    def _tops(self, members: TreeMembers, number: int, possible: Mask) -> Offsets:
        """Return the providers that can be the highest one of a same_subtree."""
        masks = [self._domains[need].local for need in self._needs(self._plan.subtrees[number])]
        is_option = reduce(np.logical_or, masks)[members.rows] & possible[members.tree_of]
        tops = np.flatnonzero(is_option)
        bounds = self._subtree_bounds[number]
        return tops[_satisfied(members, bounds, tops, members.sizes[tops])]

    @cached_property
    def _tree_bounds(self) -> list[_Bound]:
        """The bounds of all slots; that each has an option is known of every anchor."""
        slots = range(len(self._plan.slots))
        return [bound for bound in self._bounds(slots) if bound.minimum > 1]

    @cached_property
    def _subtree_bounds(self) -> dict[int, list[_Bound]]:
        """The bounds of the slots of each same_subtree."""
        return {
            number: list(self._bounds(self._plan.subtrees[number]))
            for number in self._local_subtrees
        }

    def _bounds(self, slots: Sequence[int]) -> Iterator[_Bound]:
        isolated = [slot for slot in slots if slot in self._isolated]
        counts = Counter(self._plan.slots[slot].need for slot in isolated)
        for need in self._needs(slots):
            domain = self._domains[need]
            yield _Bound(domain.local, counts.get(need, 1) - len(domain.shared))
        if len(counts) > 1:
            domains = [self._domains[need] for need in counts]
            shared = {row for domain in domains for row in domain.shared}
            union = reduce(np.logical_or, [domain.local for domain in domains])
            yield _Bound(union, len(isolated) - len(shared))
        yield from self._class_bounds(frozenset(slots))

    def _class_bounds(self, slots: frozenset[int]) -> Iterator[_Bound]:
        for name, all_amounts in self._plan.contended.items():
            amounts = {slot: all_amounts[slot] for slot in slots.intersection(all_amounts)}
            column = self._snapshot.columns.get(name)
            if len(amounts) < 2 or column is None or self._is_shared(amounts):
                continue
            domains = [self._domains[need] for need in self._needs(amounts)]
            union = reduce(np.logical_or, [domain.local for domain in domains])
            free = np.where(union, column.allocatable_by_row(self._snapshot.size), 0)
            yield _Bound(free, sum(amounts.values()))
            yield _Bound(free // min(amounts.values()), len(amounts))

    def _needs(self, slots: Iterable[int]) -> list[int]:
        return sorted({self._plan.slots[slot].need for slot in slots})

    def _is_shared(self, slots: Iterable[int]) -> bool:
        return any(self._domains[need].shared for need in self._needs(slots))


def _satisfied(
    members: TreeMembers, bounds: Sequence[_Bound], starts: Offsets, sizes: Offsets
) -> Mask:
    """Return which of the regions, slices of the members, satisfy all bounds."""
    satisfied = np.ones(len(starts), dtype=np.bool_)
    for bound in bounds:
        sums = np.zeros(len(members.rows) + 1, dtype=np.int64)
        np.cumsum(bound.weights[members.rows], out=sums[1:])
        satisfied &= sums[starts + sizes] - sums[starts] >= bound.minimum
    return satisfied
