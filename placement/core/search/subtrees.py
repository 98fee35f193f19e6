"""same_subtree as restrictions of the options of each slot.

Of the providers assigned to the slots of one same_subtree, the highest is unique
(all others are below it), and so is the first of these slots that it is assigned
to. Once both are chosen, the other slots are restricted to options at or below
the highest, and earlier slots to options below it. So each assignment is in
exactly one restriction.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

from placement.core.search.constraints import Constraints, MatchingConstraint
from placement.core.search.deadline import Deadline
from placement.core.search.problem import Options, Problem


class _Subtree(NamedTuple):
    """One same_subtree: its slots, and the options that may be its highest provider, if known."""

    slots: Sequence[int]
    tops: set[int] | None
    ancestors: Mapping[int, frozenset[int]]


def split_by_subtree(
    constraints: Constraints, options: tuple[Options, ...], deadline: Deadline
) -> Iterator[tuple[Options, ...]]:
    """Yield restrictions of the options under which every same_subtree holds.

    No assignment is in two of them; together they contain all.
    """
    subtrees, ancestors = constraints.plan.subtrees, _ancestors(constraints.problem)
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
            tops = {tops[1]} if (tops := constraints.problem.top) and tops[0] == number else None
            subtree = _Subtree(subtrees[number], tops, ancestors)
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


def _ancestors(problem: Problem) -> Mapping[int, frozenset[int]]:
    """Return for each option itself and its ancestors."""
    own: dict[int, frozenset[int]] = {}
    for position, parent in enumerate(problem.parents):
        own[position] = own.get(parent, frozenset()) | {position}
    # Merged only now: in ``parents`` -1 is "no parent", as an option it is row 0 of another tree.
    return {**problem.ancestors, **own}


def _below_each_top(
    options: tuple[Options, ...], subtree: _Subtree, deadline: Deadline
) -> Iterator[tuple[int, dict[int, Options]]]:
    """Yield the options of the slots at and below each possible highest provider."""
    slots = subtree.slots
    lists = list(dict.fromkeys(options[slot] for slot in slots))
    list_of = {slot: lists.index(options[slot]) for slot in slots}
    ranks = [{option: rank for rank, option in enumerate(own)} for own in lists]
    for top, descendants in _descendants(chain.from_iterable(lists), subtree.ancestors).items():
        if subtree.tops is not None and top not in subtree.tops:
            continue
        deadline.check()
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


def _descendants(
    options: Iterable[int], ancestors: Mapping[int, frozenset[int]]
) -> Mapping[int, set[int]]:
    """Return, for each of the options in their order, itself and the options below it."""
    descendants: dict[int, set[int]] = {option: set() for option in options}
    for option in descendants:
        for top in ancestors[option]:
            if top in descendants:
                descendants[top].add(option)
    return descendants
