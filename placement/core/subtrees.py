"""same_subtree, turned into restrictions of the options of each slot.

The highest provider that the slots of one same_subtree get is unique, and so is
the first of these slots that gets it. Once both are chosen, the others are
restricted to what is below.
"""

from collections.abc import Iterator, Mapping, Sequence

from placement.core.budget import Budget
from placement.core.problem import Places, Problem, SeatRule, Terms


def splits(
    terms: Terms, options: tuple[Places, ...], budget: Budget
) -> Iterator[tuple[Places, ...]]:
    """Yield restrictions of the options under which every same_subtree holds, as they are.

    No assignment is within two of them; together they have all.
    """
    subtrees, above = terms.plan.subtrees, _lineages(terms.problem)
    todo = [(options, 0)]
    while todo:
        budget.spend()
        restricted, done = todo.pop()
        if not _can_be_seated(terms.rules, restricted, budget):
            continue
        if done == len(subtrees):
            yield restricted
            continue
        slots = subtrees[done]
        rules = [rule.among(slots) for rule in terms.rules]
        children = [
            (child, done + 1)
            for child in _under_each_top(restricted, slots, above)
            if _can_be_seated(rules, child, budget)
        ]
        todo.extend(reversed(children))


def _can_be_seated(rules: Sequence[SeatRule], options: tuple[Places, ...], budget: Budget) -> bool:
    return all(rule.seating(options, budget) is not None for rule in rules)


def _lineages(problem: Problem) -> Mapping[int, frozenset[int]]:
    """Return for each place it and all places above it."""
    own: dict[int, frozenset[int]] = {}
    for place, parent in enumerate(problem.above):
        own[place] = own.get(parent, frozenset()) | {place}
    return {**problem.lineages, **own}  # apart until now: -1 is "no parent", and row 0 abroad


def _under_each_top(
    options: tuple[Places, ...], slots: Sequence[int], above: Mapping[int, frozenset[int]]
) -> Iterator[tuple[Places, ...]]:
    """Yield the options with each possible highest place, and first slot that has it."""
    for top in dict.fromkeys(place for slot in slots for place in options[slot]):
        below = {
            slot: tuple(place for place in options[slot] if top in above[place]) for slot in slots
        }
        for holder in slots:
            if top not in below[holder]:
                continue
            restricted = {**below, holder: (top,)}
            if all(restricted.values()):
                yield tuple(restricted.get(slot, places) for slot, places in enumerate(options))
            below[holder] = tuple(place for place in below[holder] if place != top)
