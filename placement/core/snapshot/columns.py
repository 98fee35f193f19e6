"""The inventories of one resource class, as arrays."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from placement.core import capacity
from placement.core.model import Inventory
from placement.core.snapshot.rows import AmountArray, Indices, Mask, Numbers, Rows, numbers, wide

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
    free: AmountArray

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
            free=wide(cell.free for cell, _ in cells)[of_row],
        )

    def __len__(self) -> int:
        return len(self.rows)

    def fitting(self, amount: int, size: int) -> Mask:
        """Return where one allocation of the amount fits, as a mask of ``size`` rows."""
        return self._mask((self.allocatable >= amount) & self._follows_rules(amount), size)

    def admitting(self, amount: int, size: int) -> Mask:
        """Return where one allocation may have the amount, independent of usage."""
        return self._mask((self.max_unit >= amount) & self._follows_rules(amount), size)

    def has_allocatable(self, amount: int, size: int) -> Mask:
        """Return where several allocations can have the amount together, as a mask of rows."""
        return self._mask(self.allocatable >= amount, size)

    def _follows_rules(self, amount: int) -> Mask | bool:
        """Return which inventories have unit rules that admit the amount; True if all have."""
        is_valid = [low <= amount and amount % step == 0 for low, step in self.unit_rules]
        return all(is_valid) or np.array(is_valid, dtype=np.bool_)[self.unit_rule]

    def _mask(self, is_set: Mask, size: int) -> Mask:
        if len(self) == size:  # every row has an inventory: the rows are in order
            return is_set
        mask = np.zeros(size, dtype=np.bool_)
        mask[self.rows] = is_set
        return mask

    def allocatable_by_row(self, size: int) -> Numbers:
        """Return the allocatable amount of every row, -1 without inventory."""
        dense = np.full(size, -1, dtype=np.int32)
        dense[self.rows] = self.allocatable
        return dense

    def changed(self, cells: Mapping[int, Cell], removed: Sequence[int]) -> "Column":
        """Return the column with some cells set and some rows removed.

        Unit rules that no inventory has any longer may remain.
        Cost: a copy of the arrays; for a claim, of all but ``rows``.
        """
        if not len(self):
            return Column.of([(cell, numbers([row])) for row, cell in cells.items()])
        rows, column = numbers(cells), self
        missing = rows[self.rows.take(self.rows.searchsorted(rows), mode="clip") != rows]
        if len(missing) or removed:
            # the place of a new row has the values of a neighbor, until its cell is set
            rows_after = Rows(self.rows).changed(missing, removed).numbers
            neighbors = np.minimum(self.rows.searchsorted(rows_after), len(self) - 1)
            column = self._take(neighbors, rows_after)
        return column._with_cells(column.rows.searchsorted(rows), list(cells.values()))

    def renumbered(self, row_after: Numbers) -> "Column":
        """Return the column with other rows: ``row_after[row]`` is the new row, or -1."""
        rows = row_after[self.rows]
        order = np.argsort(rows, kind="stable")
        at = order[np.count_nonzero(rows < 0) :]
        return self._take(at, rows[at])

    def _take(self, at: Indices, rows: Numbers) -> "Column":
        """Return the inventories at some indices, as inventories of these rows."""
        return Column(
            rows,
            self.allocatable[at],
            self.unit_rule[at],
            self.max_unit[at],
            self.unit_rules,
            self.free[at],
        )

    def _with_cells(self, at: Indices, cells: Sequence[Cell]) -> "Column":
        unit_rules = {rule: number for number, rule in enumerate(self.unit_rules)}
        allocatable, unit_rule = self.allocatable.copy(), self.unit_rule.copy()
        max_unit, free = self.max_unit.copy(), self.free.copy()
        allocatable[at] = [cell.allocatable for cell in cells]
        unit_rule[at] = [unit_rules.setdefault(cell.unit_rule, len(unit_rules)) for cell in cells]
        max_unit[at] = [cell.max_unit for cell in cells]
        free[at] = [cell.free for cell in cells]
        return Column(self.rows, allocatable, unit_rule, max_unit, tuple(unit_rules), free)


NO_INVENTORIES = Column(
    rows=numbers(()),
    allocatable=numbers(()),
    unit_rule=numbers(()),
    max_unit=numbers(()),
    unit_rules=(),
    free=wide(()),
)
"""The column of a class without inventories."""
