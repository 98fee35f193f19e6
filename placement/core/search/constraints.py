"""The constraints of one problem while the solver assigns its slots.

``Constraints`` has the constraints that some assignment can violate. ``RemainingCapacity`` is the
capacity that a partial assignment leaves. ``split_by_subtree`` turns same_subtree into
restrictions of the options of each slot.
"""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from placement.core.search.deadline import Deadline
from placement.core.search.matching import Matching, MatchingConstraint
from placement.core.search.slots import Options, Problem, SlottedRequest


class RemainingCapacity:
    """The sums of a partial assignment; ``assign`` and ``unassign`` form a stack.

    If the problem has ``tree_of``, a candidate uses at most one provider of a tree. An isolated
    slot shares its provider with no other isolated slot.
    """

    def __init__(self, slotted: SlottedRequest, problem: Problem) -> None:
        self._requested = [slot.resources for slot in slotted.slots]
        self._names = list(slotted.contended)
        self._left = dict(problem.allocatable)
        self._isolated = frozenset(slotted.isolated)
        self._tree_of = problem.tree_of
        self._slots_at: dict[int, list[int]] = {}

    def assign(self, slot: int, option: int) -> bool:
        """Assign the slot and return True, if amounts and tree allow it."""
        left, requested = self._left, self._requested[slot]
        for name, amount in requested:
            if left.get((option, name), amount) < amount:
                return False
        if self._tree_of and self._is_tree_used(option):
            return False
        for name, amount in requested:
            if (option, name) in left:
                left[option, name] -= amount
        self._slots_at.setdefault(option, []).append(slot)
        return True

    def unassign(self, slot: int, option: int) -> None:
        """Undo the last ``assign``."""
        for name, amount in self._requested[slot]:
            if (option, name) in self._left:
                self._left[option, name] += amount
        slots = self._slots_at[option]
        slots.pop()
        if not slots:
            del self._slots_at[option]

    def state(self, symmetry_class: Mapping[int, int]) -> Hashable:
        """Return everything that the remaining choices depend on.

        Options of one symmetry class are interchangeable, so the state only
        counts how many of them are in which condition: symmetric branches are equal.
        """
        return tuple(
            sorted(self._state_of(option, symmetry_class[option]) for option in self._slots_at)
        )

    def _state_of(self, option: int, number: int) -> tuple[int, bool, tuple[int, ...]]:
        is_exclusive = any(slot in self._isolated for slot in self._slots_at[option])
        left = tuple(self._left.get((option, name), -1) for name in self._names)
        return number, is_exclusive, left

    def _is_tree_used(self, option: int) -> bool:
        tree_of = self._tree_of
        return any(
            other != option and tree_of[other] == tree_of[option] for other in self._slots_at
        )


@dataclass(frozen=True, slots=True)
class Constraints:
    """The constraints between the slots of one problem that some assignment can violate.

    ``matchings`` are necessary conditions that are decided by bipartite matching. In the matching
    of a class, all slots request the least amount.
    """

    slotted: SlottedRequest
    problem: Problem
    matchings: tuple[MatchingConstraint, ...]

    @classmethod
    def of(cls, slotted: SlottedRequest, problem: Problem) -> "Constraints":
        """Return the constraints of a problem."""
        tree_of = problem.tree_of
        least = {name: min(requested.values()) for name, requested in slotted.contended.items()}
        capacities = {name: defaultdict[int, int](int) for name in least}
        for (option, name), amount in problem.allocatable.items():
            at, of_class = tree_of.get(option, option), capacities[name]
            of_class[at] = max(of_class[at], amount // least[name])
        matchings = [
            MatchingConstraint(tuple(requested), capacities[name].__getitem__, tree_of)
            for name, requested in slotted.contended.items()
        ]
        if slotted.isolated:
            matchings.insert(0, MatchingConstraint(slotted.isolated, lambda _: 1, tree_of))
        return cls(slotted, problem, tuple(matchings))

    @property
    def are_isolation_only(self) -> bool:
        """Whether isolation is the only constraint between slots, if there is any."""
        return not (self.problem.allocatable or self.problem.tree_of or self.slotted.any_of)


def split_by_subtree(
    constraints: Constraints, options: tuple[Options, ...], deadline: Deadline
) -> Iterator[tuple[Options, ...]]:
    """Yield restrictions of the options under which every same_subtree holds.

    Of the providers assigned to the slots of one same_subtree, the highest is unique (all others
    are below it), and so is the first of these slots that it is assigned to. Once both are chosen,
    the other slots are restricted to options at or below the highest, and earlier slots to options
    below it: each assignment is in exactly one restriction. All matchings exist under each.
    """
    subtrees, problem = constraints.slotted.subtrees, constraints.problem
    descendants = _descendants(problem)
    levels: list[Iterator[tuple[Options, ...]]] = [iter((options,))]
    while levels:
        deadline.tick()
        restricted = next(levels[-1], None)
        if restricted is None:
            levels.pop()
        elif any(
            Matching.of(restricted, constraint, deadline) is None
            for constraint in constraints.matchings
        ):
            continue
        elif len(levels) > len(subtrees):
            yield restricted
        else:
            number = len(levels) - 1
            top = problem.top[1] if problem.top and problem.top[0] == number else None
            levels.append(_restrictions(restricted, subtrees[number], top, descendants, deadline))


def _descendants(problem: Problem) -> Callable[[int], Iterable[int]]:
    """Return a function from an option to itself and the options below it.

    Options in the tree of the anchor are in tree order, so the options below are a range. Sets
    would take space in the square of the depth of a tree.
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


def _restrictions(
    options: tuple[Options, ...],
    slots: Sequence[int],
    top: int | None,
    descendants: Callable[[int], Iterable[int]],
    deadline: Deadline,
) -> Iterator[tuple[Options, ...]]:
    """Yield the options for each highest provider and each slot that it can be assigned to.

    ``top`` is the option that must be the highest provider; None if any option may be.
    """
    lists = list(dict.fromkeys(options[slot] for slot in slots))
    list_of = {slot: lists.index(options[slot]) for slot in slots}
    ranks = [{option: rank for rank, option in enumerate(slot_options)} for slot_options in lists]
    for highest in dict.fromkeys(chain.from_iterable(lists)) if top is None else (top,):
        deadline.check()
        inside = descendants(highest)
        below = [tuple(sorted(rank.keys() & inside, key=rank.__getitem__)) for rank in ranks]
        if all(below):
            below_by_slot = {slot: below[list_of[slot]] for slot in slots}
            for restricted in _by_slot_at_top(highest, below_by_slot, options):
                deadline.check()
                yield restricted


def _by_slot_at_top(
    top: int, below: dict[int, Options], options: tuple[Options, ...]
) -> Iterator[tuple[Options, ...]]:
    """Yield the options for each slot that can be the first one assigned to the top."""
    for first, first_options in list(below.items()):
        if top not in first_options:
            continue
        restricted = {**below, first: (top,)}
        if all(restricted.values()):
            yield tuple(
                restricted.get(slot, slot_options) for slot, slot_options in enumerate(options)
            )
        below[first] = tuple(option for option in first_options if option != top)
