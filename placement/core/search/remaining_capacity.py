"""What the choices made so far have taken, while a candidate is put together."""

from collections.abc import Hashable, Mapping, Sequence

Room = dict[tuple[int, str], int]


class Ledger:
    """Keeps the sums of a half-made candidate; ``put`` and ``take_back`` are a stack.

    ``room`` has what is left of contended classes, by place and class; a class
    that cannot run short is not in it. ``tree_of`` is filled below 1.29, where a
    candidate uses one provider of a tree at most.
    """

    def __init__(
        self,
        wants: Sequence[Sequence[tuple[str, int]]],
        room: Room,
        *,
        apart: frozenset[int],
        tree_of: Mapping[int, int],
    ) -> None:
        self._wants = wants
        self._left = dict(room)
        self._apart = apart
        self._tree_of = tree_of
        self._at: dict[int, list[int]] = {}
        self._names = sorted({name for _, name in room})

    def put(self, slot: int, place: int) -> bool:
        """Give the slot to the place if its room and its tree allow it; tell whether they do."""
        left, wants = self._left, self._wants[slot]
        for name, amount in wants:
            if left.get((place, name), amount) < amount:
                return False
        if self._tree_of and self._tree_is_taken(place):
            return False
        for name, amount in wants:
            if (place, name) in left:
                left[place, name] -= amount
        self._at.setdefault(place, []).append(slot)
        return True

    def take_back(self, slot: int, place: int) -> None:
        """Undo the last ``put``."""
        for name, amount in self._wants[slot]:
            if (place, name) in self._left:
                self._left[place, name] += amount
        slots = self._at[place]
        slots.pop()
        if not slots:
            del self._at[place]

    def state(self, kind_of: Mapping[int, int]) -> Hashable:
        """Return all that the choices still to be made depend on.

        Places of one kind are interchangeable, so it only counts how many of
        them are in which state: that cuts symmetric branches.
        """
        return tuple(sorted(self._state_of(place, kind_of[place]) for place in self._at))

    def _state_of(self, place: int, kind: int) -> tuple[int, bool, tuple[int, ...]]:
        is_taken = any(slot in self._apart for slot in self._at[place])
        left = tuple(self._left.get((place, name), -1) for name in self._names)
        return kind, is_taken, left

    def _tree_is_taken(self, place: int) -> bool:
        tree_of = self._tree_of
        return any(other != place and tree_of[other] == tree_of[place] for other in self._at)
