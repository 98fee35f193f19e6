"""Tree order (depth-first, parents before children) of many trees at once, by arrays."""

from dataclasses import dataclass

import numpy as np

from placement.core.snapshot.rows import NO_ROW, Numbers


@dataclass(frozen=True, slots=True)
class TreeOrder:
    """Int32 arrays over all rows, except ``order``; -1 (size 0) for rows that are not listed.

    ``order`` has the listed rows in tree order, ``position`` the index of each row in it.
    """

    root: Numbers
    order: Numbers
    position: Numbers
    subtree_size: Numbers


class ParentLoop(ValueError):  # noqa: N818
    """The parents of some rows do not lead to a root."""


def tree_order(parent: Numbers, rows: Numbers) -> TreeOrder:
    """Return the order of the trees of the ascending rows; ``parent`` is -1 for roots.

    Trees are ordered by the row of the root, siblings by their rows. Cost: a few array
    operations per level of the deepest tree.

    >>> tree_order(np.array([-1, -1, 0, 2, 0]), np.arange(5)).order.tolist()
    [0, 2, 3, 4, 1]
    """
    root, levels = _levels(parent, rows)
    subtree_size = np.zeros(len(parent), dtype=np.int32)
    subtree_size[rows] = 1
    for level in levels[:0:-1]:
        np.add.at(subtree_size, parent[level], subtree_size[level])
    position = np.full(len(parent), NO_ROW, dtype=np.int32)
    position[levels[0]] = _starts(subtree_size[levels[0]])
    for level in levels[1:]:
        siblings = level[np.argsort(parent[level], kind="stable")]
        own, above = _starts(subtree_size[siblings]), parent[siblings]
        is_first = np.diff(above, prepend=NO_ROW) != 0
        first = own[is_first][np.cumsum(is_first) - 1]
        position[siblings] = position[above] + 1 + own - first
    order = np.empty(len(rows), dtype=np.int32)
    order[position[rows]] = rows
    return TreeOrder(root, order, position, subtree_size)


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
