"""All providers as columns, from which a snapshot is built, and their tree order, by arrays.

In tree order parents come before their children, depth first.

A cloud has few different hosts, so equal parts of the states are stored once. The objects of a
provider are created when they are first read: objects of all providers would be most of the time
of a load, and a third of the memory of a process.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Generic, TypeVar

import numpy as np

from placement.core.model import Inventory, Provider, ProviderState
from placement.core.snapshot.rows import NO_ROW, Ids, Indices, Mask, Numbers, numbers, wide

T = TypeVar("T")

InventoriesAndUsed = tuple[Mapping[str, Inventory], Mapping[str, int]]
"""The inventories of a provider and the used amounts, by resource class."""


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
    """The parents of these rows do not lead to a root: they are in a loop, or below one."""

    def __init__(self, rows: Numbers) -> None:
        super().__init__(rows)
        self.rows = rows


def tree_order(parent: Numbers, rows: Numbers) -> TreeOrder:
    """Return the order of the trees of some rows; ``parent`` is -1 for roots.

    Roots and siblings stay in the order of ``rows``. Cost: a few array operations per level of
    the deepest tree.

    >>> tree_order(np.array([-1, -1, 0, 2, 0]), np.arange(5)).order.tolist()
    [0, 2, 3, 4, 1]

    Raises: ParentLoop.
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
        starts, above = _starts(subtree_size[siblings]), parent[siblings]
        is_first = np.diff(above, prepend=NO_ROW) != 0
        first = starts[is_first][np.cumsum(is_first) - 1]
        position[siblings] = position[above] + 1 + starts - first
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
            raise ParentLoop(below)
        levels.append(below[is_here])
        below, above = below[~is_here], above[~is_here]
        root[below] = above
        above = parent[above]
    return root, levels or [rows]


def _starts(sizes: Numbers) -> Numbers:
    """Return where each of several consecutive slices begins."""
    starts: Numbers = np.cumsum(sizes, dtype=np.int32) - sizes
    return starts


@dataclass(frozen=True, slots=True, eq=False)
class Shared(Generic[T]):
    """A column with few different values: ``number`` has the indices into ``values``."""

    number: Numbers
    values: Sequence[T]

    def __getitem__(self, index: int) -> T:
        return self.values[self.number.item(index)]

    def take(self, order: Indices | Numbers) -> "Shared[T]":
        """Return the column in another order."""
        return Shared(self.number[order], self.values)

    def rows_of_values(self) -> list[tuple[T, Numbers]]:
        """Return the values in use, in any order, with the indices that have the value."""
        # a stable sort is several times faster where alike hosts follow each other
        order = np.argsort(self.number, kind="stable").astype(np.int32)
        counts = np.bincount(self.number, minlength=len(self.values))
        rows_by_value = np.split(order, np.cumsum(counts)[:-1]) if len(counts) else []
        pairs = zip(self.values, rows_by_value, strict=True)
        return [(value, rows) for value, rows in pairs if len(rows)]


@dataclass(frozen=True, slots=True, eq=False)
class ProviderTable:
    """Providers in any order; every column has one value for each provider."""

    ids: Ids
    uuids: Sequence[str]
    names: Sequence[str]
    generations: Ids
    parent_uuids: Sequence[str | None]
    root_uuids: Sequence[str]
    modified_at: Sequence[datetime | None]
    amounts: Shared[InventoriesAndUsed]
    traits: Shared[frozenset[str]]
    aggregates: Shared[frozenset[str]]

    def __len__(self) -> int:
        return len(self.uuids)

    def state(self, index: int) -> ProviderState:
        """Return a new object for a state; its parts are shared."""
        provider = Provider(
            self.ids.item(index),
            self.uuids[index],
            self.names[index],
            self.generations.item(index),
            self.parent_uuids[index],
            self.root_uuids[index],
            self.modified_at[index],
        )
        inventories, used = self.amounts[index]
        return ProviderState(
            provider, inventories, used, self.traits[index], self.aggregates[index]
        )

    def parents(self, index_of: Mapping[str, int]) -> Numbers:
        """Return the indices of the parents, -1 for a parent that is not in the table."""
        return numbers(
            NO_ROW if uuid is None else index_of.get(uuid, NO_ROW) for uuid in self.parent_uuids
        )

    def in_tree_order(self) -> "ProviderTable":
        """Return the table tree by tree, trees by the id of the root, siblings by id.

        Providers in or below a loop of parents have no place in any tree, and are left out.
        """
        table = self
        if (np.diff(self.ids) < 0).any():
            table = self.take(np.argsort(self.ids))
        parents = table.parents(dict(zip(table.uuids, range(len(table)), strict=True)))
        rows = np.arange(len(table), dtype=np.int32)
        try:
            trees = tree_order(parents, rows)
        except ParentLoop as loop:
            trees = tree_order(parents, np.setdiff1d(rows, loop.rows))
        return table.take(trees.order)

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


NO_PROVIDERS = ProviderTable(
    ids=wide(()),
    uuids=(),
    names=(),
    generations=wide(()),
    parent_uuids=(),
    root_uuids=(),
    modified_at=(),
    amounts=Shared(numbers(()), ()),
    traits=Shared(numbers(()), ()),
    aggregates=Shared(numbers(()), ()),
)
"""The table of a cloud without providers."""
