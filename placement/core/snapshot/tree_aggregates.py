"""The union of the aggregates of each tree's members.

A sharing provider may be used at every root whose tree has one of its
aggregates. Many trees have the same set of aggregates: each set is stored once,
and a search evaluates it once.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from placement.core.snapshot.entries import Entries
from placement.core.snapshot.forest import Forest
from placement.core.snapshot.provider_table import Shared
from placement.core.snapshot.rows import Numbers, numbers, resized

NO_AGGREGATES = 0


@dataclass(frozen=True, slots=True, eq=False)
class TreeAggregates:
    """``number`` has, at the row of a root, the index of its set in ``aggregates``."""

    number: Numbers
    aggregates: Sequence[frozenset[str]]

    @classmethod
    def of(cls, forest: Forest, column: Shared[frozenset[str]]) -> "TreeAggregates":
        """Return the aggregates of all trees; ``column`` has one set for each row.

        Cost: array operations, and a union for each tree whose members have different sets.
        """
        number_of: dict[frozenset[str], int] = {frozenset(): NO_AGGREGATES}
        # the sets of the column by their index there, and then by the index here
        indices = numbers(
            number_of.setdefault(aggregates, len(number_of)) for aggregates in column.values
        )
        number_of_row = indices[column.number]
        rows = np.flatnonzero(number_of_row != NO_AGGREGATES)
        sets = list(number_of)
        pairs = np.unique(forest.root[rows].astype(np.int64) * len(sets) + number_of_row[rows])
        of_root = pairs % len(sets)
        roots, firsts = np.unique(pairs // len(sets), return_index=True)
        ends = np.append(firsts[1:], len(pairs))
        number = np.full(forest.size, NO_AGGREGATES, dtype=np.int32)
        number[roots] = of_root[firsts]
        for at in np.flatnonzero(ends - firsts > 1):
            members = (sets[index] for index in of_root[firsts[at] : ends[at]])
            union = frozenset().union(*members)
            number[roots[at]] = number_of.setdefault(union, len(number_of))
        return cls(number, list(number_of))

    def renumbered(self, former: Numbers) -> "TreeAggregates":
        """Return the aggregates of trees whose roots had other rows; -1 is a new provider."""
        number = np.append(self.number, np.int32(NO_AGGREGATES))
        return TreeAggregates(number[former], self.aggregates)

    def changed(self, forest: Forest, entries: Entries, roots: Iterable[int]) -> "TreeAggregates":
        """Return the aggregates after some trees changed; some unused sets may remain."""
        number_of = {aggregates: number for number, aggregates in enumerate(self.aggregates)}
        number: Numbers = resized(self.number, forest.size, NO_AGGREGATES)
        for root in roots:
            aggregates = _of_tree(forest, entries, root)
            number[root] = number_of.setdefault(aggregates, len(number_of))
        after = TreeAggregates(number, list(number_of))
        return after._without_unused() if len(number_of) > len(number) + 1 else after

    def _without_unused(self) -> "TreeAggregates":
        used, number = np.unique(np.append(NO_AGGREGATES, self.number), return_inverse=True)
        aggregates = [self.aggregates[at] for at in used.tolist()]
        return TreeAggregates(number[1:].astype(np.int32), aggregates)


def _of_tree(forest: Forest, entries: Entries, root: int) -> frozenset[str]:
    if forest.is_single.item(root):
        return entries.aggregates(root)
    return frozenset().union(*(entries.aggregates(row) for row in forest.members(root)))
