"""Snapshots as they would be after claims, or without some providers: only columns differ.

They are for the search alone: the states of their providers are those of the original snapshot.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from placement.core.model import Inventory
from placement.core.search.deadline import Deadline
from placement.core.search.slots import Slot
from placement.core.snapshot.columns import Cell, Column
from placement.core.snapshot.rows import AmountArray, Indices, Mask, Numbers, numbers, wide
from placement.core.snapshot.snapshot import Snapshot

Taken = Mapping[tuple[str, int], int]
"""Amounts by class and row."""


def free_by_row(snapshot: Snapshot, name: str) -> AmountArray:
    """Return the free amount of a class in every row, 0 without inventory."""
    amounts, column = np.zeros(snapshot.size, dtype=np.int64), snapshot.column(name)
    amounts[column.rows] = column.free
    return amounts


def by_root(snapshot: Snapshot, amounts: AmountArray) -> AmountArray:
    """Return the sum of amounts by row over each tree, at the row of its root."""
    if not snapshot.forest.is_nested:
        return amounts
    return np.bincount(snapshot.forest.root, amounts, snapshot.size).astype(np.int64)


def free_by_root(snapshot: Snapshot, name: str) -> AmountArray:
    """Return the free amount of a class in each tree, at the row of its root."""
    amounts, column = np.zeros(snapshot.size, dtype=np.int64), snapshot.column(name)
    np.add.at(amounts, snapshot.forest.root[column.rows], column.free)
    return amounts


def amounts_of(slots: Sequence[Slot], rows: Sequence[int]) -> Counter[tuple[str, int]]:
    """Return the amounts of an assignment of providers to slots."""
    amounts = Counter[tuple[str, int]]()
    for slot, row in zip(slots, rows, strict=True):
        for name, amount in slot.resources:
            amounts[name, row] += amount
    return amounts


def claimed(snapshot: Snapshot, taken: Taken) -> Snapshot:
    """Return the snapshot after free amounts were claimed, or, if they are negative, released.

    What is released is free even if usage exceeds the capacity: a claim that does not increase
    usage is accepted. Classes and providers without inventory are ignored.
    """
    by_class: defaultdict[str, dict[int, int]] = defaultdict(dict)
    for (name, row), amount in taken.items():
        by_class[name][row] = amount
    changed = {
        name: _reduced(snapshot.columns[name], numbers(amounts), wide(amounts.values()))
        for name, amounts in by_class.items()
        if name in snapshot.columns
    }
    return replace(snapshot, columns={**snapshot.columns, **changed}) if changed else snapshot


def claimed_on(snapshot: Snapshot, rows: Indices, by_class: Mapping[str, AmountArray]) -> Snapshot:
    """Return the snapshot after claims on rows that have inventories of all these classes.

    The amounts of a class are parallel to the rows.
    """
    changed = {
        name: _reduced(snapshot.columns[name], rows, amounts) for name, amounts in by_class.items()
    }
    return replace(snapshot, columns={**snapshot.columns, **changed})


def allocated(snapshot: Snapshot, taken: Taken) -> Snapshot:
    """Return the snapshot with more used, or, if an amount is negative, with less used.

    Unlike ``claimed``, nothing is free as long as usage exceeds the capacity.
    """
    by_class: defaultdict[str, dict[int, Cell]] = defaultdict(dict)
    for (name, row), amount in taken.items():
        state = snapshot.entries.state(row)
        if name in state.inventories:
            used = max(state.used.get(name, 0) + amount, 0)
            by_class[name][row] = Cell.of(state.inventories[name], used)
    changed = {name: snapshot.columns[name].changed(by_class[name], ()) for name in by_class}
    return replace(snapshot, columns={**snapshot.columns, **changed})


def emptied(snapshot: Snapshot, names: Iterable[str], deadline: Deadline) -> Snapshot:
    """Return the snapshot in which nothing of some classes is used.

    Cost: a few microseconds for each provider with an inventory of the classes.
    Raises: SearchDeadlineExceeded.
    """
    columns = {name: snapshot.columns[name] for name in names if name in snapshot.columns}
    rows_by_inventory: Mapping[str, defaultdict[Inventory, list[int]]]
    rows_by_inventory = {name: defaultdict(list) for name in columns}
    for row in sorted({row for each in columns.values() for row in each.rows.tolist()}):
        deadline.tick()
        inventories = snapshot.entries.state(row).inventories
        for name in rows_by_inventory.keys() & inventories.keys():
            rows_by_inventory[name][inventories[name]].append(row)
    changed = {
        name: Column.of([(Cell.of(each, 0), numbers(rows)) for each, rows in by_inventory.items()])
        for name, by_inventory in rows_by_inventory.items()
    }
    return replace(snapshot, columns={**snapshot.columns, **changed})


def without(snapshot: Snapshot, removed: Mask) -> Snapshot:
    """Return the snapshot in which nothing is free on some providers."""
    columns = {}
    for name, column in snapshot.columns.items():
        is_removed = removed[column.rows]
        free = np.where(is_removed, 0, column.free)
        allocatable = np.where(is_removed, np.int32(-1), column.allocatable)
        columns[name] = replace(column, free=free, allocatable=allocatable)
    return replace(snapshot, columns=columns)


def _reduced(column: Column, rows: Indices | Numbers, amounts: AmountArray) -> Column:
    """Return the column after free amounts of rows are allocated."""
    at = column.rows.searchsorted(rows)
    has_inventory = column.rows.take(at, mode="clip") == rows
    at, taken = at[has_inventory], amounts[has_inventory]
    free, allocatable = column.free.copy(), column.allocatable.copy()
    free[at] -= taken
    allocatable[at] = np.minimum(free[at], column.max_unit[at])
    return replace(column, free=free, allocatable=allocatable)
