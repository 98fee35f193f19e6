"""The capacity that remains while a candidate is assembled."""

from collections.abc import Hashable, Mapping, Sequence

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
