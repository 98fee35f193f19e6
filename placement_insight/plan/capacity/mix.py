"""How often a mix of shapes fits, such as 200 claims of a small shape and 20 of a large one.

The count is the largest number of mixes for which a packing was found (``packing``). The bound is
the least of two kinds of bounds: what each shape allows alone, and what several shapes together
have of a class (``bounds_of``).
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from itertools import combinations
from math import gcd

import numpy as np
from numpy.typing import NDArray

from placement.core.request import CandidateRequest
from placement.core.search.deadline import Deadline
from placement.core.snapshot.rows import AmountArray, Mask
from placement.core.snapshot.snapshot import Snapshot
from placement.exception import SearchDeadlineExceeded
from placement_insight.plan.capacity.model import Capacity, CapacityOfRoots
from placement_insight.plan.capacity.packing import Packer, ShapeOfMix
from placement_insight.plan.hypothetical import by_root as sums_by_root
from placement_insight.plan.hypothetical import free_by_row

Shares = NDArray[np.float64]
"""Numbers of mixes, by row."""

_ROUNDING = 1 + 1e-9
_SHARE_OF_ALONE = 0.3  # of the time


class CapacityOfMix:
    """The capacity of all roots for mixes of shapes, each with its number of claims in one mix.

    ``alone`` is the capacity for each shape alone.
    Raises: UnknownTrait, UnknownResourceClass, SearchDeadlineExceeded.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        shapes: Sequence[tuple[CandidateRequest, int]],
        deadline: Deadline,
    ) -> None:
        self._snapshot = snapshot
        self._deadline = deadline
        part = _SHARE_OF_ALONE / len(shapes)
        self._shapes = [
            ShapeOfMix(CapacityOfRoots(snapshot, request, deadline.fraction(part)), share)
            for request, share in shapes
        ]
        self.alone = [shape.alone for shape in self._shapes]
        self.is_finished = all(shape.capacity.is_finished for shape in self._shapes)

    def total(self) -> Capacity:
        """Return the capacity of all considered roots."""
        at_most = self._at_most()
        claims = self._claims(at_most) if at_most else 0
        needed = _needed(self._shapes)
        free = {name: self._free(name) for name in needed}
        fitting = reduce(np.logical_or, [shape.capacity.fits for shape in self._shapes])
        return Capacity(
            claims=claims,
            at_most=at_most,
            roots=int(fitting.sum()),
            exact=claims == at_most,
            largest={
                name: max(each.largest.get(name, 0) for each in self.alone) for name in needed
            },
            free=free,
            stranded={
                name: max(free[name] - claims * amount, 0) for name, amount in needed.items()
            },
            limited_by=self._limited_by(needed),
        )

    def _at_most(self) -> int:
        """Return a number of mixes that no order of claims exceeds."""
        least = min(shape.alone.at_most // shape.share for shape in self._shapes)
        if least == 0:
            return 0
        for size in sorted({2, len(self._shapes)} - {1}):
            for shapes in combinations(self._shapes, size):
                least = min([least, *bounds_of(self._snapshot, shapes)])
        return least

    def _claims(self, at_most: int) -> int:
        """Return the largest number of mixes for which a packing is found; see ``is_finished``."""
        packer = Packer(self._snapshot, self._shapes, self._of_each_root(), self._deadline)
        low, high, guess = 0, at_most, at_most
        try:
            while low < high:
                for packed in packer.packings(guess):
                    low = max(low, packed)
                    if low >= guess:
                        break
                else:
                    high = guess - 1
                guess = (low + high + 1) // 2
        except SearchDeadlineExceeded:
            self.is_finished = False
        return low

    def _of_each_root(self) -> Shares:
        """Return the number of mixes of each root, if a mix has the shapes that fit on it."""
        fits = [shape.capacity.fits for shape in self._shapes]
        least = reduce(np.minimum, self._ratios(fits).values())
        return np.where(np.isfinite(least), least, 0)

    def _ratios(self, among: Sequence[Mask]) -> Mapping[str, Shares]:
        """Return the mixes for which each root has enough of each class.

        A mix has the shapes in whose mask of roots the root is.
        """
        ratios = {}
        for name in _needed(self._shapes):
            needs = [shape.share * float(shape.total.get(name, 0)) for shape in self._shapes]
            needed = np.sum([need * mask for need, mask in zip(needs, among, strict=True)], axis=0)
            capacities = [shape.capacity.by_class.get(name) for shape in self._shapes]
            having = reduce(np.maximum, [each.reachable for each in capacities if each])
            ratios[name] = _divided(having, needed)
        return ratios

    def _free(self, name: str) -> int:
        """Return the free amount of a class on the providers of all considered roots."""
        masks = (
            shape.capacity.by_class[name].of_roots(shape.considered)
            for shape in self._shapes
            if name in shape.total
        )
        return int(free_by_row(self._snapshot, name)[reduce(np.logical_or, masks)].sum())

    def _limited_by(self, names: Mapping[str, int]) -> Mapping[str, int]:
        """Return the number of roots on which each class is the first to run out."""
        ratios = self._ratios([shape.considered for shape in self._shapes])
        first = np.argmin(np.stack(list(ratios.values())), axis=0)
        limited = [shape.considered & shape.capacity.is_limited for shape in self._shapes]
        counts = np.bincount(first[reduce(np.logical_or, limited)], minlength=len(names))
        return {name: count for name, count in zip(names, counts.tolist(), strict=True) if count}


def bounds_of(snapshot: Snapshot, shapes: Sequence[ShapeOfMix]) -> Iterator[int]:
    """Yield bounds of the mixes for which several shapes together have enough of a class.

    If providers share the class, it is the free amount of all providers that a shape can use,
    divided by the amounts of one mix. Otherwise a root counts at most as many mixes as it has of
    each class: each claim counts as the part of a mix that its amount of the class is. Of an
    amount only multiples of the common divisor of all requested amounts are used.
    """
    needed = _needed(shapes)
    usable = {name: _usable(snapshot, shapes, name) for name in needed}
    by_root = {
        name: sums_by_root(snapshot, amounts)
        for name, amounts in usable.items()
        if not any(
            shape.capacity.by_class[name].sharing for shape in shapes if name in shape.total
        )
    }
    for name, amount in needed.items():
        if name not in by_root:
            yield int(usable[name].sum()) // amount
            continue
        parts = [shape.total.get(name, 0) / amount for shape in shapes]
        bounds = [
            _divided(having, _least_amounts(shapes, parts, other))
            for other, having in by_root.items()
        ]
        yield int(reduce(np.minimum, bounds).sum() * _ROUNDING)


def _least_amounts(shapes: Sequence[ShapeOfMix], parts: Sequence[float], name: str) -> Shares:
    """Return, by root, the least amount of a class that a whole mix of parts takes there."""
    of_shapes = [
        np.where(shape.capacity.fits, shape.total.get(name, 0) / part, np.inf)
        for shape, part in zip(shapes, parts, strict=True)
        if part
    ]
    return reduce(np.minimum, of_shapes)


def _usable(snapshot: Snapshot, shapes: Sequence[ShapeOfMix], name: str) -> AmountArray:
    """Return the free amounts that any of the shapes can use, by row."""
    able = reduce(np.logical_or, [shape.able(name) for shape in shapes])
    free = free_by_row(snapshot, name)
    return np.where(able, free - free % gcd(*(shape.unit(name) for shape in shapes)), 0)


def _needed(shapes: Sequence[ShapeOfMix]) -> Mapping[str, int]:
    """Return the amounts of one mix."""
    needed = Counter[str]()
    for shape in shapes:
        needed.update({name: shape.share * amount for name, amount in shape.total.items()})
    return needed


def _divided(amounts: Shares | AmountArray, by: Shares) -> Shares:
    """Return the quotients; infinity where nothing is needed."""
    quotients: Shares = np.full(len(by), np.inf)
    return np.divide(amounts, by, out=quotients, where=by > 0)
