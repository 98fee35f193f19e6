"""The trees of the providers: rows, parents and roots; and the aggregates of each tree."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress

import numpy as np

from placement.core.model import Provider
from placement.core.snapshot.provider_table import ProviderTable, TreeOrder, tree_order
from placement.core.snapshot.rows import NO_ROW, Ids, Indices, Mask, Numbers, Rows, wide


@dataclass(frozen=True, slots=True, eq=False)
class Forest:
    """The trees of a snapshot. Rows are in tree order.

    Trees are ordered by the id of the root, siblings by their ids, and parents come before
    children. So the same providers have the same rows in every process, and every subtree is a
    slice: the rows from ``row`` on, ``subtree_size[row]`` of them.

    Arrays and ``uuids`` have an element for each row. ``parent`` and ``root`` are rows; the parent
    of a root is -1. ``is_root`` and ``is_single`` are masks; a single provider is a tree of one.
    """

    row_of: Mapping[str, int]
    uuids: Sequence[str]
    ids: Ids
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
        """The number of rows."""
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
        return np.flatnonzero(np.isin(self.ids, wide(ids))).astype(np.int32)

    def has(self, provider: Provider) -> bool:
        """Return whether the provider, which may have been created again, is in its place."""
        if not self._has_identity(provider):
            return False
        parent = self.row_of.get(provider.parent_uuid or "", NO_ROW)
        return self.parent.item(self.row_of[provider.uuid]) == parent

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
        count = self.size
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
        ids = np.append(self.ids, wide(provider.id for provider in new))
        parent = np.append(self.parent, np.full(len(new), NO_ROW, dtype=np.int32))
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


def _ordered(row_of: dict[str, int], uuids: Sequence[str], ids: Ids, trees: TreeOrder) -> Forest:
    """Return the forest; the arguments have the former rows, ``row_of`` becomes part of it."""
    order = trees.order
    uuids = [uuids[row] for row in order.tolist()]
    is_other = order != np.arange(len(order))
    first = int(is_other.argmax()) if is_other.any() else len(order)
    row_of.update(zip(uuids[first:], range(first, len(uuids)), strict=True))
    is_root = trees.parent == NO_ROW
    return Forest(
        row_of=row_of,
        uuids=uuids,
        ids=ids[order],
        parent=trees.parent,
        root=trees.root,
        subtree_size=trees.subtree_size,
        is_root=is_root,
        is_single=is_root & (trees.subtree_size == 1),
        is_nested=not is_root.all(),
    )


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
    def of(cls, forest: Forest, aggregates: Mapping[str, Rows]) -> "TreeAggregates":
        """Return the aggregates of all trees, from the members of each aggregate.

        Cost: a few array operations for each aggregate.
        """
        number = np.zeros(forest.size, dtype=np.int32)
        sets = [frozenset[str]()]
        for uuid, members in aggregates.items():
            roots = forest.root[members.numbers]
            before, which = np.unique(number[roots], return_inverse=True)
            number[roots] = len(sets) + which
            sets += [sets[at] | {uuid} for at in before.tolist()]
        is_used = np.bincount(number, minlength=len(sets)) > 0
        renumbered: Numbers = (np.cumsum(is_used, dtype=np.int32) - 1)[number]
        return cls(renumbered, list(compress(sets, is_used)))
