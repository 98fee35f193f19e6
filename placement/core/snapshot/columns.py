"""The inventories of one resource class, as arrays."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from placement.core import capacity
from placement.core.model import MAX_INT, Inventory
from placement.core.snapshot.rows import (
    Amounts,
    Indices,
    Mask,
    Numbers,
    mask_of,
    numbers,
)

UnitRule = tuple[int, int]
"""(min_unit, step_size)"""

MAX_FREE = 2**43
"""Limit of the free capacity of one inventory: the sum over a million fits an int64."""


@dataclass(frozen=True, slots=True)
class Cell:
    """The data of one inventory in a snapshot.

    ``allocatable`` is the largest amount that one consumer can allocate, at most
    ``max_unit``, and -1 where nothing fits. ``free`` is the capacity minus the used
    amount, independent of ``max_unit``, between 0 and ``MAX_FREE``. ``max_unit`` is for
    explanations: it separates an amount that is too large for one allocation from
    one that is in use.
    """

    allocatable: int
    unit_rule: UnitRule
    free: int
    max_unit: int

    @classmethod
    def of(cls, inventory: Inventory, used: int) -> "Cell":
        """Return the cell of an inventory, by the arithmetic that decides claims."""
        return cls(
            allocatable=max(capacity.allocatable(inventory, used), -1),
            unit_rule=(inventory.min_unit, inventory.step_size),
            free=min(capacity.free(inventory, used), MAX_FREE),
            max_unit=inventory.max_unit,
        )


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """All inventories of one resource class.

    ``rows`` is sorted; the other arrays are parallel to it, see ``Cell``. All are int32
    except ``free``, which is int64: a total times a ratio.
    A cloud has few different (min_unit, step_size) pairs: ``unit_rules`` has each
    pair once. ``unit_rule`` is the index of the pair, which avoids a division per row.
    """

    rows: Numbers
    allocatable: Numbers
    unit_rule: Numbers
    max_unit: Numbers
    unit_rules: tuple[UnitRule, ...]
    free: Amounts

    @classmethod
    def of(cls, cells: Sequence[tuple[Cell, Numbers]]) -> "Column":
        """Return the column of cells with the rows that have them; the rows are all different."""
        unit_rules: dict[UnitRule, int] = {}
        unit_rule = [unit_rules.setdefault(cell.unit_rule, len(unit_rules)) for cell, _ in cells]
        counts = [len(rows) for _, rows in cells]
        rows = np.concatenate([rows for _, rows in cells])
        order = np.argsort(rows)
        of_row = np.repeat(np.arange(len(cells)), counts)[order]
        return cls(
            rows=rows[order],
            allocatable=numbers(cell.allocatable for cell, _ in cells)[of_row],
            unit_rule=numbers(unit_rule)[of_row],
            max_unit=numbers(cell.max_unit for cell, _ in cells)[of_row],
            unit_rules=tuple(unit_rules),
            free=_amounts(cell.free for cell, _ in cells)[of_row],
        )

    def __len__(self) -> int:
        return len(self.rows)

    def fitting(self, amount: int, size: int) -> Mask:
        """Return where one allocation of the amount fits, as a mask of ``size`` rows."""
        if amount > MAX_INT:
            return np.zeros(size, dtype=np.bool_)
        is_valid = [low <= amount and amount % step == 0 for low, step in self.unit_rules]
        enough = self.allocatable >= amount
        if not all(is_valid):
            enough &= np.array(is_valid, dtype=np.bool_)[self.unit_rule]
        mask = np.zeros(size, dtype=np.bool_)
        mask[self.rows] = enough
        return mask

    def admitting(self, amount: int, size: int) -> Mask:
        """Return where one allocation may have the amount, independent of usage."""
        if amount > MAX_INT:
            return np.zeros(size, dtype=np.bool_)
        is_valid = np.array(
            [low <= amount and amount % step == 0 for low, step in self.unit_rules],
            dtype=np.bool_,
        )
        return mask_of(self.rows[(self.max_unit >= amount) & is_valid[self.unit_rule]], size)

    def has_allocatable(self, amount: int, size: int) -> Mask:
        """Return where several allocations can have the amount together, as a mask of rows."""
        if amount > MAX_INT:
            return np.zeros(size, dtype=np.bool_)
        return mask_of(self.rows[self.allocatable >= amount], size)

    def allocatable_by_row(self, size: int) -> Numbers:
        """Return the allocatable amount of every row, -1 without inventory."""
        dense = np.full(size, -1, dtype=np.int32)
        dense[self.rows] = self.allocatable
        return dense

    def changed(self, cells: Mapping[int, Cell], removed: Iterable[int]) -> "Column":
        """Return the column with some cells set and some rows removed.

        Costs a copy of ``allocatable`` and ``free`` if neither rows nor unit rules
        change, as after a claim; otherwise a copy of all arrays.
        """
        rows, removed_rows = numbers(cells), numbers(removed)
        column = self
        if len(removed_rows):
            column = self._take(np.flatnonzero(~np.isin(self.rows, removed_rows)), self.rows)
        missing = column._missing(rows)
        if len(missing):
            column = column._with_rows(np.sort(missing))
        return column._with_cells(rows, list(cells.values()))

    def _missing(self, rows: Numbers) -> Numbers:
        if not len(self.rows):
            return rows
        at = self.rows.searchsorted(rows)
        missing: Numbers = rows[self.rows.take(at, mode="clip") != rows]
        return missing

    def renumbered(self, row_after: Numbers) -> "Column":
        """Return the column with other rows: ``row_after[row]`` is the new row, or -1."""
        rows = row_after[self.rows]
        order = np.argsort(rows, kind="stable")
        return self._take(order[np.count_nonzero(rows < 0) :], rows)

    def _take(self, at: Indices, rows: Numbers) -> "Column":
        """Return some of the inventories, as inventories of these rows, which must ascend."""
        return Column(
            rows[at],
            self.allocatable[at],
            self.unit_rule[at],
            self.max_unit[at],
            self.unit_rules,
            self.free[at],
        )

    def _with_rows(self, rows: Numbers) -> "Column":
        at = np.searchsorted(self.rows, rows)
        return replace(
            self,
            rows=np.insert(self.rows, at, rows),
            allocatable=np.insert(self.allocatable, at, -1),
            unit_rule=np.insert(self.unit_rule, at, 0),
            max_unit=np.insert(self.max_unit, at, MAX_INT),
            free=np.insert(self.free, at, 0),
        )

    def _with_cells(self, rows: Numbers, cells: Sequence[Cell]) -> "Column":
        at = self.rows.searchsorted(rows)
        unit_rules = {rule: number for number, rule in enumerate(self.unit_rules)}
        unit_rule = [unit_rules.setdefault(cell.unit_rule, len(unit_rules)) for cell in cells]
        allocatable, free = self.allocatable.copy(), self.free.copy()
        allocatable[at] = [cell.allocatable for cell in cells]
        free[at] = [cell.free for cell in cells]
        column = Column(
            self.rows,
            allocatable,
            _with_values(self.unit_rule, at, unit_rule),
            _with_values(self.max_unit, at, [cell.max_unit for cell in cells]),
            tuple(unit_rules),
            free,
        )
        is_larger = len(unit_rules) > len(self.unit_rules)
        return column._without_unused_rules() if is_larger else column

    def _without_unused_rules(self) -> "Column":
        used, unit_rule = np.unique(self.unit_rule, return_inverse=True)
        return replace(
            self,
            unit_rule=unit_rule.astype(np.int32),
            unit_rules=tuple(self.unit_rules[number] for number in used.tolist()),
        )


def _amounts(values: Iterable[int]) -> Amounts:
    return np.fromiter(values, dtype=np.int64)


def _with_values(array: Numbers, at: Indices, values: list[int]) -> Numbers:
    """Return the array with other values at some indices; itself if it has these values."""
    if array[at].tolist() == values:
        return array
    copy = array.copy()
    copy[at] = values
    return copy


NO_INVENTORIES = Column(
    rows=numbers(()),
    allocatable=numbers(()),
    unit_rule=numbers(()),
    max_unit=numbers(()),
    unit_rules=(),
    free=_amounts(()),
)
"""The column of a class without inventories."""
