"""Which aggregates the members of each tree are in, taken together.

A sharing provider may be used at every root that has one of its aggregates in
its neighbourhood. Most trees of a cloud have one of a few tree_aggregates, so
each is kept once and a search looks at each once.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from placement.core.snapshot.entries import Entries
from placement.core.snapshot.forest import Forest
from placement.core.snapshot.rows import Numbers, widened

NOWHERE = 0


@dataclass(frozen=True, slots=True, eq=False)
class TreeAggregates:
    """``number`` is, for the row of each root, the index of its set in ``aggregates``."""

    number: Numbers
    aggregates: Sequence[frozenset[str]]

    @classmethod
    def of(cls, forest: Forest, entries: Entries) -> "TreeAggregates":
        """Return the tree_aggregates of all roots."""
        empty = cls(np.zeros(0, dtype=np.int32), [frozenset()])
        return empty.changed(forest, entries, np.flatnonzero(forest.is_root).tolist())

    def changed(self, forest: Forest, entries: Entries, roots: Iterable[int]) -> "TreeAggregates":
        """Return the tree_aggregates after some trees changed; sets no longer used may stay."""
        known = {aggregates: number for number, aggregates in enumerate(self.aggregates)}
        number: Numbers = widened(self.number, forest.size, NOWHERE)  # type: ignore[assignment]
        for root in roots:
            number[root] = known.setdefault(_of_tree(forest, entries, root), len(known))
        return TreeAggregates(number, list(known))

    @property
    def is_littered(self) -> bool:
        """Whether so many sets are no longer used that it is time to start anew."""
        return len(self.aggregates) > len(self.number) + 1


def _of_tree(forest: Forest, entries: Entries, root: int) -> frozenset[str]:
    tree = forest.branched.get(root)
    if tree is None:
        return entries.state(root).aggregates
    return frozenset().union(*(entries.state(row).aggregates for row in tree.members))
