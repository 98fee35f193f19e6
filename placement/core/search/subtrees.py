"""same_subtree, turned into restrictions of the options of each slot.

The highest provider that the slots of one same_subtree get is unique, and so is
the first of these slots that gets it. Once both are chosen, the others are
restricted to what is below.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain

from placement.core.search.deadline import Budget
from placement.core.search.problem import Constraints, MatchingConstraint, Places, Problem


def splits(
    terms: Constraints, options: tuple[Places, ...], budget: Budget
) -> Iterator[tuple[Places, ...]]:
    """Yield restrictions of the options under which every same_subtree holds, as they are.

    No assignment is within two of them; together they have all.
    """
    subtrees, above = terms.plan.subtrees, _lineages(terms.problem)
    levels: list[Iterator[tuple[Places, ...]]] = [iter((options,))]
    while levels:
        budget.spend()
        restricted = next(levels[-1], None)
        if restricted is None:
            levels.pop()
        elif not _can_be_seated(terms.rules, restricted, budget):
            continue
        elif len(levels) > len(subtrees):
            yield restricted
        else:
            slots = subtrees[len(levels) - 1]
            levels.append(_seatable(terms.rules, restricted, slots, above, budget))


def _seatable(
    rules: Sequence[MatchingConstraint],
    options: tuple[Places, ...],
    slots: Sequence[int],
    above: Mapping[int, frozenset[int]],
    budget: Budget,
) -> Iterator[tuple[Places, ...]]:
    """Yield the options with each highest place under which the slots can be seated."""
    rules = [rule.among(slots) for rule in rules]
    for top, below in _under_each_top(options, slots, above, budget):
        if _can_be_seated(rules, below, budget):
            for child in _by_holder(top, below, options):
                budget.look()
                if _can_be_seated(rules, child, budget):
                    yield child


def _can_be_seated(
    rules: Sequence[MatchingConstraint],
    options: Mapping[int, Places] | tuple[Places, ...],
    budget: Budget,
) -> bool:
    return all(rule.seating(options, budget) is not None for rule in rules)


def _lineages(problem: Problem) -> Mapping[int, frozenset[int]]:
    """Return for each place it and all places above it."""
    own: dict[int, frozenset[int]] = {}
    for place, parent in enumerate(problem.above):
        own[place] = own.get(parent, frozenset()) | {place}
    return {**problem.lineages, **own}  # apart until now: -1 is "no parent", and row 0 abroad


def _under_each_top(
    options: tuple[Places, ...],
    slots: Sequence[int],
    above: Mapping[int, frozenset[int]],
    budget: Budget,
) -> Iterator[tuple[int, dict[int, Places]]]:
    """Yield what the slots can have at and below each possible highest place."""
    lists = list(dict.fromkeys(options[slot] for slot in slots))
    list_of = {slot: lists.index(options[slot]) for slot in slots}
    positions = [{place: number for number, place in enumerate(places)} for places in lists]
    for top, under in _places_under(chain.from_iterable(lists), above).items():
        budget.look()
        below = [tuple(sorted(at.keys() & under, key=at.__getitem__)) for at in positions]
        if all(below):
            yield top, {slot: below[list_of[slot]] for slot in slots}


def _by_holder(
    top: int, below: dict[int, Places], options: tuple[Places, ...]
) -> Iterator[tuple[Places, ...]]:
    """Yield the options with each first slot that has the highest place."""
    for holder, at in list(below.items()):
        if top not in at:
            continue
        restricted = {**below, holder: (top,)}
        if all(restricted.values()):
            yield tuple(restricted.get(slot, places) for slot, places in enumerate(options))
        below[holder] = tuple(place for place in at if place != top)


def _places_under(
    places: Iterable[int], above: Mapping[int, frozenset[int]]
) -> Mapping[int, set[int]]:
    """Return, for each of the places in their order, it and those of them that are below it."""
    under: dict[int, set[int]] = {place: set() for place in places}
    for place in under:
        for top in above[place]:
            if top in under:
                under[top].add(place)
    return under
