"""The trees of the providers: rows, parents, roots, and the members of every tree."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from placement.core.model import Provider
from placement.core.snapshot.rows import CHUNK, Mask, Numbers, resized

NONE = -1


class Tree(NamedTuple):
    """A tree of two or more providers, in tree order.

    ``members`` are rows, parents before children, siblings in ascending order.
    ``parents`` has, for each member, the position of its parent in ``members``, -1 for
    the root. Trees of the same shape share one ``parents`` tuple. ``is_contiguous``:
    the rows are consecutive, unless a provider was created later than the rest of its tree.
    """

    members: tuple[int, ...]
    parents: tuple[int, ...]
    is_contiguous: bool


SINGLE_PARENTS = (NONE,)


@dataclass(frozen=True, slots=True, eq=False)
class Forest:
    """The trees of a snapshot.

    ``parent`` and ``root`` are int32 arrays over all rows, -1 where there is
    none (a free row has neither). ``is_root`` and ``is_single`` are masks; a single
    provider is a tree of one. ``nested_trees`` has the other trees by root: a cloud
    of 100,000 flat hosts does not store 100,000 tuples of one.
    """

    row_of: Mapping[str, int]
    row_of_id: Mapping[int, int]
    uuids: Sequence[str]
    parent: Numbers
    root: Numbers
    is_root: Mask
    is_single: Mask
    nested_trees: Mapping[int, Tree]
    free: tuple[int, ...]

    @classmethod
    def of(cls, providers: Iterable[Provider]) -> "Forest":
        """Return the forest of the providers; rows are in tree order, trees by id of the root."""
        ordered = _in_tree_order(sorted(providers, key=lambda provider: provider.id))
        empty = cls({}, {}, (), *_empty_arrays(), nested_trees={}, free=())
        return empty.changed(dict(enumerate(ordered)), ())

    @property
    def size(self) -> int:
        """The number of rows, including free ones."""
        return len(self.root)

    def members(self, root: int) -> tuple[int, ...]:
        """Return the rows of the tree with this root, in tree order."""
        tree = self.nested_trees.get(root)
        return tree.members if tree else (root,)

    def next_rows(self) -> Iterator[int]:
        """Yield rows that no provider has, for new providers."""
        yield from self.free
        number = len(self.uuids)
        while True:
            yield number
            number += 1

    def ancestors(self, row: int) -> Iterator[int]:
        """Yield a row, its parent, and so on up to the root."""
        while row != NONE:
            yield row
            row = self.parent.item(row)

    def changed(self, moved: Mapping[int, Provider], removed: Iterable[int]) -> "Forest":
        """Return the forest with providers added or moved, by row, and others removed, by id.

        Costs a copy of the arrays and dictionaries, a few milliseconds for 100,000
        providers.
        """
        draft = _Draft(self, moved)
        removed_rows = {draft.row_of_id.pop(identity): None for identity in removed}
        draft.rebuild_trees(draft.remove(removed_rows) | draft.add(moved))
        free = tuple(row for row in (*self.free, *removed_rows) if row not in moved)
        return draft.finished(free)


def _empty_arrays() -> tuple[Numbers, Numbers, Mask, Mask]:
    none = np.zeros(0, dtype=np.int32)
    return none, none, none.astype(np.bool_), none.astype(np.bool_)


def _in_tree_order(providers: Sequence[Provider]) -> Iterator[Provider]:
    existing = {provider.uuid for provider in providers}
    children: dict[str | None, list[Provider]] = defaultdict(list)
    for provider in providers:
        parent = provider.parent_uuid
        children[parent if parent in existing else None].append(provider)
    stack = children[None][::-1]
    while stack:
        provider = stack.pop()
        yield provider
        stack.extend(reversed(children.get(provider.uuid, ())))


class _Draft:
    """A forest under construction: copies of its parts, private to one thread."""

    def __init__(self, forest: Forest, moved: Mapping[int, Provider]) -> None:
        last = max(moved, default=-1)
        size = max(forest.size, (last // CHUNK + 1) * CHUNK)
        self.row_of = dict(forest.row_of)
        self.row_of_id = dict(forest.row_of_id)
        self.uuids = [*forest.uuids, *[""] * (last + 1 - len(forest.uuids))]
        self.parent: Numbers = resized(forest.parent, size, NONE)  # type: ignore[assignment]
        self.root: Numbers = resized(forest.root, size, NONE)  # type: ignore[assignment]
        self.is_root: Mask = resized(forest.is_root, size, 0)  # type: ignore[assignment]
        self.is_single: Mask = resized(forest.is_single, size, 0)  # type: ignore[assignment]
        self.nested_trees = dict(forest.nested_trees)
        self.shapes: dict[tuple[int, ...], tuple[int, ...]] = {}

    def remove(self, rows: Iterable[int]) -> set[int]:
        """Remove providers; return the remaining rows of their trees."""
        affected: set[int] = set()
        for row in rows:
            affected.update(self._dissolve(self.root.item(row)))
        for row in rows:
            del self.row_of[self.uuids[row]]
            self.uuids[row] = ""
            self.parent[row] = self.root[row] = NONE
        return affected.difference(rows)

    def add(self, moved: Mapping[int, Provider]) -> set[int]:
        """Add or move providers; return the rows of the trees that they leave or join."""
        for row, provider in moved.items():
            self._register(row, provider)
        affected = set(moved)
        for row, provider in moved.items():
            parent = self.row_of.get(provider.parent_uuid or "", NONE)
            for neighbor in (row, parent):
                if neighbor != NONE:
                    affected.update(self._dissolve(self.root.item(neighbor)))
            self.parent[row] = parent
        return affected

    def _register(self, row: int, provider: Provider) -> None:
        """Assign a row to a provider; databases may reuse the id of a removed provider."""
        if self.uuids[row] not in ("", provider.uuid):
            del self.row_of[self.uuids[row]]
        self.row_of[provider.uuid] = row
        self.row_of_id[provider.id] = row
        self.uuids[row] = provider.uuid

    def _dissolve(self, root: int) -> tuple[int, ...]:
        """Remove a tree from the draft; return the rows of its members."""
        if root == NONE or not self.is_root.item(root):
            return ()
        tree = self.nested_trees.pop(root, None)
        self.is_root[root] = self.is_single[root] = False
        return tree.members if tree else (root,)

    def rebuild_trees(self, rows: Iterable[int]) -> None:
        """Build the trees of the given rows; the rows must be complete trees."""
        ordered = sorted(rows)
        children: dict[int, list[int]] = defaultdict(list)
        for row, parent in zip(ordered, self.parent[ordered].tolist(), strict=True):
            children[parent].append(row)
        roots = children.pop(NONE, [])
        single = [row for row in roots if row not in children]
        self.root[single] = single
        self.is_root[roots] = True
        self.is_single[single] = True
        for root in roots:
            if root in children:
                self._build_tree(root, children)

    def _build_tree(self, root: int, children: Mapping[int, list[int]]) -> None:
        members: list[int] = []
        stack = [root]
        while stack:
            row = stack.pop()
            members.append(row)
            stack.extend(reversed(children.get(row, ())))
        position_of = {row: position for position, row in enumerate(members)}
        rows_of_parents = self.parent[members].tolist()
        parents = tuple([position_of.get(row, NONE) for row in rows_of_parents])
        is_contiguous = members == list(range(root, root + len(members)))
        shape = self.shapes.setdefault(parents, parents)
        self.nested_trees[root] = Tree(tuple(members), shape, is_contiguous)
        self.root[members] = root

    def finished(self, free: tuple[int, ...]) -> Forest:
        """Return the finished forest."""
        return Forest(
            row_of=self.row_of,
            row_of_id=self.row_of_id,
            uuids=self.uuids,
            parent=self.parent,
            root=self.root,
            is_root=self.is_root,
            is_single=self.is_single,
            nested_trees=self.nested_trees,
            free=free,
        )
