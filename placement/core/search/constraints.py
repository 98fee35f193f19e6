"""The capacity that remains while a candidate is assembled.

The constraints of one problem, reduced to those that can be violated.

same_subtree as restrictions of the options of each slot.

Of the providers assigned to the slots of one same_subtree, the highest is unique
(all others are below it), and so is the first of these slots that it is assigned
to. Once both are chosen, the other slots are restricted to options at or below
the highest, and earlier slots to options below it. So each assignment is in
exactly one restriction.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import NamedTuple

from placement.core.search.deadline import Deadline
from placement.core.search.matching import Matching
from placement.core.search.slots import Options, Problem, SearchPlan

AllocatableAmounts = dict[tuple[int, str], int]
"""Free amounts by option and resource class; a class that suffices for all slots has no entry."""


class RemainingCapacity:
    """The sums of a partial assignment; ``assign`` and ``unassign`` form a stack.

    ``tree_of`` is filled below 1.29, where a candidate uses at most one provider
    of a tree. ``isolated`` slots take a provider of their own.
    """

    def __init__(
        self,
        requested: Sequence[Sequence[tuple[str, int]]],
        allocatable: AllocatableAmounts,
        *,
        isolated: frozenset[int],
        tree_of: Mapping[int, int],
    ) -> None:
        self._requested = requested
        self._left = dict(allocatable)
        self._isolated = isolated
        self._tree_of = tree_of
        self._slots_at: dict[int, list[int]] = {}
        self._names = sorted({name for _, name in allocatable})

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
        """Return everything that the choices still to be made depend on.

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
class MatchingConstraint:
    """Some slots, and how many of them an option can serve; ``merged`` options count as one."""

    slots: tuple[int, ...]
    capacity: Callable[[int], int]
    merged: Mapping[int, int]

    def matching(
        self, options: Mapping[int, Options] | Sequence[Options], deadline: Deadline
    ) -> Matching | None:
        """Return a matching of the constraint's slots, None if there is none."""
        return Matching.of({slot: options[slot] for slot in self.slots}, self, deadline)

    def restricted_to(self, slots: Sequence[int]) -> "MatchingConstraint":
        """Return the constraint for some of its slots."""
        return MatchingConstraint(
            tuple(slot for slot in self.slots if slot in slots), self.capacity, self.merged
        )


@dataclass(frozen=True, slots=True)
class Constraints:
    """The constraints between the slots of one problem that some assignment can violate.

    ``allocatable``  amounts, by option and class, that are smaller than the sum of the
                     requests for them
    ``tree_of``      the tree of each option, if two options are in one tree of which only
                     one provider may be used; otherwise empty
    ``matchings``    necessary conditions that are decided by bipartite matching
    """

    plan: SearchPlan
    problem: Problem
    allocatable: AllocatableAmounts
    tree_of: Mapping[int, int]
    matchings: tuple[MatchingConstraint, ...]

    @classmethod
    def of(cls, plan: SearchPlan, problem: Problem) -> "Constraints":
        """Return the constraints of a problem."""
        has_pairs = len(set(problem.tree_of.values())) < len(problem.tree_of)
        tree_of = problem.tree_of if has_pairs else {}
        allocatable = _scarce(plan, problem)
        matchings = []
        if plan.isolated:
            matchings.append(MatchingConstraint(plan.isolated, lambda _: 1, tree_of))
        matchings += [
            _class_constraint(name, plan.contended[name], allocatable, tree_of)
            for name in dict.fromkeys(name for _, name in allocatable)
        ]
        return cls(plan, problem, allocatable, tree_of, tuple(matchings))

    @property
    def are_isolation_only(self) -> bool:
        """Whether isolation is the only constraint between slots, if there is any."""
        return not (self.allocatable or self.tree_of or self.plan.any_of)


def _scarce(plan: SearchPlan, problem: Problem) -> AllocatableAmounts:
    """Return the allocatable amounts that are too small for all slots that have the option."""
    scarce: AllocatableAmounts = {}
    for (name, amounts), allocatable in zip(
        plan.contended.items(), problem.allocatable, strict=True
    ):
        amount_of: Counter[Options] = Counter()  # many slots may have the same many options
        for slot, amount in amounts.items():
            amount_of[problem.options[slot]] += amount
        requested: Counter[int] = Counter()
        for options, amount in amount_of.items():
            requested.update(dict.fromkeys(options, amount))
        scarce.update(
            {
                (option, name): left
                for option, left in allocatable.items()
                if left < requested[option]
            }
        )
    return scarce


def _class_constraint(
    name: str,
    amounts: Mapping[int, int],
    allocatable: AllocatableAmounts,
    tree_of: Mapping[int, int],
) -> MatchingConstraint:
    """Return how many slots each option can serve with a class, were all as small as the least."""
    least = min(amounts.values())
    capacities: defaultdict[int, int] = defaultdict(int)
    for option in {*tree_of, *(option for option, scarce in allocatable if scarce == name)}:
        served = (
            allocatable[option, name] // least if (option, name) in allocatable else len(amounts)
        )
        merged = tree_of.get(option, option)
        capacities[merged] = max(capacities[merged], served)
    capacity = partial(_capacity, dict(capacities), len(amounts))
    return MatchingConstraint(tuple(amounts), capacity, tree_of)


def _capacity(capacities: Mapping[int, int], unlimited: int, option: int) -> int:
    return capacities.get(option, unlimited)


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
