"""Where each provider stands: rows, parents, roots, and the members of every tree."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from placement.core.model import Provider
from placement.core.snapshot.rows import CHUNK, Mask, Numbers, widened

NONE = -1


class Tree(NamedTuple):
    """A tree of two or more: its rows, parents before children, children in the order of rows.

    ``above`` has, for each, the place of its parent among them, -1 for the root.
    Trees that are alike have the same ``above``. ``is_run``: the rows follow each other, as
    they do unless some provider came later than the tree.
    """

    members: tuple[int, ...]
    above: tuple[int, ...]
    is_run: bool


LONE_ABOVE = (NONE,)


@dataclass(frozen=True, slots=True, eq=False)
class Forest:
    """The trees of a snapshot.

    ``parent`` and ``root`` are int32 arrays over all rows, -1 where there is
    none (a free row has neither). ``is_root`` and ``is_lone`` are masks; a lone
    provider is a tree of one. ``branched`` has the other trees by root: a cloud
    of 100,000 flat hosts need not keep 100,000 tuples of one.
    """

    row_of: Mapping[str, int]
    row_of_id: Mapping[int, int]
    uuids: Sequence[str]
    parent: Numbers
    root: Numbers
    is_root: Mask
    is_lone: Mask
    branched: Mapping[int, Tree]
    free: tuple[int, ...]

    @classmethod
    def of(cls, providers: Iterable[Provider]) -> "Forest":
        """Return the forest of the providers; rows are given in tree order, trees by root id."""
        ordered = _in_tree_order(sorted(providers, key=lambda provider: provider.id))
        empty = cls({}, {}, (), *_empty_arrays(), branched={}, free=())
        return empty.changed(dict(enumerate(ordered)), ())

    @property
    def size(self) -> int:
        """How many rows there are, free ones included."""
        return len(self.root)

    def members(self, root: int) -> tuple[int, ...]:
        """Return the rows of the tree with this root, in tree order."""
        tree = self.branched.get(root)
        return tree.members if tree else (root,)

    def next_rows(self) -> Iterator[int]:
        """Yield rows that no provider has, for those to come."""
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

    def changed(self, placed: Mapping[int, Provider], removed: Iterable[int]) -> "Forest":
        """Return the forest with providers put, or moved, where ``placed`` says, others gone.

        ``removed`` are provider ids. Costs a copy of the arrays and dictionaries, a few
        milliseconds for 100,000 providers.
        """
        draft = _Draft(self, placed)
        gone = {draft.row_of_id.pop(identity): None for identity in removed}
        draft.regrow(draft.remove(gone) | draft.place(placed))
        free = tuple(row for row in (*self.free, *gone) if row not in placed)
        return draft.finished(free)


def _empty_arrays() -> tuple[Numbers, Numbers, Mask, Mask]:
    none = np.zeros(0, dtype=np.int32)
    return none, none, none.astype(np.bool_), none.astype(np.bool_)


def _in_tree_order(providers: Sequence[Provider]) -> Iterator[Provider]:
    known = {provider.uuid for provider in providers}
    children: dict[str | None, list[Provider]] = defaultdict(list)
    for provider in providers:
        parent = provider.parent_uuid
        children[parent if parent in known else None].append(provider)
    stack = children[None][::-1]
    while stack:
        provider = stack.pop()
        yield provider
        stack.extend(reversed(children.get(provider.uuid, ())))


class _Draft:
    """A forest while it is being changed: copies of the parts, private to one thread."""

    def __init__(self, forest: Forest, placed: Mapping[int, Provider]) -> None:
        last = max(placed, default=-1)
        size = max(forest.size, (last // CHUNK + 1) * CHUNK)
        self.row_of = dict(forest.row_of)
        self.row_of_id = dict(forest.row_of_id)
        self.uuids = [*forest.uuids, *[""] * (last + 1 - len(forest.uuids))]
        self.parent: Numbers = widened(forest.parent, size, NONE)  # type: ignore[assignment]
        self.root: Numbers = widened(forest.root, size, NONE)  # type: ignore[assignment]
        self.is_root: Mask = widened(forest.is_root, size, 0)  # type: ignore[assignment]
        self.is_lone: Mask = widened(forest.is_lone, size, 0)  # type: ignore[assignment]
        self.branched = dict(forest.branched)
        self.shapes: dict[tuple[int, ...], tuple[int, ...]] = {}

    def remove(self, rows: Iterable[int]) -> set[int]:
        """Take providers out; return the remaining rows of the trees they were in."""
        touched: set[int] = set()
        for row in rows:
            touched.update(self._uproot(self.root.item(row)))
        for row in rows:
            del self.row_of[self.uuids[row]]
            self.uuids[row] = ""
            self.parent[row] = self.root[row] = NONE
        return touched.difference(rows)

    def place(self, placed: Mapping[int, Provider]) -> set[int]:
        """Put providers in; return the rows of the trees that they leave or join."""
        for row, provider in placed.items():
            self._name(row, provider)
        touched = set(placed)
        for row, provider in placed.items():
            parent = self.row_of.get(provider.parent_uuid or "", NONE)
            for neighbour in (row, parent):
                if neighbour != NONE:
                    touched.update(self._uproot(self.root.item(neighbour)))
            self.parent[row] = parent
        return touched

    def _name(self, row: int, provider: Provider) -> None:
        """Give a row to a provider; a database may have given the id of a removed one again."""
        if self.uuids[row] not in ("", provider.uuid):
            del self.row_of[self.uuids[row]]
        self.row_of[provider.uuid] = row
        self.row_of_id[provider.id] = row
        self.uuids[row] = provider.uuid

    def _uproot(self, root: int) -> tuple[int, ...]:
        """Forget a tree; return who was in it."""
        if root == NONE or not self.is_root.item(root):
            return ()
        tree = self.branched.pop(root, None)
        self.is_root[root] = self.is_lone[root] = False
        return tree.members if tree else (root,)

    def regrow(self, rows: Iterable[int]) -> None:
        """Make the trees of the given rows, which are all there is of these trees."""
        ordered = sorted(rows)
        children: dict[int, list[int]] = defaultdict(list)
        for row, parent in zip(ordered, self.parent[ordered].tolist(), strict=True):
            children[parent].append(row)
        roots = children.pop(NONE, [])
        lone = [row for row in roots if row not in children]
        self.root[lone] = lone
        self.is_root[roots] = True
        self.is_lone[lone] = True
        for root in roots:
            if root in children:
                self._grow(root, children)

    def _grow(self, root: int, children: Mapping[int, list[int]]) -> None:
        members: list[int] = []
        stack = [root]
        while stack:
            row = stack.pop()
            members.append(row)
            stack.extend(reversed(children.get(row, ())))
        place_of = {row: place for place, row in enumerate(members)}
        parents = self.parent[members].tolist()
        above = tuple([place_of.get(parent, NONE) for parent in parents])
        is_run = members == list(range(root, root + len(members)))
        self.branched[root] = Tree(tuple(members), self.shapes.setdefault(above, above), is_run)
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
            is_lone=self.is_lone,
            branched=self.branched,
            free=free,
        )
