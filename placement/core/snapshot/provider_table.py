"""Tree order (depth-first, parents before children) of many trees at once, by arrays.

All providers as columns: what a snapshot is built from.

A cloud has few different hosts, so equal parts of the states are stored once. The objects of a
provider are created when they are first read: objects of all providers would be most of the time
of a load, and a third of the memory of a process.

Which of many sets are equal, by arrays.

Sets of groups that providers are in, such as traits, by arrays.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Generic, TypeVar

import numpy as np

from placement.core.model import Inventory, Provider, ProviderState
from placement.core.snapshot.rows import (
    NO_ROW,
    Amounts,
    Indices,
    Mask,
    Numbers,
    concatenated,
    distinct,
    numbers,
)


@dataclass(frozen=True, slots=True)
class TreeOrder:
    """``order`` has the rows in tree order.

    The other arrays are parallel to it; ``parent`` and ``root`` are indices into it, -1 for none.
    """

    order: Numbers
    parent: Numbers
    root: Numbers
    subtree_size: Numbers


class ParentLoop(ValueError):  # noqa: N818
    """The parents of some rows do not lead to a root."""


def tree_order(parent: Numbers, rows: Numbers) -> TreeOrder:
    """Return the order of the trees of some rows; ``parent`` is -1 for roots.

    Roots and siblings stay in the order of ``rows``. Cost: a few array operations per level of
    the deepest tree.

    >>> tree_order(np.array([-1, -1, 0, 2, 0]), np.arange(5)).order.tolist()
    [0, 2, 3, 4, 1]
    """
    root, levels = _levels(parent, rows)
    subtree_size = np.zeros(len(parent), dtype=np.int32)
    subtree_size[rows] = 1
    for level in levels[:0:-1]:
        np.add.at(subtree_size, parent[level], subtree_size[level])
    position = np.full(len(parent) + 1, NO_ROW, dtype=np.int32)  # -1, no row, has none
    position[levels[0]] = _starts(subtree_size[levels[0]])
    for level in levels[1:]:
        siblings = level[np.argsort(parent[level], kind="stable")]
        own, above = _starts(subtree_size[siblings]), parent[siblings]
        is_first = np.diff(above, prepend=NO_ROW) != 0
        first = own[is_first][np.cumsum(is_first) - 1]
        position[siblings] = position[above] + 1 + own - first
    order = np.empty(len(rows), dtype=np.int32)
    order[position[rows]] = rows
    return TreeOrder(order, position[parent[order]], position[root[order]], subtree_size[order])


def _levels(parent: Numbers, rows: Numbers) -> tuple[Numbers, list[Numbers]]:
    """Return the root of each row, and the rows by their distance from it."""
    root = np.full(len(parent), NO_ROW, dtype=np.int32)
    root[rows] = rows
    levels: list[Numbers] = []
    below, above = rows, parent[rows]
    while len(below):
        is_here = above == NO_ROW
        if not is_here.any():  # each level between a root and a row has rows
            raise ParentLoop
        levels.append(below[is_here])
        below, above = below[~is_here], above[~is_here]
        root[below] = above
        above = parent[above]
    return root, levels or [rows]


def _starts(sizes: Numbers) -> Numbers:
    """Return where each of several consecutive slices begins."""
    starts: Numbers = np.cumsum(sizes, dtype=np.int32) - sizes
    return starts


T = TypeVar("T")

InventoriesAndUsed = tuple[Mapping[str, Inventory], Mapping[str, int]]
"""The inventories of a provider and the used amounts, by resource class."""


@dataclass(frozen=True, slots=True, eq=False)
class Shared(Generic[T]):
    """A column with few different values: ``number`` is the index of each into ``values``."""

    number: Numbers
    values: Sequence[T]

    def __getitem__(self, index: int) -> T:
        return self.values[self.number.item(index)]

    def take(self, order: Indices | Numbers) -> "Shared[T]":
        """Return the column in another order."""
        return Shared(self.number[order], self.values)

    def rows_of_values(self) -> list[tuple[T, Numbers]]:
        """Return each value with the indices that have it, in any order, values in use only."""
        # a stable sort is several times faster where alike hosts follow each other
        order = np.argsort(self.number, kind="stable").astype(np.int32)
        counts = np.bincount(self.number, minlength=len(self.values))
        rows = np.split(order, np.cumsum(counts)[:-1]) if len(counts) else []
        return [(value, own) for value, own in zip(self.values, rows, strict=True) if len(own)]


@dataclass(frozen=True, slots=True, eq=False)
class ProviderTable:
    """Providers in any order; all columns have one value for each."""

    ids: Numbers
    uuids: Sequence[str]
    names: Sequence[str]
    generations: Numbers
    parent_uuids: Sequence[str | None]
    root_uuids: Sequence[str]
    modified_at: Sequence[datetime | None]
    amounts: Shared[InventoriesAndUsed]
    traits: Shared[frozenset[str]]
    aggregates: Shared[frozenset[str]]

    @classmethod
    def of(cls, states: Iterable[ProviderState]) -> "ProviderTable":
        """Return the table of some states."""
        listed = list(states)
        providers = [state.provider for state in listed]
        return cls(
            ids=numbers(each.id for each in providers),
            uuids=[each.uuid for each in providers],
            names=[each.name for each in providers],
            generations=numbers(each.generation for each in providers),
            parent_uuids=[each.parent_uuid for each in providers],
            root_uuids=[each.root_uuid for each in providers],
            modified_at=[each.modified_at for each in providers],
            amounts=_amounts(listed),
            traits=shared((each.traits, each.traits) for each in listed),
            aggregates=shared((each.aggregates, each.aggregates) for each in listed),
        )

    def __len__(self) -> int:
        return len(self.uuids)

    def provider(self, index: int) -> Provider:
        """Return a new object for a provider."""
        return Provider(
            self.ids.item(index),
            self.uuids[index],
            self.names[index],
            self.generations.item(index),
            self.parent_uuids[index],
            self.root_uuids[index],
            self.modified_at[index],
        )

    def state(self, index: int) -> ProviderState:
        """Return a new object for a state; its parts are shared."""
        inventories, used = self.amounts[index]
        return ProviderState(
            self.provider(index), inventories, used, self.traits[index], self.aggregates[index]
        )

    def parents(self, index_of: Mapping[str, int]) -> Numbers:
        """Return the index of each parent, -1 where there is none in the table."""
        return numbers(
            NO_ROW if uuid is None else index_of.get(uuid, NO_ROW) for uuid in self.parent_uuids
        )

    def in_tree_order(self) -> "ProviderTable":
        """Return the table tree by tree, trees by the id of the root, siblings by id.

        Raises: ParentLoop.
        """
        table = self
        if (np.diff(self.ids) < 0).any():
            table = self.take(np.argsort(self.ids))
        parents = table.parents(dict(zip(table.uuids, range(len(table)), strict=True)))
        rows = np.arange(len(table), dtype=np.int32)
        return table.take(tree_order(parents, rows).order)

    def take(self, order: Indices | Numbers) -> "ProviderTable":
        """Return the providers with these indices, in this order."""
        at = order.tolist()
        return replace(
            self,
            ids=self.ids[order],
            uuids=_taken(self.uuids, at),
            names=_taken(self.names, at),
            generations=self.generations[order],
            parent_uuids=_taken(self.parent_uuids, at),
            root_uuids=_taken(self.root_uuids, at),
            modified_at=_taken(self.modified_at, at),
            amounts=self.amounts.take(order),
            traits=self.traits.take(order),
            aggregates=self.aggregates.take(order),
        )

    def only(self, mask: Mask) -> "ProviderTable":
        """Return the providers where the mask is set."""
        return self if mask.all() else self.take(np.flatnonzero(mask))


def _taken(values: Sequence[T], at: Iterable[int]) -> list[T]:
    return [values[index] for index in at]


def shared(items: Iterable[tuple[Hashable, T]]) -> Shared[T]:
    """Return the column of some values; those with equal keys are stored once.

    >>> shared([("a", 1), ("b", 2), ("a", 1)]).number.tolist()
    [0, 1, 0]
    """
    number_of: dict[Hashable, int] = {}
    values: list[T] = []
    number = []
    for key, value in items:
        if key not in number_of:
            number_of[key] = len(values)
            values.append(value)
        number.append(number_of[key])
    return Shared(numbers(number), values)


def _amounts(states: Iterable[ProviderState]) -> Shared[InventoriesAndUsed]:
    """Return inventories and used amounts; equal mappings are one object."""
    kept: dict[Hashable, Mapping[str, Inventory]] = {}
    return shared(
        (
            (inventories, tuple(sorted(state.used.items()))),
            (kept.setdefault(inventories, state.inventories), state.used),
        )
        for state in states
        for inventories in (tuple(state.inventories.items()),)
    )


def distinct_sets(
    size: int, owners: Numbers, members: Numbers
) -> tuple[Numbers, list[tuple[int, ...]]]:
    """Return the number of the set of each owner, and the members of each set, ascending.

    ``owners`` (from 0, below ``size``) and ``members`` are parallel; no pair is in them twice.
    Sets are compared member by member: all are extended at once, and each different pair of a
    set and its next member gets a number. Cost: a sort for each member of the largest set.

    >>> number, sets = distinct_sets(4, np.array([2, 0, 0, 2, 3]), np.array([7, 7, 5, 5, 7]))
    >>> [sets[each] for each in number]
    [(5, 7), (), (5, 7), (7,)]
    """
    order = np.lexsort((members, owners))
    members = members[order]
    counts = np.bincount(owners, minlength=size)
    starts = np.cumsum(counts) - counts
    number: Amounts = np.zeros(size, dtype=np.int64)
    # the set with each number is that of another number and one more member; the first is empty
    befores, lasts = [np.zeros(1, dtype=np.int64)], [np.zeros(1, dtype=np.int64)]
    total, width = 1, int(members.max(initial=0)) + 1
    for position in range(int(counts.max(initial=0))):
        at = np.flatnonzero(counts > position)
        keys, _, inverse = distinct(number[at] * width + members[starts[at] + position])
        number[at] = total + inverse
        befores.append(keys // width)
        lasts.append(keys % width)
        total += len(keys)
    used, _, compact = distinct(number)
    before, last = np.concatenate(befores).tolist(), np.concatenate(lasts).tolist()
    return compact.astype(np.int32), [_members(each, before, last) for each in used.tolist()]


def _members(number: int, before: list[int], last: list[int]) -> tuple[int, ...]:
    members = []
    while number:
        members.append(last[number])
        number = before[number]
    return tuple(reversed(members))


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
