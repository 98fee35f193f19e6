"""The providers of a snapshot by row, with text that is cached for each tree.

``StateDiff`` has the differences between old and new states of providers, as ``Snapshot.apply``
needs them.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

import numpy as np

from placement.core.model import Provider, ProviderState
from placement.core.snapshot.columns import NO_INVENTORIES, Cell, Column
from placement.core.snapshot.provider_table import ProviderTable
from placement.core.snapshot.rows import CHUNK, NO_ROW, NO_ROWS, Numbers, Rows

RowDiff = tuple[list[int], list[int]]
"""The rows that were added to a set, and the rows that were removed from it."""

_EMPTY_STATE = ProviderState(
    provider=Provider(id=0, uuid="", name="", generation=0, parent_uuid=None, root_uuid=""),
    inventories={},
    used={},
    traits=frozenset(),
    aggregates=frozenset(),
)


class ProviderEntry:
    """A provider of the snapshot; the entry of a root has the text that was rendered of its tree.

    A change of the provider creates a new entry, and so does, for the entry of a root, a
    change of any provider of its tree: cached text is never stale.
    """

    __slots__ = ("state", "tree_text")

    def __init__(self, state: ProviderState) -> None:
        self.state = state
        self.tree_text: bytes | None = None


class _Unread:
    """The place of an entry that is created from the table when it is first read."""


_UNREAD = _Unread()

_Chunk = list[ProviderEntry | _Unread | None]


class Entries:
    """The entries by row, in chunks: a changed copy shares all but a few chunks.

    An entry is created from the table when it is first read. Two threads may create the same
    entry: both objects are equal, and only text that is cached with one of them is lost.
    """

    __slots__ = ("_chunks", "_index", "_table")

    def __init__(self, chunks: Sequence[_Chunk], table: ProviderTable, index: Numbers) -> None:
        self._chunks = chunks
        self._table = table
        self._index = index  # the index in the table, by row; read until the entry is created

    @classmethod
    def of(cls, table: ProviderTable) -> "Entries":
        """Return the entries of the providers, whose rows are their indices in the table."""
        index = np.arange(len(table), dtype=np.int32)
        return cls(_chunks([_UNREAD] * len(table)), table, index)

    def get(self, row: int) -> ProviderEntry | None:
        """Return the entry of a row, None if the row is free."""
        entry = self._chunks[row // CHUNK][row % CHUNK]
        return self._created(row) if isinstance(entry, _Unread) else entry

    def _created(self, row: int) -> ProviderEntry:
        state = self._table.state(self._index.item(row))
        entry = self._chunks[row // CHUNK][row % CHUNK] = ProviderEntry(state)
        return entry

    def state(self, row: int) -> ProviderState:
        """Return the state of the provider of a row.  Raises: LookupError if the row is free."""
        entry = self._chunks[row // CHUNK][row % CHUNK]
        if entry is None:
            raise LookupError(row)
        if isinstance(entry, _Unread):
            return self._table.state(self._index.item(row))
        return entry.state

    def aggregates(self, row: int) -> frozenset[str]:
        """Return the aggregates of the provider of a row, without creating its state."""
        entry = self._chunks[row // CHUNK][row % CHUNK]
        if entry is _UNREAD:
            return self._table.aggregates[self._index.item(row)]
        return self.state(row).aggregates

    def take(self, rows: Iterable[int]) -> list[ProviderEntry]:
        """Return the entries of the rows, in their order, without free rows."""
        chunks, unread = self._chunks, _UNREAD
        entries = [
            self._created(row) if entry is unread else entry
            for row in rows
            for entry in (chunks[row // CHUNK][row % CHUNK],)
        ]
        return list(filter(None, entries))  # type: ignore[arg-type]

    def changed(self, changes: Mapping[int, ProviderEntry]) -> "Entries":
        """Return the entries with some rows replaced."""
        chunks = list(self._chunks)
        for number in {row // CHUNK for row in changes}:
            chunks[number] = list(chunks[number])
        for row, entry in changes.items():
            chunks[row // CHUNK][row % CHUNK] = entry
        return Entries(chunks, self._table, self._index)

    def renumbered(self, former: Numbers) -> "Entries":
        """Return the entries of the former rows; -1 is a new provider without an entry."""
        entries = [*chain.from_iterable(self._chunks), None]
        index = np.append(self._index, np.int32(NO_ROW))
        return Entries(
            _chunks([entries[row] for row in former.tolist()]), self._table, index[former]
        )


def _chunks(entries: _Chunk) -> list[_Chunk]:
    entries = entries + [None] * (-len(entries) % CHUNK)
    return [entries[start : start + CHUNK] for start in range(0, len(entries), CHUNK)]


def _row_diffs() -> defaultdict[str, RowDiff]:
    return defaultdict(lambda: ([], []))


@dataclass(frozen=True, slots=True)
class StateDiff:
    """The differences between states, by resource class, trait and aggregate."""

    cells: defaultdict[str, dict[int, Cell]] = field(default_factory=lambda: defaultdict(dict))
    removed_cells: defaultdict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    traits: defaultdict[str, RowDiff] = field(default_factory=_row_diffs)
    aggregates: defaultdict[str, RowDiff] = field(default_factory=_row_diffs)

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
                self.cells[name][row] = Cell.of(inventory, used)
        for name in old.inventories:
            if name not in new.inventories:
                self.removed_cells[name].append(row)

    def columns(self, columns: Mapping[str, Column]) -> Mapping[str, Column]:
        """Return the columns after the changes; unchanged columns are shared."""
        if not self.cells and not self.removed_cells:
            return columns
        after = dict(columns)
        for name in {**self.cells, **self.removed_cells}:
            column = after.get(name, NO_INVENTORIES)
            after[name] = column.changed(self.cells[name], self.removed_cells[name])
            if not len(after[name]):
                del after[name]
        return after


def changed_sets(sets: Mapping[str, Rows], diffs: Mapping[str, RowDiff]) -> Mapping[str, Rows]:
    """Return the sets after the changes; unchanged sets are shared."""
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
