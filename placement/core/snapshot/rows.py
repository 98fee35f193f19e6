"""Row numbers, and the arrays over rows that the snapshot and the search consist of.

A row is the number of a provider in a snapshot, and in the snapshots derived from it until a
provider is created, moved or removed. Sets of rows are stored as sorted int32 arrays and combined
as boolean masks over all rows. An array that is reachable from a snapshot is never modified.
"""

from collections.abc import Iterable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Numbers: TypeAlias = NDArray[np.int32]
AmountArray: TypeAlias = NDArray[np.int64]
Ids: TypeAlias = NDArray[np.int64]
Indices: TypeAlias = NDArray[np.intp]
Mask: TypeAlias = NDArray[np.bool_]

NO_ROW = -1
"""In an array of rows, the place of a provider that does not exist: the parent of a root."""


def numbers(rows: Iterable[int]) -> Numbers:
    """Return the rows as an array, in the given order."""
    return np.fromiter(rows, dtype=np.int32)


def different(rows: Numbers) -> Numbers:
    """Return each row once, in ascending order; ``np.unique`` takes eight times as long.

    >>> different(numbers([7, 2, 7]))
    array([2, 7], dtype=int32)
    """
    ordered = np.sort(rows)
    is_first = np.ones(len(ordered), np.bool_)
    is_first[1:] = ordered[1:] != ordered[:-1]
    return ordered[is_first]


def wide(values: Iterable[int]) -> NDArray[np.int64]:
    """Return numbers that can exceed 32 bits as an array: sums, and what SQLite stores."""
    return np.fromiter(values, dtype=np.int64)


def mask_of(rows: Numbers | Indices, size: int) -> Mask:
    """Return a new mask of ``size`` rows in which ``rows`` are set."""
    mask = np.zeros(size, dtype=np.bool_)
    mask[rows] = True
    return mask


class Rows:
    """A set of rows, sorted; its mask is computed at first use, and cached."""

    __slots__ = ("_mask", "numbers")

    def __init__(self, sorted_numbers: Numbers) -> None:
        self.numbers = sorted_numbers
        self._mask: Mask | None = None

    def mask(self, size: int) -> Mask:
        """Return the set as a mask of ``size`` rows, which cannot be written to."""
        mask = self._mask
        if mask is None or len(mask) != size:
            mask = mask_of(self.numbers, size)
            mask.flags.writeable = False
            self._mask = mask
        return mask

    def changed(self, added: Iterable[int], removed: Iterable[int]) -> "Rows":
        """Return the set with some rows added and some removed."""
        remaining = np.delete(self.numbers, self.numbers.searchsorted(numbers(removed)))
        new = np.sort(numbers(added))
        return Rows(np.insert(remaining, remaining.searchsorted(new), new))

    def renumbered(self, row_after: Numbers) -> "Rows":
        """Return the set with other rows: ``row_after[row]`` is the new row, or -1."""
        after = row_after[self.numbers]
        return Rows(np.sort(after[after >= 0], kind="stable"))

    def __len__(self) -> int:
        return len(self.numbers)


NO_ROWS = Rows(numbers(()))
