"""The subproblems of anchors, as arrays.

A subproblem is a tree, or the part of a tree that a candidate can use if one of its providers is
the highest provider of a same_subtree. ``Feasibility`` selects the subproblems by necessary
conditions of a solution, for many trees at once; ``problems`` builds a problem for every
subproblem.

Each condition is a *bound*: a region, which is a tree or, for same_subtree, a subtree, has at
least as many providers that satisfy a need as there are isolated slots with it. As every
subtree is a slice of the tree order, the counts of all regions are differences of one
cumulative sum.

A region that satisfies all bounds may still contain no solution; the solver decides this.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce

import numpy as np
from numpy.typing import NDArray

from placement.core.search.filters import Domain
from placement.core.search.slots import SlottedRequest
from placement.core.snapshot.rows import Mask, Numbers, mask_of
from placement.core.snapshot.snapshot import Snapshot

Offsets = NDArray[np.int64]

# Limit of the total number of providers of the subproblems of a tree. If every provider can be the
# highest one, the total is the square of the tree size: hosts with 128 devices would take a
# gigabyte and seconds.
_MAX_DIVIDED = 512
_UNDIVIDED = -1


class TreeMembers:
    """The providers of some trees, one tree after the other, each in tree order.

    By provider: ``rows`` has the row, ``tree_of`` the number of the tree. By tree: ``roots``,
    ``tree_sizes``, and ``starts``, the index of the first provider of the tree in ``rows``.
    """

    def __init__(self, snapshot: Snapshot, roots: Numbers) -> None:
        forest = snapshot.forest
        self.forest = forest
        self.roots = roots
        self.rows = forest.members_of_all(roots)
        self.tree_sizes: Offsets = forest.subtree_size[roots].astype(np.int64)
        self.starts: Offsets = np.cumsum(self.tree_sizes) - self.tree_sizes
        self.tree_of = np.repeat(np.arange(len(roots)), self.tree_sizes)

    @cached_property
    def sizes(self) -> Offsets:
        """The number of providers of each subtree."""
        return self.forest.subtree_size[self.rows].astype(np.int64)


class SubproblemIndex:
    """The subproblems of some anchors, as arrays.

    ``roots`` has the anchors of the subproblems. The other arrays have an element for every
    provider of every subproblem, in tree order: ``subproblem`` is the number of the subproblem,
    ``rows`` is the row, ``is_inside`` is whether the provider is in the split subtree, and
    ``is_top`` is whether it is the top of the subtree. A subproblem that is a whole tree,
    ``_UNDIVIDED``, has no top, and all of its providers are inside.
    """

    def __init__(
        self, members: TreeMembers, starts: Offsets, sizes: Offsets, tops: Offsets
    ) -> None:
        self._members = members
        self._sizes = sizes
        self._firsts = np.cumsum(sizes) - sizes
        self.subproblem = np.repeat(np.arange(len(sizes)), sizes)
        self._at = np.arange(len(self.subproblem)) + np.repeat(starts - self._firsts, sizes)
        self._tops = tops
        self.roots = members.roots[members.tree_of[starts]]
        self.rows: Numbers = members.rows[self._at]

    @cached_property
    def is_inside(self) -> Mask:
        """Whether each provider is in the subtree of its subproblem's top."""
        ends = self._tops + self._members.sizes[self._tops]
        ends[self._tops == _UNDIVIDED] = len(self._members.rows)
        inside: Mask = (self._at >= np.repeat(self._tops, self._sizes)) & (
            self._at < np.repeat(ends, self._sizes)
        )
        return inside

    @property
    def is_top(self) -> Mask:
        """Whether each provider is the top of its subproblem."""
        top: Mask = self._at == np.repeat(self._tops, self._sizes)
        return top

    def nearest(self, is_option: Mask) -> Numbers:
        """Return the nearest ancestor that is an option, for each option.

        Only ancestors in the subproblem of the option are considered. The numbers count the
        options of a subproblem; -1 means that there is no such ancestor.
        """
        first = np.repeat(self._firsts, self._sizes)
        here = np.arange(len(self.subproblem))
        parent = self._members.forest.parent[self.rows]
        above = here - (self.rows - parent)
        above[(parent < 0) | (above < first)] = -1
        nearest = above[is_option]
        while (missing := np.flatnonzero((nearest >= 0) & ~is_option[nearest])).size:
            nearest[missing] = above[nearest[missing]]
        rank = np.cumsum(is_option) - 1
        first_rank = (rank - is_option + 1)[first[is_option]]
        return np.where(nearest >= 0, rank[nearest] - first_rank, -1).astype(np.int32)


