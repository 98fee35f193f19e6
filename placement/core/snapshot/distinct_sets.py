"""Which of many sets are equal, by arrays."""

import numpy as np

from placement.core.snapshot.rows import Amounts, Numbers, distinct


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
