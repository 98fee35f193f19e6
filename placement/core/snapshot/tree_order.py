"""Tree order (depth-first, parents before children) of many trees at once, by arrays."""

from dataclasses import dataclass

import numpy as np

from placement.core.snapshot.rows import NO_ROW, Numbers


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
