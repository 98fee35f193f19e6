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
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from placement.core.search.deadline import Deadline
from placement.core.snapshot.rows import AmountArray, Indices
from placement.core.snapshot.snapshot import Snapshot
from placement.insight.capacity.counts import Round
from placement.insight.capacity.model import CapacityOfRoots
from placement.insight.hypothetical import claimed, claimed_on, free_by_row

Order = tuple[int, ...]
"""Numbers of shapes."""


class Packer:
    """Packs mixes of shapes on one snapshot.

    ``mixes`` is the number of mixes that each root has the amounts of, by row.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        shapes: Sequence[CapacityOfRoots],
        shares: Sequence[int],
        mixes: NDArray[np.float64],
        deadline: Deadline,
    ) -> None:
        self._snapshot = snapshot
        self._shapes = shapes
        self._shares = shares
        self._mixes = mixes
        self._deadline = deadline

    def packings(self, mixes: int) -> Iterator[int]:
        """Yield how many of the mixes were packed, in one way after the other.

        Raises: SearchDeadlineExceeded.
        """
        quotas = [self._quotas(number, mixes) for number in range(len(self._shapes))]
        for order in self._orders:
            for of_first_pass in (quotas, None):
                yield self._packed(mixes, order, of_first_pass)

    @cached_property
    def _free(self) -> Mapping[str, int]:
        return {
            name: max(each.free_of(shape.rows), 1)
            for shape in self._shapes
            for name, each in shape.by_class.items()
        }

    @cached_property
    def _scarcest_last(self) -> Sequence[str]:
        """The classes, the one of which the mixes need the largest part last."""
        parts: defaultdict[str, float] = defaultdict(float)
        for shape, share in zip(self._shapes, self._shares, strict=True):
            for name, each in shape.by_class.items():
                parts[name] += share * each.total / self._free[name]
        return sorted(parts, key=lambda name: (parts[name], name))

    @cached_property
    def _orders(self) -> Sequence[Order]:
        """The orders of the shapes: the largest first, and the scarcest first."""
        numbers = range(len(self._shapes))
        size = [
            max(each.total / self._free[name] for name, each in shape.by_class.items())
            for shape in self._shapes
        ]
        alone = [
            shape.of(shape.rows).at_most / share
            for shape, share in zip(self._shapes, self._shares, strict=True)
        ]
        largest = tuple(sorted(numbers, key=lambda number: -size[number]))
        scarcest = tuple(sorted(numbers, key=lambda number: alone[number]))
        return list(dict.fromkeys((largest, scarcest)))

    def _quotas(self, number: int, mixes: int) -> AmountArray:
        """Return the claims of a shape that are the part of each root, by row."""
        fits = self._shapes[number].fits
        parts = np.where(fits, self._mixes, 0)
        total = parts.sum()
        scale = self._shares[number] * min(1.0, mixes / total if total else 1.0)
        sums = np.floor(np.cumsum(parts) * scale).astype(np.int64)
        return np.diff(sums, prepend=0)

    def _packed(self, mixes: int, order: Order, quotas: Sequence[AmountArray] | None) -> int:
        packing = _Packing(self._snapshot, self._shapes, self._scarcest_last, self._deadline)
        left = [mixes * share for share in self._shares]
        if quotas is not None:
            for number in order:
                left[number] -= packing.placed(number, left[number], quotas[number])
        for number in order:
            while left[number] and (placed := packing.placed(number, left[number])):
                left[number] -= placed
        return min(
            mixes - -(-count // share) for count, share in zip(left, self._shares, strict=True)
        )


class _Packing:
    """The snapshot between two claims of a packing."""

    def __init__(
        self,
        snapshot: Snapshot,
        shapes: Sequence[CapacityOfRoots],
        names: Sequence[str],
        deadline: Deadline,
    ) -> None:
        self._snapshot = snapshot
        self._shapes = shapes
        self._names = names
        self._deadline = deadline

    def placed(self, number: int, most: int, quotas: AmountArray | None = None) -> int:
        """Claim a shape at most so often, in one round; return how often it was claimed."""
        self._deadline.check()
        this_round = Round(self._snapshot, self._shapes[number].slotted, self._deadline)
        placed = self._placed_on_standalone(number, this_round.standalone, most, quotas)
        if placed < most and len(this_round.others):
            roots = self._ranked(number, this_round.others)
            claims = this_round.claims(roots, most - placed, quotas)
            placed += sum(count for _, count in claims)
            self._snapshot = claimed(self._snapshot, this_round.taken)
        return placed

    def _placed_on_standalone(
        self, number: int, roots: Indices, most: int, quotas: AmountArray | None
    ) -> int:
        if not len(roots):
            return 0
        roots = self._ranked(number, roots)
        by_class = self._shapes[number].by_class
        counts = np.min(
            [self._free(name)[roots] // each.total for name, each in by_class.items()], axis=0
        )
        if quotas is not None:
            counts = np.minimum(counts, quotas[roots])
        counts = np.clip(most - (np.cumsum(counts) - counts), 0, counts)
        amounts = {name: counts * each.total for name, each in by_class.items()}
        self._snapshot = claimed_on(self._snapshot, roots, amounts)
        return int(counts.sum())

    def _ranked(self, number: int, roots: Indices) -> Indices:
        """Return the roots, those first that fewer other shapes can use, then the fullest."""
        others = (shape.fits[roots] for at, shape in enumerate(self._shapes) if at != number)
        usable = sum(others, np.zeros(len(roots), dtype=np.int64))
        return roots[np.lexsort([*self._free_of(number, roots), usable])]

    def _free_of(self, number: int, roots: Indices) -> Iterator[AmountArray]:
        forest = self._snapshot.forest
        for name in self._names:
            if name not in self._shapes[number].by_class:
                continue
            free = self._free(name)
            if forest.is_nested:
                free = np.bincount(forest.root, free, self._snapshot.size).astype(np.int64)
            yield free[roots]

    def _free(self, name: str) -> AmountArray:
        return free_by_row(self._snapshot, name)
