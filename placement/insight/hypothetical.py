"""Snapshots as they would be after claims, or without some providers: only columns differ.

They are for the search alone: the states of their providers are those of the original snapshot.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from placement.core.snapshot.columns import Column
from placement.core.snapshot.rows import Amounts, Mask, numbers
from placement.core.snapshot.snapshot import Snapshot

Taken = Mapping[tuple[str, int], int]
"""Amounts by class and row."""


def free_by_row(snapshot: Snapshot, name: str) -> Amounts:
    """Return the free amount of a class in every row, 0 without inventory."""
    amounts, column = np.zeros(snapshot.size, dtype=np.int64), snapshot.column(name)
    amounts[column.rows] = column.free
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
        name: _reduced(snapshot.columns[name], amounts)
        for name, amounts in by_class.items()
        if name in snapshot.columns
    }
    return replace(snapshot, columns={**snapshot.columns, **changed}) if changed else snapshot


def without(snapshot: Snapshot, removed: Mask) -> Snapshot:
    """Return the snapshot in which nothing is free on some providers."""
    columns = {name: _emptied(column, removed) for name, column in snapshot.columns.items()}
    return replace(snapshot, columns=columns)


def _emptied(column: Column, removed: Mask) -> Column:
    is_removed = removed[column.rows]
    return replace(
        column,
        free=np.where(is_removed, 0, column.free),
        allocatable=np.where(is_removed, np.int32(-1), column.allocatable),
    )


def _reduced(column: Column, amounts: Mapping[int, int]) -> Column:
    """Return the column after free amounts, by row, are allocated."""
    rows = numbers(amounts)
    at = column.rows.searchsorted(rows)
    has_inventory = column.rows.take(at, mode="clip") == rows
    at, taken = at[has_inventory], np.fromiter(amounts.values(), dtype=np.int64)[has_inventory]
    free, allocatable = column.free.copy(), column.allocatable.copy()
    free[at] -= taken
    allocatable[at] = np.minimum(free[at], column.max_unit[at])
    return replace(column, free=free, allocatable=allocatable)
