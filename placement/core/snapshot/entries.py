"""The providers of a snapshot by row, and text that is cached with each."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain

import numpy as np

from placement.core.model import ProviderState
from placement.core.snapshot.provider_table import ProviderTable
from placement.core.snapshot.rows import CHUNK, NO_ROW, Numbers


class ProviderEntry:
    """A provider of the snapshot, with text that was rendered from it or from its tree.

    A change of the provider creates a new entry, and so does, for the entry of a root, a
    change of any provider of its tree: cached text is never stale.
    """

    __slots__ = ("_texts", "state")

    def __init__(self, state: ProviderState) -> None:
        self.state = state
        self._texts: dict[str, bytes] | None = None

    def cached_text(self, form: str) -> bytes | None:
        """Return the text of a form, None if it has not been rendered."""
        return None if self._texts is None else self._texts.get(form)

    def text(self, form: str, render: Callable[[], bytes]) -> bytes:
        """Return the result of ``render``, called once per form.

        Two threads may both call it; the results are equal.
        """
        if self._texts is None:
            self._texts = {}
        text = self._texts.get(form)
        if text is None:
            text = self._texts[form] = render()
        return text


class _Unread:
    """The place of an entry that is created from the table when it is first read."""


_UNREAD = _Unread()

_Chunk = list[ProviderEntry | _Unread | None]


class Entries:
    """The entry of each row, in chunks, so that a changed copy shares all but a few of them.

    An entry is created from the table when it is first read. Two threads may both create one: they
    are equal, and only text that is cached with the other one is lost.
    """

    __slots__ = ("_chunks", "_index", "_table")

    def __init__(self, chunks: Sequence[_Chunk], table: ProviderTable, index: Numbers) -> None:
        self._chunks = chunks
        self._table = table
        self._index = index  # by row, that in the table; read only where the entry is not created

    @classmethod
    def of(cls, table: ProviderTable) -> "Entries":
        """Return the entries of the providers, whose rows are their indices in the table."""
        index = np.arange(len(table), dtype=np.int32)
        return cls(_chunks([_UNREAD] * len(table)), table, index)

    @property
    def size(self) -> int:
        """The number of rows: a whole number of chunks."""
        return len(self._chunks) * CHUNK

    def get(self, row: int) -> ProviderEntry | None:
        """Return the entry of a row, None if the row is free."""
        if row >= self.size:
            return None
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
        """Return the entries of the former rows; -1 is a new provider, without an entry so far."""
        entries = [*chain.from_iterable(self._chunks), None]
        index = np.append(self._index, np.int32(NO_ROW))
        return Entries(
            _chunks([entries[row] for row in former.tolist()]), self._table, index[former]
        )


def _chunks(entries: _Chunk) -> list[_Chunk]:
    entries = entries + [None] * (-len(entries) % CHUNK)
    return [entries[start : start + CHUNK] for start in range(0, len(entries), CHUNK)]
