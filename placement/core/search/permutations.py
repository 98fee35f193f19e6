"""Isolated slots whose options are equal or disjoint: the solutions are permutations."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import chain, permutations

from placement.core.search.plan import SearchPlan
from placement.core.search.problem import Assignment, Options

MAX_SLOT_CLASSES = 16
SlotClass = tuple[tuple[int, ...], Options]
"""Slots that have the same options, and these options."""


def slot_classes_of(plan: SearchPlan, options: tuple[Options, ...]) -> list[SlotClass] | None:
    """Return the isolated slots by their options, if any two have equal or disjoint options.

    The slots of the unsuffixed group come last, each a class of its own. None if
    options overlap in part, or if there are too many classes for nested loops.
    """
    slots_with: defaultdict[Options, list[int]] = defaultdict(list)
    for slot in plan.isolated:
        slots_with[options[slot]].append(slot)
    if len(set(chain.from_iterable(slots_with))) < sum(map(len, slots_with)):
        return None
    classes: list[SlotClass] = [(tuple(slots), own) for own, slots in slots_with.items()]
    classes += [((slot,), options[slot]) for slot in plan.unsuffixed]
    return classes if len(classes) <= MAX_SLOT_CLASSES else None


def permuted_assignments(
    classes: Sequence[SlotClass], options: tuple[Options, ...]
) -> Iterator[Assignment]:
    """Yield every assignment of the slots of each class to different options of the class.

    No class may have more slots than options: that would be detected late.
    """
    order = [slot for slots, _ in classes for slot in slots]
    position = [order.index(slot) for slot in range(len(options))]
    for chosen in _nested_permutations(classes):
        yield tuple([chosen[at] for at in position])


def _nested_permutations(classes: Sequence[SlotClass]) -> Iterator[Options]:
    """Yield every permutation of the last class, for each of the class before, and so on."""
    if len(classes) == 1:
        yield from permutations(classes[0][1], len(classes[0][0]))
        return
    for before in _nested_permutations(classes[:-1]):
        for last in permutations(classes[-1][1], len(classes[-1][0])):
            yield before + last
