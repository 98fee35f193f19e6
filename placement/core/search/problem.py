"""What must be solved around one root, and the terms on which."""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from placement.core.search.deadline import Budget
from placement.core.search.matching import Matching
from placement.core.search.plan import Plan
from placement.core.search.remaining_capacity import Room

Places = tuple[int, ...]
Assignment = tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """What surrounds a root, as far as the plan depends on it. Compared by identity.

    Places of the root's own tree are numbered from 0 in tree order, places of
    other trees (shared with it) are -1 - row.

    ``options``   for each need the places that meet it
    ``rooms``     for each contended class, in order, what is left at each of
                  the places of its slots, clipped to what they want together
    ``lends``     for each option of the unsuffixed slots which either-lists it meets, as bits
    ``above``     if the request has same_subtree: for each place of the tree that of its parent
    ``lineages``  and for each other place it and all places above it
    ``trees``     the tree of each place, if only one provider of a tree may be used
    """

    options: tuple[Places, ...]
    rooms: tuple[Mapping[int, int], ...]
    lends: Mapping[int, int]
    above: tuple[int, ...]
    lineages: Mapping[int, frozenset[int]]
    trees: Mapping[int, int]


@dataclass(frozen=True, slots=True)
class MatchingConstraint:
    """Some slots, and how many of them a place can take; ``joined`` places are one."""

    slots: tuple[int, ...]
    seats: Callable[[int], int]
    joined: Mapping[int, int]

    def seating(
        self, options: Mapping[int, Places] | Sequence[Places], budget: Budget
    ) -> Matching | None:
        """Return a seating of the rule's slots, None if there is none."""
        return Matching.of({slot: options[slot] for slot in self.slots}, self, budget)

    def among(self, slots: Sequence[int]) -> "MatchingConstraint":
        """Return the rule for some slots only."""
        return MatchingConstraint(
            tuple(slot for slot in self.slots if slot in slots), self.seats, self.joined
        )


@dataclass(frozen=True, slots=True)
class Constraints:
    """A problem made ready: only conditions that can fail.

    ``room`` has what could run short, by place and class; ``trees`` is empty
    unless two places are of one tree of which only one may be used.
    """

    plan: Plan
    problem: Problem
    room: Room
    trees: Mapping[int, int]
    rules: tuple[MatchingConstraint, ...]

    @classmethod
    def of(cls, plan: Plan, problem: Problem) -> "Constraints":
        """Return the terms of a problem."""
        trees = problem.trees if len(set(problem.trees.values())) < len(problem.trees) else {}
        room = _scarce(plan, problem)
        rules = [MatchingConstraint(plan.isolated, lambda _: 1, trees)] if plan.isolated else []
        rules += [
            _rule(name, plan.contended[name], room, trees)
            for name in dict.fromkeys(name for _, name in room)
        ]
        return cls(plan, problem, room, trees, tuple(rules))

    @property
    def are_isolation_only(self) -> bool:
        """Whether slots get in each other's way by isolation alone, if at all."""
        return not (self.room or self.trees or self.plan.either)


def _scarce(plan: Plan, problem: Problem) -> Room:
    """Return the rooms that could be too small for all who may want them."""
    room: Room = {}
    for (name, amounts), rooms in zip(plan.contended.items(), problem.rooms, strict=True):
        wanted: Counter[int] = Counter()
        for slot, amount in amounts.items():
            wanted.update(dict.fromkeys(problem.options[plan.slots[slot].need], amount))
        room.update({(place, name): left for place, left in rooms.items() if left < wanted[place]})
    return room


def _rule(
    name: str, amounts: Mapping[int, int], room: Room, trees: Mapping[int, int]
) -> MatchingConstraint:
    """Return how many slots can have some of a class: not more than if all wanted the least."""
    least = min(amounts.values())
    seats: defaultdict[int, int] = defaultdict(int)
    for place in {*trees, *(place for place, wanted in room if wanted == name)}:
        taken = room[place, name] // least if (place, name) in room else len(amounts)
        joined = trees.get(place, place)
        seats[joined] = max(seats[joined], taken)
    return MatchingConstraint(tuple(amounts), partial(_seats, dict(seats), len(amounts)), trees)


def _seats(seats: Mapping[int, int], most: int, place: int) -> int:
    return seats.get(place, most)
