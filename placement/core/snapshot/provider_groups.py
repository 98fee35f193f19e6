"""Sets of groups that providers are in, such as traits, by arrays."""

from collections.abc import Mapping
from typing import Any, TypeVar

import numpy as np

from placement.core.snapshot.distinct_sets import distinct_sets
from placement.core.snapshot.rows import NO_ROW, Numbers, concatenated

K = TypeVar("K", str, tuple[Any, ...])


class ProviderGroups:
    """Finds providers by id, as indices into an array of all ids."""

    def __init__(self, ids: Numbers) -> None:
        self._order = np.argsort(ids).astype(np.int32)
        self._sorted = ids[self._order]

    def index_of(self, ids: Numbers) -> Numbers:
        """Return the index of each id, -1 where it is missing.

        >>> ProviderGroups(np.array([7, 3])).index_of(np.array([3, 4, 7])).tolist()
        [1, -1, 0]
        """
        if not len(self._order):
            return np.full(len(ids), NO_ROW, dtype=np.int32)
        at = np.minimum(np.searchsorted(self._sorted, ids), len(self._order) - 1)
        return np.where(self._sorted[at] == ids, self._order[at], np.int32(NO_ROW))

    def existing(self, ids: Numbers) -> Numbers:
        """Return the indices of the ids that are not missing."""
        indices = self.index_of(ids)
        existing: Numbers = indices[indices >= 0]
        return existing

    def sets(self, members: Mapping[K, list[Numbers]]) -> tuple[Numbers, list[list[K]]]:
        """Return the number of the set of groups of each provider, and the groups of each set.

        ``members`` has the indices of the providers of each group, in parts. The groups of a set
        are sorted.

        >>> groups = ProviderGroups(np.array([7, 3]))
        >>> number, sets = groups.sets({"a": [np.array([1], dtype=np.int32)]})
        >>> [sets[each] for each in number]
        [[], ['a']]
        >>> first = np.array([0], dtype=np.int32)
        >>> groups.sets({"b": [first], "a": [first]})[1]
        [[], ['a', 'b']]
        """
        keys = sorted(members)
        providers = [concatenated(members[key]) for key in keys]
        groups = np.repeat(np.arange(len(keys)), [len(each) for each in providers])
        number, sets = distinct_sets(
            len(self._order), concatenated(providers), groups.astype(np.int32)
        )
        return number, [[keys[group] for group in each] for each in sets]
