"""Providers by row: the arrays that the snapshot and the search are made of.

A row is the number under which one snapshot, and all made from it, knows a
provider. Sets of rows are sorted int32 arrays where they are kept, and boolean
masks over all rows where they are combined. Nothing here is ever changed in
place once it is reachable from a snapshot.
"""

from collections.abc import Iterable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Numbers: TypeAlias = NDArray[np.int32]
Amounts: TypeAlias = NDArray[np.int64]
Indices: TypeAlias = NDArray[np.intp]
Mask: TypeAlias = NDArray[np.bool_]

CHUNK = 1024  # there are always a whole number of chunks of rows: arrays seldom grow


def numbers(rows: Iterable[int]) -> Numbers:
    """Return the rows as an array, in the order given."""
    return np.fromiter(rows, dtype=np.int32)


def mask_of(rows: Numbers, size: int) -> Mask:
    """Return a new mask of ``size`` rows in which the given ones are set."""
    mask = np.zeros(size, dtype=np.bool_)
    mask[rows] = True
    return mask


class Rows:
    """A set of rows, sorted; its mask is made when it is first asked for, and kept."""

    __slots__ = ("_mask", "numbers")

    def __init__(self, sorted_numbers: Numbers) -> None:
        self.numbers = sorted_numbers
        self._mask: Mask | None = None

    def mask(self, size: int) -> Mask:
        """Return the set as a mask of ``size`` rows; not to be written to."""
        mask = self._mask
        if mask is None or len(mask) != size:
            mask = self._mask = mask_of(self.numbers, size)
        return mask

    def changed(self, added: Iterable[int], removed: Iterable[int]) -> "Rows":
        """Return the set with some rows more and some less; one copy of the array."""
        kept = without(self.numbers, numbers(removed))
        fresh = np.sort(numbers(added))
        return Rows(np.insert(kept, np.searchsorted(kept, fresh), fresh))

    def __len__(self) -> int:
        return len(self.numbers)


def without(rows: Numbers, removed: Numbers) -> Numbers:
    """Return sorted rows less some of them."""
    return np.delete(rows, np.searchsorted(rows, removed)) if len(removed) else rows


def widened(array: NDArray[np.generic], size: int, filler: int) -> NDArray[np.generic]:
    """Return a copy of an array over rows that is ``size`` long."""
    copy = np.full(size, filler, dtype=array.dtype)
    copy[: len(array)] = array
    return copy
