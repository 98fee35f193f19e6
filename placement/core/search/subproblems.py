"""The parts of trees that pose problems of their own, as arrays.

A part is a tree, or what a candidate can use of it if one of its providers is the highest one of a
same_subtree. ``feasibility`` selects the parts, ``option_records`` reads their options.
"""

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from placement.core.snapshot.rows import Mask, Numbers
from placement.core.snapshot.snapshot import Snapshot

Offsets = NDArray[np.int64]

# Providers of all parts of a tree together. Those of a tree in which every provider can be the
# highest one are the square of its size: 128 devices a host would take a gigabyte and seconds.
_MAX_DIVIDED = 512
_UNDIVIDED = -1


class TreeMembers:
    """The providers of some trees, one tree after the other, each in tree order.

    ``rows`` are all of them, and ``tree_of`` the number of the tree of each. By tree: ``roots``,
    ``tree_sizes``, and ``starts``, the index of its first provider in ``rows``.
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
        """How many providers each is after its parent in tree order; past the start for roots."""
        forest = self._forest
        parent = forest.parent[rows]
        distance: Numbers = np.where(parent >= 0, rows - parent, len(self.rows))
        return distance


class PartIndex:
    """The parts of some anchors, as arrays.

    ``roots`` is the anchor of each part. The other arrays have an element for each provider
    of each part, in tree order: ``part`` its number, ``rows`` the row, ``is_inside`` whether
    it is in the split subtree, ``is_top`` whether it is the top of it. A part that is a whole
    tree, ``_UNDIVIDED``, has no top, and all of its providers are inside.
    """

    def __init__(
        self, members: TreeMembers, starts: Offsets, sizes: Offsets, tops: Offsets
    ) -> None:
        self._members = members
        self._sizes = sizes
        self._firsts = np.cumsum(sizes) - sizes
        self.part = np.repeat(np.arange(len(sizes)), sizes)
        self._at = np.arange(len(self.part)) + np.repeat(starts - self._firsts, sizes)
        self._tops = tops
        self.roots = members.roots[members.tree_of[starts]]
        self.rows: Numbers = members.rows[self._at]

    @cached_property
    def is_inside(self) -> Mask:
        """Whether each provider is in the subtree of its part's top."""
        ends = self._tops + self._members.sizes[self._tops]
        ends[self._tops == _UNDIVIDED] = len(self._members.rows)
        inside: Mask = (self._at >= np.repeat(self._tops, self._sizes)) & (
            self._at < np.repeat(ends, self._sizes)
        )
        return inside

    @property
    def is_top(self) -> Mask:
        """Whether each provider is the top of its part."""
        top: Mask = self._at == np.repeat(self._tops, self._sizes)
        return top

    def nearest(self, kept: Mask) -> Numbers:
        """Return, for each kept provider, which of the kept ones of its part is above it.

        Numbers count the kept providers of a part; -1 if none is above.
        """
        first = np.repeat(self._firsts, self._sizes)
        here = np.arange(len(self.part))
        above = here - self._members.distance_to_parent(self.rows)
        above[above < first] = -1
        nearest = above[kept]
        while (missing := np.flatnonzero((nearest >= 0) & ~kept[nearest])).size:
            nearest[missing] = above[nearest[missing]]
        rank = np.cumsum(kept) - 1
        first_rank = (rank - kept + 1)[first[kept]]
        return np.where(nearest >= 0, rank[nearest] - first_rank, -1).astype(np.int32)


def whole_trees(members: TreeMembers, trees: Offsets) -> PartIndex:
    """Return each tree as one part."""
    undivided = np.full(len(trees), _UNDIVIDED)
    return PartIndex(members, members.starts[trees], members.tree_sizes[trees], undivided)


def divided(members: TreeMembers, tops: Offsets, starts: Offsets, sizes: Offsets) -> PartIndex:
    """Return a part for each top; a tree whose parts are too large together is one part."""
    trees = members.tree_of[tops]
    totals = np.bincount(trees, weights=sizes, minlength=len(members.roots))
    large = np.flatnonzero(totals > _MAX_DIVIDED)
    if not len(large):
        return PartIndex(members, starts, sizes, tops)
    kept = totals[trees] <= _MAX_DIVIDED
    order = np.argsort(np.concatenate([trees[kept], large]), kind="stable")
    return PartIndex(
        members,
        np.concatenate([starts[kept], members.starts[large]])[order],
        np.concatenate([sizes[kept], members.tree_sizes[large]])[order],
        np.concatenate([tops[kept], np.full(len(large), _UNDIVIDED)])[order],
    )
