"""The differences between states of providers, as ``Snapshot.apply`` needs them."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

from placement.core.model import Inventory, Provider, ProviderState
from placement.core.snapshot.columns import Cell, Column
from placement.core.snapshot.entries import Entries
from placement.core.snapshot.rows import NO_ROWS, Rows

RowDiff = tuple[list[int], list[int]]
"""The rows that were added to a set, and those that were removed."""


def _row_diffs() -> defaultdict[str, RowDiff]:
    return defaultdict(lambda: ([], []))


@dataclass(frozen=True, slots=True)
class StateDiff:
    """The differences between states, by resource class, trait and aggregate."""

    cells: defaultdict[str, dict[int, Cell]] = field(default_factory=lambda: defaultdict(dict))
    removed_cells: defaultdict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    traits: defaultdict[str, RowDiff] = field(default_factory=_row_diffs)
    aggregates: defaultdict[str, RowDiff] = field(default_factory=_row_diffs)
    _cell_of: dict[tuple[int, int], Cell] = field(default_factory=dict)

    @classmethod
    def between(cls, before: Entries, after: Mapping[int, ProviderState]) -> "StateDiff":
        """Return how the rows of ``after`` differ from ``before``."""
        diff = cls()
        for row in sorted(after):
            entry = before.get(row)
            diff._add(row, entry.state if entry else None, after[row])
        return diff

    def _add(self, row: int, before: ProviderState | None, new: ProviderState) -> None:
        old = before or _EMPTY_STATE
        if old.inventories is not new.inventories or old.used is not new.used:
            self._add_cells(row, old, new)
        _add_names(self.traits, row, old.traits, new.traits)
        _add_names(self.aggregates, row, old.aggregates, new.aggregates)

    def _add_cells(self, row: int, old: ProviderState, new: ProviderState) -> None:
        for name, inventory in new.inventories.items():
            used = new.used.get(name, 0)
            if used != old.used.get(name, 0) or inventory != old.inventories.get(name):
                self.cells[name][row] = self._cell(inventory, used)
        for name in old.inventories:
            if name not in new.inventories:
                self.removed_cells[name].append(row)

    def _cell(self, inventory: Inventory, used: int) -> Cell:
        """Return the cell, the same for all providers with this inventory object."""
        key = id(inventory), used
        cell = self._cell_of.get(key)
        if cell is None:
            cell = self._cell_of[key] = Cell.of(inventory, used)
        return cell

    def columns(self, columns: Mapping[str, Column]) -> Mapping[str, Column]:
        """Return the columns after the changes; unchanged ones are shared."""
        if not self.cells and not self.removed_cells:
            return columns
        after = dict(columns)
        for name in {**self.cells, **self.removed_cells}:
            cells = self.cells.get(name, {})
            column = after.get(name)
            after[name] = (
                column.changed(cells, self.removed_cells.get(name, ()))
                if column
                else Column.of(cells)
            )
            if not len(after[name].rows):
                del after[name]
        return after


def changed_sets(sets: Mapping[str, Rows], diffs: Mapping[str, RowDiff]) -> Mapping[str, Rows]:
    """Return the sets after the changes; unchanged ones are shared."""
    if not diffs:
        return sets
    after = dict(sets)
    for name, (added, removed) in diffs.items():
        after[name] = after.get(name, NO_ROWS).changed(added, removed)
        if not len(after[name]):
            del after[name]
    return after


def _add_names(
    diffs: defaultdict[str, RowDiff], row: int, old: frozenset[str], new: frozenset[str]
) -> None:
    if old is new or old == new:
        return
    for name in new - old:
        diffs[name][0].append(row)
    for name in old - new:
        diffs[name][1].append(row)


_EMPTY_STATE = ProviderState(
    provider=Provider(id=0, uuid="", name="", generation=0, parent_uuid=None, root_uuid=""),
    inventories={},
    used={},
    traits=frozenset(),
    aggregates=frozenset(),
)
