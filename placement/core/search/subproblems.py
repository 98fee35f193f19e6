"""The subproblems of anchors, as arrays.

A subproblem is a tree, or the part of a tree that a candidate can use if one of its providers is
the highest provider of a same_subtree. ``feasibility`` selects the subproblems; ``problems``
builds a problem for every subproblem.
"""

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from placement.core.snapshot.rows import Mask, Numbers
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
        self._forest = forest
        self.roots = roots
        self.rows = forest.members_of_all(roots)
        self.tree_sizes: Offsets = forest.subtree_size[roots].astype(np.int64)
        self.starts: Offsets = np.cumsum(self.tree_sizes) - self.tree_sizes
        self.tree_of = np.repeat(np.arange(len(roots)), self.tree_sizes)

    @cached_property
    def sizes(self) -> Offsets:
        """The number of providers of each subtree."""
        return self._forest.subtree_size[self.rows].astype(np.int64)

    def distance_to_parent(self, rows: Numbers) -> Numbers:
        """Return the distances to the parents in tree order, ``len(self.rows)`` for roots."""
        forest = self._forest
        parent = forest.parent[rows]
        distance: Numbers = np.where(parent >= 0, rows - parent, len(self.rows))
        return distance


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
        above = here - self._members.distance_to_parent(self.rows)
        above[above < first] = -1
        nearest = above[is_option]
        while (missing := np.flatnonzero((nearest >= 0) & ~is_option[nearest])).size:
            nearest[missing] = above[nearest[missing]]
        rank = np.cumsum(is_option) - 1
        first_rank = (rank - is_option + 1)[first[is_option]]
        return np.where(nearest >= 0, rank[nearest] - first_rank, -1).astype(np.int32)


def whole_trees(members: TreeMembers, trees: Offsets) -> SubproblemIndex:
    """Return each tree as one subproblem."""
    undivided = np.full(len(trees), _UNDIVIDED)
    return SubproblemIndex(members, members.starts[trees], members.tree_sizes[trees], undivided)


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
