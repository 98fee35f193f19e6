"""Whether slots can all be seated on places with few seats: bipartite matching.

With group_policy=isolate every provider seats one group. Where several slots
want one class, a provider seats at most its room divided by the smallest of
their amounts. Trying all ways is factorial; augmenting paths decide it in
polynomial time, and repair a seating after each choice.
"""

from collections.abc import Callable, Mapping, Sequence

Options = Mapping[int, Sequence[int]]


class Seating:
    """Every slot on some place, and which slots have been fixed where they are.

    Never changed once made: ``fixing`` returns another seating. Places with
    the same entry in ``joined`` are one place.
    """

    __slots__ = ("_at", "_fixed", "_joined", "_options", "_place", "_seats")

    def __init__(
        self, options: Options, seats: Callable[[int], int], joined: Mapping[int, int]
    ) -> None:
        self._options = options
        self._seats = seats
        self._joined = joined
        self._place: dict[int, int] = {}
        self._at: dict[int, tuple[int, ...]] = {}
        self._fixed: frozenset[int] = frozenset()

    @classmethod
    def of(
        cls, options: Options, seats: Callable[[int], int], joined: Mapping[int, int] | None = None
    ) -> "Seating | None":
        """Return a seating of all slots, None if there is none."""
        joined = joined or {}
        if joined:
            options = {
                slot: [joined.get(place, place) for place in places]
                for slot, places in options.items()
            }
        seating = cls(options, seats, joined)
        for slot in options:
            if not seating._seat(slot):
                return None
        return seating

    def fixing(self, slot: int, place: int) -> "Seating | None":
        """Return a seating with the slot fixed on the place, None if there is none.

        Slots fixed before stay where they are; a slot that needs no seat changes nothing.
        """
        if slot not in self._options:
            return self
        place = self._joined.get(place, place)
        if self._place[slot] == place:
            return self._copy(slot)
        if self._has_seat(place):
            after = self._copy(slot)
            after._leave(slot)
            after._sit(slot, place)
            return after
        return self._ousting(slot, place)

    def _ousting(self, slot: int, place: int) -> "Seating | None":
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

    def _copy(self, fixed: int) -> "Seating":
        copy = Seating(self._options, self._seats, self._joined)
        copy._place = dict(self._place)
        copy._at = dict(self._at)
        copy._fixed = self._fixed | {fixed}
        return copy

    def _has_seat(self, place: int) -> bool:
        return len(self._at.get(place, ())) < self._seats(place)

    def _sit(self, slot: int, place: int) -> None:
        self._place[slot] = place
        self._at[place] = (*self._at.get(place, ()), slot)

    def _leave(self, slot: int) -> int:
        place = self._place.pop(slot)
        self._at[place] = tuple(other for other in self._at[place] if other != slot)
        return place

    def _seat(self, slot: int) -> bool:
        """Seat one more slot, moving others along a shortest augmenting path."""
        for_whom: dict[int, int | None] = {slot: None}
        queue, seen = [slot], set[int]()
        for mover in queue:
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
