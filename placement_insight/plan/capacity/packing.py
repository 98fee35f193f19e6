"""Packs the claims of several shapes, one claim after the other.

Each shape is claimed on the roots that fewer of the other shapes can use, the fullest of them
first. In the first pass a root takes at most its part of each shape: shapes that need different
classes are then on the same roots. In the second pass the roots take the remaining claims.

The shapes are claimed in two orders, each with and without the first pass. If claims of a shape
remain, the packing has as many mixes as all shapes have claims for. A claim never counts on what
is released.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import gcd

import numpy as np
from numpy.typing import NDArray

from placement.core.search.deadline import Deadline
from placement.core.snapshot.rows import AmountArray, Indices, Mask, mask_of
from placement.core.snapshot.snapshot import Snapshot
from placement_insight.plan.capacity.counts import Round
from placement_insight.plan.capacity.model import Capacity, CapacityOfRoots
from placement_insight.plan.hypothetical import claimed, claimed_on, free_by_root, free_by_row


@dataclass(frozen=True, eq=False)
class ShapeOfMix:
    """A shape of a mix on one snapshot, and the number of its claims in one mix."""

    capacity: CapacityOfRoots
    share: int

    @cached_property
    def total(self) -> Mapping[str, int]:
        """The amounts of one claim."""
        return {name: each.total for name, each in self.capacity.by_class.items()}

    @cached_property
    def alone(self) -> Capacity:
        """The capacity for this shape alone."""
        return self.capacity.of(self.capacity.rows)

    @property
    def considered(self) -> Mask:
        """The considered roots."""
        return mask_of(self.capacity.rows, self.capacity.snapshot.size)

    def able(self, name: str) -> Mask:
        """Return the providers from which a claim can take an amount of a class."""
        if name not in self.total:
            return np.zeros(self.capacity.snapshot.size, dtype=np.bool_)
        root = self.capacity.snapshot.forest.root
        by_class = self.capacity.by_class[name]
        return by_class.able & (self.capacity.fits[root] | by_class.is_sharing)

    def unit(self, name: str) -> int:
        """Return the number that all amounts of a class of the shape are multiples of."""
        amounts = (dict(slot.resources).get(name, 0) for slot in self.capacity.slotted.slots)
        return gcd(*amounts)


class Packer:
    """Packs mixes of shapes on one snapshot.

    ``mixes`` is the number of mixes that each root has the amounts of, by row.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        shapes: Sequence[ShapeOfMix],
        mixes: NDArray[np.float64],
        deadline: Deadline,
    ) -> None:
        self._before = self._after = snapshot
        self._shapes = shapes
        self._mixes = mixes
        self._deadline = deadline

    def packings(self, mixes: int) -> Iterator[int]:
        """Yield how many of the mixes were packed, in one way after the other.

        Raises: SearchDeadlineExceeded.
        """
        quotas = {shape: self._quotas(shape, mixes) for shape in self._shapes}
        for order in self._orders:
            for of_first_pass in (quotas, None):
                yield self._packed(mixes, order, of_first_pass)

    @cached_property
    def _free(self) -> Mapping[str, int]:
        return {
            name: max(each.free_of(shape.capacity.rows), 1)
            for shape in self._shapes
            for name, each in shape.capacity.by_class.items()
        }

    @cached_property
    def _scarcest_last(self) -> Sequence[str]:
        """The classes, the one of which the mixes need the largest part last."""
        parts: defaultdict[str, float] = defaultdict(float)
        for shape in self._shapes:
            for name, total in shape.total.items():
                parts[name] += shape.share * total / self._free[name]
        return sorted(parts, key=lambda name: (parts[name], name))

    @cached_property
    def _orders(self) -> Sequence[Sequence[ShapeOfMix]]:
        """The orders of the shapes: the largest first, and the scarcest first."""

        def size(shape: ShapeOfMix) -> float:
            return max(total / self._free[name] for name, total in shape.total.items())

        largest = tuple(sorted(self._shapes, key=lambda shape: -size(shape)))
        scarcest = tuple(sorted(self._shapes, key=lambda each: each.alone.at_most / each.share))
        return list(dict.fromkeys((largest, scarcest)))

    def _quotas(self, shape: ShapeOfMix, mixes: int) -> AmountArray:
        """Return the claims of a shape that are the part of each root, by row."""
        parts = np.where(shape.capacity.fits, self._mixes, 0)
        total = parts.sum()
        scale = shape.share * min(1.0, mixes / total if total else 1.0)
        sums = np.floor(np.cumsum(parts) * scale).astype(np.int64)
        return np.diff(sums, prepend=0)

    def _packed(
        self,
        mixes: int,
        order: Sequence[ShapeOfMix],
        quotas: Mapping[ShapeOfMix, AmountArray] | None,
    ) -> int:
        self._after = self._before
        left = {shape: mixes * shape.share for shape in order}
        if quotas is not None:
            for shape in order:
                left[shape] -= self._placed(shape, left[shape], quotas[shape])
        for shape in order:
            while left[shape] and (placed := self._placed(shape, left[shape])):
                left[shape] -= placed
        return min(mixes - -(-count // shape.share) for shape, count in left.items())

    def _placed(self, shape: ShapeOfMix, most: int, quotas: AmountArray | None = None) -> int:
        """Claim a shape at most so often, in one round; return how often it was claimed."""
        self._deadline.check()
        this_round = Round(self._after, shape.capacity.slotted, self._deadline)
        placed = self._placed_on_standalone(shape, this_round.standalone, most, quotas)
        if placed < most and len(this_round.others):
            roots = self._ranked(shape, this_round.others)
            claims = this_round.claims(roots, most - placed, quotas)
            placed += sum(count for _, count in claims)
            self._after = claimed(self._after, this_round.taken)
        return placed

    def _placed_on_standalone(
        self, shape: ShapeOfMix, roots: Indices, most: int, quotas: AmountArray | None
    ) -> int:
        if not len(roots):
            return 0
        roots = self._ranked(shape, roots)
        totals = shape.total.items()
        times = [free_by_row(self._after, name)[roots] // amount for name, amount in totals]
        counts = np.min(times, axis=0)
        if quotas is not None:
            counts = np.minimum(counts, quotas[roots])
        counts = np.clip(most - (np.cumsum(counts) - counts), 0, counts)
        amounts = {name: counts * amount for name, amount in totals}
        self._after = claimed_on(self._after, roots, amounts)
        return int(counts.sum())

    def _ranked(self, shape: ShapeOfMix, roots: Indices) -> Indices:
        """Return the roots, those first that fewer other shapes can use, then the fullest."""
        others = (each.capacity.fits[roots] for each in self._shapes if each is not shape)
        usable = sum(others, np.zeros(len(roots), dtype=np.int64))
        names = [name for name in self._scarcest_last if name in shape.total]
        return roots[np.lexsort([*(free_by_root(self._after, n)[roots] for n in names), usable])]
