"""Necessary conditions of a solution, for many trees at once, by arrays.

Each condition is a *bound*: a region, which is a tree or, for same_subtree, a subtree, has at
least as many providers that satisfy a need as there are isolated slots with it. As every
subtree is a slice of the tree order, the counts of all regions are differences of one
cumulative sum.

A region that violates a bound contains no solution, so no solution is lost. A region that
satisfies all bounds may still contain no solution; the solver decides this.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce

import numpy as np

from placement.core.search.filters import Domain
from placement.core.search.slots import SearchPlan
from placement.core.search.subproblems import (
    Offsets,
    SubproblemIndex,
    TreeMembers,
    divided,
    whole_trees,
)
from placement.core.snapshot.rows import Mask, Numbers
from placement.core.snapshot.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class _Bound:
    """A region has at least ``minimum`` of the providers of a mask."""

    mask: Mask
    minimum: int


class Feasibility:
    """Divides anchors into subproblems, and discards subproblems that violate a bound."""

    def __init__(self, snapshot: Snapshot, plan: SearchPlan, domains: Sequence[Domain]) -> None:
        self._snapshot = snapshot
        self._plan = plan
        self._domains = domains
        self._isolated = frozenset(plan.isolated)
        # With a sharing provider, the highest provider of a same_subtree can be in another tree.
        self._local_subtrees = [
            number for number, slots in enumerate(plan.subtrees) if not self._is_shared(slots)
        ]
        self.split: int | None = next(iter(self._local_subtrees), None)
        """The same_subtree by which anchors are divided into subproblems, None if by none."""

    def subproblems(self, anchors: Numbers) -> SubproblemIndex:
        """Return the subproblems of the anchors, in the order of the anchors."""
        members = TreeMembers(self._snapshot, anchors)
        possible = _satisfied(members, self._tree_bounds, members.starts, members.tree_sizes)
        tops = {number: self._tops(members, number, possible) for number in self._local_subtrees}
        for subtree_tops in tops.values():
            has_top = np.zeros(len(anchors), dtype=np.bool_)
            has_top[members.tree_of[subtree_tops]] = True
            possible &= has_top
        if self.split is None:
            return whole_trees(members, np.flatnonzero(possible))
        split_tops = tops[self.split]
        split_tops = split_tops[possible[members.tree_of[split_tops]]]
        if len(self._plan.subtrees[self.split]) == len(self._plan.slots):
            return divided(members, split_tops, split_tops, members.sizes[split_tops])
        trees = members.tree_of[split_tops]
        return divided(members, split_tops, members.starts[trees], members.tree_sizes[trees])

    def _tops(self, members: TreeMembers, number: int, possible: Mask) -> Offsets:
        """Return the providers that can be the highest one of a same_subtree."""
        masks = [self._domains[need].local for need in self._needs(self._plan.subtrees[number])]
        is_option = reduce(np.logical_or, masks)[members.rows] & possible[members.tree_of]
        tops = np.flatnonzero(is_option)
        bounds = self._subtree_bounds[number]
        return tops[_satisfied(members, bounds, tops, members.sizes[tops])]

    @cached_property
    def _tree_bounds(self) -> list[_Bound]:
        """The bounds of all slots. Every anchor has an option for each slot, see ``anchors``."""
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
        """Yield the bound of each need. Every region may also use its sharing providers."""
        counts = Counter(self._plan.slots[slot].need for slot in slots if slot in self._isolated)
        for need in self._needs(slots):
            domain = self._domains[need]
            yield _Bound(domain.local, counts.get(need, 1) - len(domain.shared))

    def _needs(self, slots: Iterable[int]) -> list[int]:
        return sorted({self._plan.slots[slot].need for slot in slots})

    def _is_shared(self, slots: Iterable[int]) -> bool:
        return any(self._domains[need].shared for need in self._needs(slots))


def _satisfied(
    members: TreeMembers, bounds: Sequence[_Bound], starts: Offsets, sizes: Offsets
) -> Mask:
    """Return whether the regions, which are slices of the members, satisfy all bounds."""
    satisfied = np.ones(len(starts), dtype=np.bool_)
    for bound in bounds:
        counts = np.zeros(len(members.rows) + 1, dtype=np.int64)
        np.cumsum(bound.mask[members.rows], out=counts[1:])
        satisfied &= counts[starts + sizes] - counts[starts] >= bound.minimum
    return satisfied
