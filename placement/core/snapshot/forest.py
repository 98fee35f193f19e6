"""The trees of the providers: rows, parents and roots; and the aggregates of each tree."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from placement.core.model import Provider
from placement.core.snapshot.entries import Entries
from placement.core.snapshot.provider_table import ProviderTable, Shared, TreeOrder, tree_order
from placement.core.snapshot.rows import CHUNK, NO_ROW, Indices, Mask, Numbers, numbers, resized


@dataclass(frozen=True, slots=True, eq=False)
class Forest:
    """The trees of a snapshot. Rows are in tree order.

    Trees are ordered by the id of the root, siblings by their ids, and parents come before
    children. So the same providers have the same rows in every process, and every subtree is a
    slice: the rows from ``row`` on, ``subtree_size[row]`` of them.

    ``uuids`` and ``ids`` have an element for each provider. The other arrays have an element for
    each row; rows after the last provider are free. ``parent`` and ``root`` are rows, -1 if there
    is no such row. ``is_root`` and ``is_single`` are masks; a single provider is a tree of one.
    """

    row_of: Mapping[str, int]
    uuids: Sequence[str]
    ids: Numbers
    parent: Numbers
    root: Numbers
    subtree_size: Numbers
    is_root: Mask
    is_single: Mask
    is_nested: bool

    @classmethod
    def of(cls, table: ProviderTable) -> "Forest":
        """Return the forest of a table in tree order; rows are its indices."""
        row_of = dict(zip(table.uuids, range(len(table)), strict=True))
        rows = np.arange(len(table), dtype=np.int32)
        trees = tree_order(table.parents(row_of), rows)
        return _ordered(row_of, table.uuids, table.ids, trees)

    @property
    def size(self) -> int:
        """The number of rows, including free rows."""
        return len(self.root)

    def members(self, root: int) -> range:
        """Return the rows of the tree with this root, or of a subtree."""
        return range(root, root + self.subtree_size.item(root))

    def members_of_all(self, roots: Indices | Numbers) -> Numbers:
        """Return the rows of several trees, or subtrees, one after the other."""
        sizes = self.subtree_size[roots]
        ends = np.cumsum(sizes, dtype=np.int64)
        shifts = roots - (ends - sizes)
        total = int(ends[-1]) if len(ends) else 0
        return (np.repeat(shifts, sizes) + np.arange(total)).astype(np.int32)

    def ancestors(self, row: int) -> Iterator[int]:
        """Yield a row, its parent, and so on up to the root."""
        while row != NO_ROW:
            yield row
            row = self.parent.item(row)

    def rows_with_ids(self, ids: Collection[int]) -> Numbers:
        """Return the rows of the providers with these ids, ascending; some may not exist."""
        return np.flatnonzero(np.isin(self.ids, numbers(ids))).astype(np.int32)

    def has(self, provider: Provider) -> bool:
        """Return whether the provider, which may have been created again, is in its place."""
        row = self.row_of.get(provider.uuid)
        return (
            row is not None
            and self.ids.item(row) == provider.id
            and self.parent.item(row) == self.row_of.get(provider.parent_uuid or "", NO_ROW)
        )

    def changed(
        self, changed: Sequence[Provider], removed: Collection[int]
    ) -> tuple["Forest", Numbers]:
        """Return the forest with the ``changed`` providers, without the ``removed`` ids.

        Also returns the former row of each provider, -1 for a new provider. A provider with
        another id is another provider: databases may reuse the id or the UUID of a removed
        provider. A provider that is not in ``changed`` and whose parent was removed becomes a
        root, or the child of the provider that now has the UUID of its parent.

        Cost: the tree order of all providers.
        Raises: ParentLoop.
        """
        count = len(self.uuids)
        retained_ids = {provider.id for provider in changed if self._has_identity(provider)}
        new = [provider for provider in changed if provider.id not in retained_ids]
        removed_rows = self.rows_with_ids(
            {*removed, *(provider.id for provider in new)} - retained_ids
        ).tolist()
        removed_rows += [
            self.row_of[provider.uuid] for provider in new if provider.uuid in self.row_of
        ]
        row_of = dict(self.row_of)
        for row in set(removed_rows):
            del row_of[self.uuids[row]]
        row_of.update({provider.uuid: count + number for number, provider in enumerate(new)})
        ids = np.append(self.ids, numbers(provider.id for provider in new))
        parent = resized(self.parent[:count], len(ids), NO_ROW)
        orphans = np.flatnonzero(np.isin(parent, removed_rows))
        parent[orphans] = [row_of.get(self.uuids[row], NO_ROW) for row in parent[orphans].tolist()]
        for provider in changed:
            parent[row_of[provider.uuid]] = row_of.get(provider.parent_uuid or "", NO_ROW)
        by_id = np.argsort(ids).astype(np.int32)
        trees = tree_order(parent, by_id[~np.isin(by_id, removed_rows)])
        uuids = [*self.uuids, *(provider.uuid for provider in new)]
        forest = _ordered(row_of, uuids, ids, trees)
        return forest, np.where(trees.order < count, trees.order, np.int32(NO_ROW))

    def _has_identity(self, provider: Provider) -> bool:
        row = self.row_of.get(provider.uuid)
        return row is not None and self.ids.item(row) == provider.id


def _ordered(
    row_of: dict[str, int], uuids: Sequence[str], ids: Numbers, trees: TreeOrder
) -> Forest:
    """Return the forest; the arguments have the former rows, ``row_of`` becomes part of it."""
    order = trees.order
    uuids = [uuids[row] for row in order.tolist()]
    is_other = order != np.arange(len(order))
    first = int(is_other.argmax()) if is_other.any() else len(order)
    row_of.update(zip(uuids[first:], range(first, len(uuids)), strict=True))
    size = -(-len(order) // CHUNK) * CHUNK
    parent = resized(trees.parent, size, NO_ROW)
    root = resized(trees.root, size, NO_ROW)
    subtree_size = resized(trees.subtree_size, size, 0)
    is_root = (root >= 0) & (parent == NO_ROW)
    return Forest(
        row_of=row_of,
        uuids=uuids,
        ids=ids[order],
        parent=parent,
        root=root,
        subtree_size=subtree_size,
        is_root=is_root,
        is_single=is_root & (subtree_size == 1),
        is_nested=bool((parent >= 0).any()),
    )


NO_AGGREGATES = 0


@dataclass(frozen=True, slots=True, eq=False)
class TreeAggregates:
    """The union of the aggregates of each tree's members.

    ``number`` has, at the row of a root, the index of its set in ``aggregates``. A sharing
    provider may be used at every root whose tree has one of its aggregates. Many trees have the
    same set of aggregates: each set is stored once, and a search evaluates it once.
    """

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
