"""same_subtree as restrictions of the options of each slot.

Of the providers assigned to the slots of one same_subtree, the highest is unique
(all others are below it), and so is the first of these slots that it is assigned
to. Once both are chosen, the other slots are restricted to options at or below
the highest, and earlier slots to options below it. So each assignment is in
exactly one restriction.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

from placement.core.search.constraints import Constraints, MatchingConstraint
from placement.core.search.deadline import Deadline
from placement.core.search.problem import Options, Problem


class _Subtree(NamedTuple):
    """One same_subtree: its slots, and the option that must be its highest provider, if one must.

    ``descendants`` returns an option and the options below it.
    """

    slots: Sequence[int]
    top: int | None
    descendants: Callable[[int], Iterable[int]]


def split_by_subtree(
    constraints: Constraints, options: tuple[Options, ...], deadline: Deadline
) -> Iterator[tuple[Options, ...]]:
    """Yield restrictions of the options under which every same_subtree holds.

    No assignment is in two of them; together they contain all.
    """
    subtrees, problem = constraints.plan.subtrees, constraints.problem
    descendants = _descendants(problem)
    levels: list[Iterator[tuple[Options, ...]]] = [iter((options,))]
    while levels:
        deadline.tick()
        restricted = next(levels[-1], None)
        if restricted is None:
            levels.pop()
        elif not _can_match(constraints.matchings, restricted, deadline):
            continue
        elif len(levels) > len(subtrees):
            yield restricted
        else:
            number = len(levels) - 1
            top = problem.top[1] if problem.top and problem.top[0] == number else None
            subtree = _Subtree(subtrees[number], top, descendants)
            levels.append(_restrictions(constraints.matchings, restricted, subtree, deadline))


def _restrictions(
    matchings: Sequence[MatchingConstraint],
    options: tuple[Options, ...],
    subtree: _Subtree,
    deadline: Deadline,
) -> Iterator[tuple[Options, ...]]:
    """Yield the options for each highest provider, and slot that has it, that can be matched."""
    matchings = [matching.restricted_to(subtree.slots) for matching in matchings]
    for top, below in _below_each_top(options, subtree, deadline):
        if _can_match(matchings, below, deadline):
            for restricted in _by_slot_at_top(top, below, options):
                deadline.check()
                if _can_match(matchings, restricted, deadline):
                    yield restricted


def _can_match(
    matchings: Sequence[MatchingConstraint],
    options: Mapping[int, Options] | tuple[Options, ...],
    deadline: Deadline,
) -> bool:
    return all(each.matching(options, deadline) is not None for each in matchings)


def _descendants(problem: Problem) -> Callable[[int], Iterable[int]]:
    """Return a function from an option to itself and the options below it.

    Options of the own tree are in tree order, so these are a range: sets would take the square
    of the depth of a tree.
    """
    sizes = [1] * len(problem.parents)
    for position in reversed(range(len(sizes))):
        if (parent := problem.parents[position]) >= 0:
            sizes[parent] += sizes[position]
    elsewhere: defaultdict[int, list[int]] = defaultdict(list)
    for option, ancestors in problem.ancestors.items():
        for ancestor in ancestors:
            elsewhere[ancestor].append(option)
    return lambda top: range(top, top + sizes[top]) if top >= 0 else elsewhere[top]


def _below_each_top(
    options: tuple[Options, ...], subtree: _Subtree, deadline: Deadline
) -> Iterator[tuple[int, dict[int, Options]]]:
    """Yield the options of the slots at and below each possible highest provider."""
    slots = subtree.slots
    lists = list(dict.fromkeys(options[slot] for slot in slots))
    list_of = {slot: lists.index(options[slot]) for slot in slots}
    ranks = [{option: rank for rank, option in enumerate(own)} for own in lists]
    tops = dict.fromkeys(chain.from_iterable(lists)) if subtree.top is None else (subtree.top,)
    for top in tops:
        deadline.check()
        descendants = subtree.descendants(top)
        below = [tuple(sorted(rank.keys() & descendants, key=rank.__getitem__)) for rank in ranks]
        if all(below):
            yield top, {slot: below[list_of[slot]] for slot in slots}


def _by_slot_at_top(
    top: int, below: dict[int, Options], options: tuple[Options, ...]
) -> Iterator[tuple[Options, ...]]:
    """Yield the options for each slot that can be the first one assigned to the top."""
    for first, own in list(below.items()):
        if top not in own:
            continue
        restricted = {**below, first: (top,)}
        if all(restricted.values()):
            yield tuple(restricted.get(slot, others) for slot, others in enumerate(options))
        below[first] = tuple(option for option in own if option != top)