def divided(
    members: TreeMembers, tops: Offsets, starts: Offsets, sizes: Offsets
) -> SubproblemIndex:
    """Return a subproblem for each top, or one for the whole tree if the total is too large."""
    trees = members.tree_of[tops]
    totals = np.bincount(trees, weights=sizes, minlength=len(members.roots))
    large = np.flatnonzero(totals > _MAX_DIVIDED)
    if not len(large):
        return SubproblemIndex(members, starts, sizes, tops)
    is_small = totals[trees] <= _MAX_DIVIDED
    order = np.argsort(np.concatenate([trees[is_small], large]), kind="stable")
    return SubproblemIndex(
        members,
        np.concatenate([starts[is_small], members.starts[large]])[order],
        np.concatenate([sizes[is_small], members.tree_sizes[large]])[order],
        np.concatenate([tops[is_small], np.full(len(large), _UNDIVIDED)])[order],
    )


@dataclass(frozen=True, slots=True)
class _Bound:
    """A region has at least ``minimum`` of the providers of a mask."""

    mask: Mask
    minimum: int


class Feasibility:
    """Divides anchors into subproblems, and discards subproblems that violate a bound."""

    def __init__(
        self, snapshot: Snapshot, slotted: SlottedRequest, domains: Sequence[Domain]
    ) -> None:
        self._snapshot = snapshot
        self._slotted = slotted
        self._domains = domains
        self._isolated = frozenset(slotted.isolated)
        # With a sharing provider, the highest provider of a same_subtree can be in another tree.
        self._local_subtrees = [
            number for number, slots in enumerate(slotted.subtrees) if not self._is_shared(slots)
        ]
        self.split: int | None = next(iter(self._local_subtrees), None)
        """The same_subtree by which anchors are divided into subproblems, None if by none."""

    def subproblems(self, anchors: Numbers) -> SubproblemIndex:
        """Return the subproblems of the anchors, in the order of the anchors."""
        members = TreeMembers(self._snapshot, anchors)
        possible = _satisfied(members, self._tree_bounds, members.starts, members.tree_sizes)
        tops = {number: self._tops(members, number, possible) for number in self._local_subtrees}
        for subtree_tops in tops.values():
            possible &= mask_of(members.tree_of[subtree_tops], len(anchors))
        if self.split is None:
            trees, undivided = np.flatnonzero(possible), np.full(possible.sum(), _UNDIVIDED)
            starts, sizes = members.starts[trees], members.tree_sizes[trees]
            return SubproblemIndex(members, starts, sizes, undivided)
        split_tops = tops[self.split]
        split_tops = split_tops[possible[members.tree_of[split_tops]]]
        if len(self._slotted.subtrees[self.split]) == len(self._slotted.slots):
            return divided(members, split_tops, split_tops, members.sizes[split_tops])
        trees = members.tree_of[split_tops]
        return divided(members, split_tops, members.starts[trees], members.tree_sizes[trees])

    def _tops(self, members: TreeMembers, number: int, possible: Mask) -> Offsets:
        """Return the providers that can be the highest one of a same_subtree."""
        masks = [self._domains[need].local for need in self._needs(self._slotted.subtrees[number])]
        is_option = reduce(np.logical_or, masks)[members.rows] & possible[members.tree_of]
        tops = np.flatnonzero(is_option)
        bounds = self._subtree_bounds[number]
        return tops[_satisfied(members, bounds, tops, members.sizes[tops])]

    @cached_property
    def _tree_bounds(self) -> list[_Bound]:
        """The bounds of all slots; every anchor already has an option for each slot."""
        slots = range(len(self._slotted.slots))
        return [bound for bound in self._bounds(slots) if bound.minimum > 1]

    @cached_property
    def _subtree_bounds(self) -> dict[int, list[_Bound]]:
        """The bounds of the slots of each same_subtree."""
        return {
            number: list(self._bounds(self._slotted.subtrees[number]))
            for number in self._local_subtrees
        }

    def _bounds(self, slots: Sequence[int]) -> Iterator[_Bound]:
        """Yield the bound of each need. Every region may also use its sharing providers."""
        counts = Counter(
            self._slotted.slots[slot].need for slot in slots if slot in self._isolated
        )
        for need in self._needs(slots):
            domain = self._domains[need]
            yield _Bound(domain.local, counts.get(need, 1) - len(domain.shared))

    def _needs(self, slots: Iterable[int]) -> list[int]:
        return sorted({self._slotted.slots[slot].need for slot in slots})

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
