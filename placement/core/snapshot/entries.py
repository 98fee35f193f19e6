"""The providers of a snapshot by row, with text that is cached for each tree.

``changed_columns`` and ``changed_sets`` compare old and new states for ``Snapshot.apply``.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from typing import TypeVar

import numpy as np

from placement.core.model import ProviderState
from placement.core.snapshot.columns import NO_INVENTORIES, Cell, Column
from placement.core.snapshot.provider_table import ProviderTable
from placement.core.snapshot.rows import NO_ROW, NO_ROWS, Numbers, Rows

CHUNK = 1024

P = TypeVar("P", Column, Rows)


class ProviderEntry:
    """A provider of the snapshot; the entry of a root has the text that was rendered of its tree.

    A change of the provider creates a new entry, and so does, for the entry of a root, a
    change of any provider of its tree: cached text is never stale.
    """

    __slots__ = ("state", "tree_text")

    def __init__(self, state: ProviderState) -> None:
        self.state = state
        self.tree_text: bytes | None = None


_Chunk = list[ProviderEntry | None]


class Entries:
    """The entries by row, in chunks: a changed copy shares all but a few chunks.

    An entry is None until it is read, and then created from the table. Two threads may create the
    same entry: both objects are equal, and only text that is cached with one of them is lost.
    """

    __slots__ = ("_chunks", "_index", "_table")

    def __init__(self, chunks: Sequence[_Chunk], table: ProviderTable, index: Numbers) -> None:
        self._chunks = chunks
        self._table = table
        self._index = index  # the index in the table, by row; -1 for a provider without a state

    @classmethod
    def of(cls, table: ProviderTable) -> "Entries":
        """Return the entries of the providers, whose rows are their indices in the table."""
        index = np.arange(len(table), dtype=np.int32)
        return cls(_chunks([None] * len(table)), table, index)

    def get(self, row: int) -> ProviderEntry | None:
        """Return the entry of a row, None if the provider is new and has no state yet."""
        entry = self._chunks[row // CHUNK][row % CHUNK]
        is_new = entry is None and self._index.item(row) == NO_ROW
        return None if is_new else entry or self._created(row)

    def _created(self, row: int) -> ProviderEntry:
        state = self._table.state(self._index.item(row))
        entry = self._chunks[row // CHUNK][row % CHUNK] = ProviderEntry(state)
        return entry

    def state(self, row: int) -> ProviderState:
        """Return the state of the provider of a row."""
        entry = self._chunks[row // CHUNK][row % CHUNK]
        return self._table.state(self._index.item(row)) if entry is None else entry.state

    def take(self, rows: Iterable[int]) -> list[ProviderEntry]:
        """Return the entries of the rows, in their order."""
        chunks = self._chunks
        return [chunks[row // CHUNK][row % CHUNK] or self._created(row) for row in rows]

    def changed(self, changes: Mapping[int, ProviderEntry]) -> "Entries":
        """Return the entries with some rows replaced."""
        chunks = list(self._chunks)
        for number in {row // CHUNK for row in changes}:
            chunks[number] = list(chunks[number])
        for row, entry in changes.items():
            chunks[row // CHUNK][row % CHUNK] = entry
        return Entries(chunks, self._table, self._index)

    def renumbered(self, former: Numbers) -> "Entries":
        """Return the entries of the former rows; -1 is a new provider without a state."""
        entries = [*chain.from_iterable(self._chunks), None]
        index = np.append(self._index, np.int32(NO_ROW))
        return Entries(
            _chunks([entries[row] for row in former.tolist()]), self._table, index[former]
        )


def _chunks(entries: _Chunk) -> list[_Chunk]:
    return [entries[start : start + CHUNK] for start in range(0, len(entries), CHUNK)]


def changed_columns(
    columns: Mapping[str, Column],
    before: Mapping[int, ProviderState],
    after: Mapping[int, ProviderState],
) -> Mapping[str, Column]:
    """Return the columns after a change of the states of some rows; a new provider has no before.

    Unchanged columns are shared.
    """
    cells: defaultdict[str, dict[int, Cell]] = defaultdict(dict)
    removed: defaultdict[str, list[int]] = defaultdict(list)
    for row, new in after.items():
        old = before.get(row)
        inventories, amounts = (old.inventories, old.used) if old else ({}, {})
        for name, inventory in new.inventories.items():
            used = new.used.get(name, 0)
            if used != amounts.get(name, 0) or inventory != inventories.get(name):
                cells[name][row] = Cell.of(inventory, used)
        for name in inventories.keys() - new.inventories.keys():
            removed[name].append(row)
    changed = {
        name: columns.get(name, NO_INVENTORIES).changed(cells[name], removed[name])
        for name in {**cells, **removed}
    }
    return _merged(columns, changed)


def changed_sets(
    sets: Mapping[str, Rows],
    before: Mapping[int, ProviderState],
    after: Mapping[int, ProviderState],
    names_of: Callable[[ProviderState], frozenset[str]],
) -> Mapping[str, Rows]:
    """Return the sets of rows by name after a change of some states; see ``changed_columns``."""
    added: defaultdict[str, list[int]] = defaultdict(list)
    removed: defaultdict[str, list[int]] = defaultdict(list)
    for row, state in after.items():
        new, old = names_of(state), names_of(before[row]) if row in before else frozenset()
        for name in new - old:
            added[name].append(row)
        for name in old - new:
            removed[name].append(row)
    changed = {
        name: sets.get(name, NO_ROWS).changed(added[name], removed[name])
        for name in {**added, **removed}
    }
    return _merged(sets, changed)


def _merged(parts: Mapping[str, P], changed: Mapping[str, P]) -> Mapping[str, P]:
    """Return the parts with some replaced, without empty parts; themselves if none changed."""
    after = {**parts, **changed}
    return {name: part for name, part in after.items() if len(part)} if changed else parts
