"""The inventories of one resource class, as arrays."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from placement.core import capacity
from placement.core.model import MAX_INT, Inventory
from placement.core.snapshot.rows import Amounts, Mask, Numbers, mask_of, numbers, without

Portion = tuple[int, int]
MAX_FREE = 2**43  # of one inventory: the sum over a million still fits an int64


@dataclass(frozen=True, slots=True)
class Stock:
    """What the search must know of one inventory: room is -1 where nothing fits.

    ``free`` is the capacity less what is used, not below 0 and whatever ``max_unit`` is,
    and at most ``MAX_FREE``.
    """

    room: int
    portion: Portion
    free: int
    max_unit: int

    @classmethod
    def of(cls, inventory: Inventory, used: int) -> "Stock":
        """Return the stock of an inventory, by the arithmetic that claims are decided with."""
        return cls(
            room=max(capacity.room(inventory, used), -1),
            portion=(inventory.min_unit, inventory.step_size),
            free=min(capacity.free(inventory, used), MAX_FREE),
            max_unit=inventory.max_unit,
        )


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """All inventories of one class.

    ``rows`` is sorted; ``room``, ``portion`` and ``max_unit`` run parallel to it, all int32,
    and ``free``, which is int64: a total times a ratio.
    ``room`` is the largest amount that capacity and ``max_unit`` leave. A cloud
    has few different (min_unit, step_size) pairs: they are kept once, in
    ``portions``, and by number in ``portion``, which spares a division per row.
    ``max_unit`` is kept beside ``room`` for explanations: it separates an amount that is
    too large for one allocation from one that is in use.
    """

    rows: Numbers
    room: Numbers
    portion: Numbers
    max_unit: Numbers
    portions: tuple[Portion, ...]
    free: Amounts

    @classmethod
    def of(cls, stocks: Mapping[int, Stock]) -> "Column":
        """Return the column of the stocks by row; the rows must come in order."""
        portions: dict[Portion, int] = {}
        portion = [portions.setdefault(s.portion, len(portions)) for s in stocks.values()]
        return cls(
            rows=numbers(stocks),
            room=numbers(stock.room for stock in stocks.values()),
            portion=numbers(portion),
            max_unit=numbers(stock.max_unit for stock in stocks.values()),
            portions=tuple(portions),
            free=_amounts(stock.free for stock in stocks.values()),
        )

    def fitting(self, amount: int, size: int) -> Mask:
        """Return where the amount fits, as a mask of ``size`` rows."""
        if amount > MAX_INT:
            return np.zeros(size, dtype=np.bool_)
        given = [low <= amount and amount % step == 0 for low, step in self.portions]
        enough = self.room >= amount
        if not all(given):
            enough &= np.array(given, dtype=np.bool_)[self.portion]
        return mask_of(self.rows[enough], size)

    def admitting(self, amount: int, size: int) -> Mask:
        """Return where one allocation may be of this amount, however much is free."""
        if amount > MAX_INT:
            return np.zeros(size, dtype=np.bool_)
        given = np.array([low <= amount and amount % step == 0 for low, step in self.portions])
        return mask_of(self.rows[(self.max_unit >= amount) & given[self.portion]], size)

    def holding(self, amount: int, size: int) -> Mask:
        """Return where the amount is left, in whatever portions, as a mask of ``size`` rows."""
        if amount > MAX_INT:
            return np.zeros(size, dtype=np.bool_)
        return mask_of(self.rows[self.room >= amount], size)

    def room_by_row(self, size: int) -> Numbers:
        """Return the room of every row, -1 without inventory."""
        dense = np.full(size, -1, dtype=np.int32)
        dense[self.rows] = self.room
        return dense

    def largest(self, rows: Mask) -> int:
        """Return the largest amount that fits some of the rows, 0 if none does."""
        here = rows[self.rows]
        best = 0
        for number, (low, step) in enumerate(self.portions):
            room = self.room[here & (self.portion == number)]
            amount = int(room.max(initial=0)) // step * step
            best = max(best, amount if amount >= low else 0)
        return best

    def changed(self, stocks: Mapping[int, Stock], removed: Iterable[int]) -> "Column":
        """Return the column with some stocks set and some rows gone.

        Costs a copy of ``room`` and ``free`` if neither rows nor portions change, as after a
        claim; otherwise a copy of all arrays.
        """
        gone = np.sort(numbers(removed))
        rows = without(self.rows, gone)
        kept = self if rows is self.rows else self._only(~np.isin(self.rows, gone))
        fresh = {row: stock for row, stock in sorted(stocks.items()) if not kept._has(row)}
        return kept._with_rows(fresh)._with_stocks(stocks)

    def _has(self, row: int) -> bool:
        index = int(np.searchsorted(self.rows, row))
        return index < len(self.rows) and int(self.rows[index]) == row

    def _only(self, kept: Mask) -> "Column":
        return Column(
            self.rows[kept],
            self.room[kept],
            self.portion[kept],
            self.max_unit[kept],
            self.portions,
            self.free[kept],
        )

    def _with_rows(self, fresh: Mapping[int, Stock]) -> "Column":
        if not fresh:
            return self
        rows = numbers(fresh)
        where = np.searchsorted(self.rows, rows)
        return replace(
            self,
            rows=np.insert(self.rows, where, rows),
            room=np.insert(self.room, where, -1),
            portion=np.insert(self.portion, where, 0),
            max_unit=np.insert(self.max_unit, where, MAX_INT),
            free=np.insert(self.free, where, 0),
        )

    def _with_stocks(self, stocks: Mapping[int, Stock]) -> "Column":
        portions = {portion: number for number, portion in enumerate(self.portions)}
        where = np.searchsorted(self.rows, numbers(stocks))
        portion = numbers(
            portions.setdefault(stock.portion, len(portions)) for stock in stocks.values()
        )
        room = self.room.copy()
        room[where] = numbers(stock.room for stock in stocks.values())
        free = self.free.copy()
        free[where] = _amounts(stock.free for stock in stocks.values())
        max_unit = numbers(stock.max_unit for stock in stocks.values())
        return Column(
            self.rows,
            room,
            _put(self.portion, where, portion),
            _put(self.max_unit, where, max_unit),
            tuple(portions),
            free,
        )


def _amounts(values: Iterable[int]) -> Amounts:
    return np.fromiter(values, dtype=np.int64)


def _put(
    array: Numbers, where: np.ndarray[tuple[int], np.dtype[np.intp]], values: Numbers
) -> Numbers:
    """Return the array with other values in some places; itself if it has them already."""
    if np.array_equal(array[where], values):
        return array
    copy = array.copy()
    copy[where] = values
    return copy
