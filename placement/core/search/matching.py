"""Whether slots can all be seated on places with few seats: bipartite matching.

With group_policy=isolate every provider seats one group. Where several slots
want one class, a provider seats at most its room divided by the smallest of
their amounts. Trying all ways is factorial; augmenting paths decide it in
polynomial time, and repair a seating after each choice. Each step of a path
is counted against the budget of the search.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from placement.core.search.deadline import Budget

Options = Mapping[int, Sequence[int]]


class Seats(Protocol):
    """How many seats a place has; places with the same entry in ``joined`` are one place."""

    @property
    def seats(self) -> Callable[[int], int]:
        """The number of seats by place."""

    @property
    def joined(self) -> Mapping[int, int]:
        """The one place that each of several stands for."""


class Matching:
    """Every slot on some place, and which slots have been fixed where they are.

    Never changed once made: ``fixing`` returns another seating.
    """

    __slots__ = ("_at", "_budget", "_fixed", "_options", "_place", "_rule")

    def __init__(self, options: Options, rule: Seats, budget: Budget) -> None:
        self._options = options
        self._rule = rule
        self._budget = budget
        self._place: dict[int, int] = {}
        self._at: dict[int, tuple[int, ...]] = {}
        self._fixed: frozenset[int] = frozenset()

    @classmethod
    def of(cls, options: Options, rule: Seats, budget: Budget) -> "Matching | None":
        """Return a seating of all slots, None if there is none.

        Raises: SearchDeadlineExceeded.
        """
        if rule.joined:
            options = {
                slot: [rule.joined.get(place, place) for place in places]
                for slot, places in options.items()
            }
        seating = cls(options, rule, budget)
        for slot in options:
            if not seating._seat(slot):
                return None
        return seating

    def fixing(self, slot: int, place: int) -> "Matching | None":
        """Return a seating with the slot fixed on the place, None if there is none.

        Slots fixed before stay where they are; a slot that needs no seat changes nothing.
        """
        if slot not in self._options:
            return self
        place = self._rule.joined.get(place, place)
        if self._place[slot] == place:
            return self._copy(slot)
        if self._has_seat(place):
            after = self._copy(slot)
            after._leave(slot)
            after._sit(slot, place)
            return after
        return self._ousting(slot, place)

    def _ousting(self, slot: int, place: int) -> "Matching | None":
        """Return a seating with the slot on a full place, and somebody there elsewhere."""
        for other in self._at[place]:
            if other in self._fixed:
                continue
            after = self._copy(slot)
            after._leave(slot)
            after._leave(other)
            after._sit(slot, place)
            if after._seat(other):
                return after
        return None

    def _copy(self, fixed: int) -> "Matching":
        copy = Matching(self._options, self._rule, self._budget)
        copy._place = dict(self._place)
        copy._at = dict(self._at)
        copy._fixed = self._fixed | {fixed}
        return copy

    def _has_seat(self, place: int) -> bool:
        return len(self._at.get(place, ())) < self._rule.seats(place)

    def _sit(self, slot: int, place: int) -> None:
        self._place[slot] = place
        self._at[place] = (*self._at.get(place, ()), slot)

    def _leave(self, slot: int) -> int:
        place = self._place.pop(slot)
        self._at[place] = tuple(other for other in self._at[place] if other != slot)
        return place

    def _seat(self, slot: int) -> bool:
        """Seat one more slot, if need be moving others along a shortest augmenting path."""
        for place in self._options[slot]:
            if self._has_seat(place):
                self._sit(slot, place)
                return True
        for_whom: dict[int, int | None] = {slot: None}
        queue, seen = [slot], set[int]()
        for mover in queue:
            self._budget.spend()
            for place in self._options[mover]:
                if place in seen:
                    continue
                seen.add(place)
                if self._has_seat(place):
                    self._shift(mover, place, for_whom)
                    return True
                for other in self._at.get(place, ()):
                    if other not in for_whom and other not in self._fixed:
                        for_whom[other] = mover
                        queue.append(other)
        return False

    def _shift(self, mover: int, place: int, for_whom: Mapping[int, int | None]) -> None:
        """Move to a free place, and whoever waits for the one left into that, and so on."""
        while True:
            waiting = for_whom[mover]
            left = None if waiting is None else self._leave(mover)
            self._sit(mover, place)
            if waiting is None or left is None:
                return
            mover, place = waiting, left
