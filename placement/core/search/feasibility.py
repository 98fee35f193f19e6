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

``placement.core.insight.bounds`` counts for explanations: it has sufficient conditions too, and
necessary ones that cost more than they save in a search.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce

import numpy as np
from numpy.typing import NDArray

from placement.core.search.filters import Domain
from placement.core.search.plan import SearchPlan
from placement.core.snapshot.rows import Mask, Numbers
from placement.core.snapshot.snapshot import Snapshot

Offsets = NDArray[np.int64]

# Providers of all parts of a tree together. Those of a tree in which every provider can be the
# highest one are the square of its size: 128 devices a host would take a gigabyte and seconds.
_MAX_DIVIDED = 512
_UNDIVIDED = -1


@dataclass(frozen=True, slots=True)
class _Bound:
    """The sum of ``weights`` (by row) over a region is at least ``minimum``."""

    weights: NDArray[np.generic]
    minimum: int


class PartIndex:
    """The parts of some anchors, as arrays.

    ``roots`` is the anchor of each part. The other arrays have an element for each provider
    of each part, in tree order: ``part`` its number, ``rows`` the row, ``is_inside`` whether
    it is in the split subtree, ``is_top`` whether it is the top of it. A part that is a whole
    tree, ``_UNDIVIDED``, has no top, and all of its providers are inside.
    """

    def __init__(self, block: "_Block", starts: Offsets, sizes: Offsets, tops: Offsets) -> None:
        self._block = block
        self._sizes = sizes
        self._firsts = np.cumsum(sizes) - sizes
        self.part = np.repeat(np.arange(len(sizes)), sizes)
        self._at = np.arange(len(self.part)) + np.repeat(starts - self._firsts, sizes)
        self._tops = tops
        self.roots = block.roots[block.tree_of[starts]]
        self.rows: Numbers = block.rows[self._at]

    @cached_property
    def is_inside(self) -> Mask:
        """Whether each provider is in the subtree of its part's top."""
        ends = self._tops + self._block.sizes[self._tops]
        ends[self._tops == _UNDIVIDED] = len(self._block.rows)
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
        above = here - self._block.distance_to_parent(self.rows)
        above[above < first] = -1
        nearest = above[kept]
        while (missing := np.flatnonzero((nearest >= 0) & ~kept[nearest])).size:
            nearest[missing] = above[nearest[missing]]
        rank = np.cumsum(kept) - 1
        first_rank = (rank - kept + 1)[first[kept]]
        return np.where(nearest >= 0, rank[nearest] - first_rank, -1).astype(np.int32)


class _Block:
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
        parent, own = forest.parent[rows], forest.position[rows]
        distance: Numbers = np.where(parent >= 0, own - forest.position[parent], len(self.rows))
        return distance

    def satisfies(self, bounds: Sequence[_Bound], starts: Offsets, sizes: Offsets) -> Mask:
        """Return which of the regions satisfy all bounds."""
        satisfied = np.ones(len(starts), dtype=np.bool_)
        for bound in bounds:
            sums = np.zeros(len(self.rows) + 1, dtype=np.int64)
            np.cumsum(bound.weights[self.rows], out=sums[1:])
            satisfied &= sums[starts + sizes] - sums[starts] >= bound.minimum
        return satisfied


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
        block = _Block(self._snapshot, anchors)
        possible = block.satisfies(self._tree_bounds, block.starts, block.tree_sizes)
        tops = {number: self._tops(block, number, possible) for number in self._local_subtrees}
        for own in tops.values():
            has_top = np.zeros(len(anchors), dtype=np.bool_)
            has_top[block.tree_of[own]] = True
            possible &= has_top
        if self.split is None:
            return _whole_trees(block, np.flatnonzero(possible))
        own = tops[self.split]
        own = own[possible[block.tree_of[own]]]
        if len(self._plan.subtrees[self.split]) == len(self._plan.slots):
            return _divided(block, own, own, block.sizes[own])
        trees = block.tree_of[own]
        return _divided(block, own, block.starts[trees], block.tree_sizes[trees])

    def _tops(self, block: _Block, number: int, possible: Mask) -> Offsets:
        """Return the providers that can be the highest one of a same_subtree."""
        masks = [self._domains[need].local for need in self._needs(self._plan.subtrees[number])]
        is_option = reduce(np.logical_or, masks)[block.rows] & possible[block.tree_of]
        tops = np.flatnonzero(is_option)
        bounds = self._subtree_bounds[number]
        return tops[block.satisfies(bounds, tops, block.sizes[tops])]

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

    def _needs(self, slots: "Sequence[int] | dict[int, int]") -> list[int]:
        return sorted({self._plan.slots[slot].need for slot in slots})

    def _is_shared(self, slots: "Sequence[int] | dict[int, int]") -> bool:
        return any(self._domains[need].shared for need in self._needs(slots))


def _whole_trees(block: _Block, trees: Offsets) -> PartIndex:
    """Return each tree as one part."""
    undivided = np.full(len(trees), _UNDIVIDED)
    return PartIndex(block, block.starts[trees], block.tree_sizes[trees], undivided)


def _divided(block: _Block, tops: Offsets, starts: Offsets, sizes: Offsets) -> PartIndex:
    """Return a part for each top; a tree whose parts are too large together is one part."""
    trees = block.tree_of[tops]
    totals = np.bincount(trees, weights=sizes, minlength=len(block.roots))
    large = np.flatnonzero(totals > _MAX_DIVIDED)
    if not len(large):
        return PartIndex(block, starts, sizes, tops)
    kept = totals[trees] <= _MAX_DIVIDED
    order = np.argsort(np.concatenate([trees[kept], large]), kind="stable")
    return PartIndex(
        block,
        np.concatenate([starts[kept], block.starts[large]])[order],
        np.concatenate([sizes[kept], block.tree_sizes[large]])[order],
        np.concatenate([tops[kept], np.full(len(large), _UNDIVIDED)])[order],
    )
