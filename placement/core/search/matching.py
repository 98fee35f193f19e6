"""Bipartite matching of slots to options of limited capacity.

With group_policy=isolate an option serves one slot. Where several slots request
one resource class, an option serves at most its allocatable amount divided by the
smallest of their amounts. Enumeration is factorial; augmenting paths decide in
polynomial time whether a matching exists, and repair it after each choice. Each
step of a path counts against the deadline of the search.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from placement.core.search.deadline import Deadline
from placement.core.search.slots import Options

SlotOptions = Mapping[int, Sequence[int]]


@dataclass(frozen=True, slots=True)
class MatchingConstraint:
    """Some slots, and how many of them an option can serve; ``merged`` options count as one."""

    slots: tuple[int, ...]
    capacity: Callable[[int], int]
    merged: Mapping[int, int]


class Matching:
    """An option for every slot; some slots may be fixed to their option.

    Immutable once returned: ``with_fixed`` returns another matching.
    """

    __slots__ = ("_constraint", "_deadline", "_fixed", "_option_of", "_options", "_slots_at")

    def __init__(
        self, options: SlotOptions, constraint: MatchingConstraint, deadline: Deadline
    ) -> None:
        self._options = options
        self._constraint = constraint
        self._deadline = deadline
        self._option_of: dict[int, int] = {}
        self._slots_at: dict[int, tuple[int, ...]] = {}
        self._fixed: frozenset[int] = frozenset()

    @classmethod
    def of(
        cls, options: Sequence[Options], constraint: MatchingConstraint, deadline: Deadline
    ) -> "Matching | None":
        """Return a matching of the constraint's slots, None if there is none.

        Raises: SearchDeadlineExceeded.
        """
        slot_options: SlotOptions = {slot: options[slot] for slot in constraint.slots}
        if merged := constraint.merged:
            slot_options = {
                slot: [merged.get(option, option) for option in choices]
                for slot, choices in slot_options.items()
            }
        matching = cls(slot_options, constraint, deadline)
        for slot in constraint.slots:
            if not matching._augment(slot):
                return None
        return matching

    def with_fixed(self, slot: int, option: int) -> "Matching | None":
        """Return a matching with the slot fixed to the option, None if there is none.

        Slots that were fixed before keep their options; a slot that is not part
        of the constraint changes nothing.
        """
        if slot not in self._options:
            return self
        option = self._constraint.merged.get(option, option)
        if self._option_of[slot] == option:
            return self._copy(slot)
        if self._has_capacity(option):
            after = self._copy(slot)
            after._unassign(slot)
            after._assign(slot, option)
            return after
        return self._displacing(slot, option)

    def _displacing(self, slot: int, option: int) -> "Matching | None":
        """Return a matching with the slot at a full option, and one of its slots elsewhere."""
        for other in self._slots_at[option]:
            if other in self._fixed:
                continue
            after = self._copy(slot)
            after._unassign(slot)
            after._unassign(other)
            after._assign(slot, option)
            if after._augment(other):
                return after
        return None

    def _copy(self, fixed: int) -> "Matching":
        copy = Matching(self._options, self._constraint, self._deadline)
        copy._option_of = dict(self._option_of)
        copy._slots_at = dict(self._slots_at)
        copy._fixed = self._fixed | {fixed}
        return copy

    def _has_capacity(self, option: int) -> bool:
        return len(self._slots_at.get(option, ())) < self._constraint.capacity(option)

    def _assign(self, slot: int, option: int) -> None:
        self._option_of[slot] = option
        self._slots_at[option] = (*self._slots_at.get(option, ()), slot)

    def _unassign(self, slot: int) -> int:
        option = self._option_of.pop(slot)
        self._slots_at[option] = tuple(other for other in self._slots_at[option] if other != slot)
        return option

    def _augment(self, slot: int) -> bool:
        """Match one more slot, moving others along a shortest augmenting path if needed."""
        for option in self._options[slot]:
            if self._has_capacity(option):
                self._assign(slot, option)
                return True
        displaced_by: dict[int, int | None] = {slot: None}
        queue, visited = [slot], set[int]()
        for mover in queue:
            self._deadline.tick()
            for option in self._options[mover]:
                if option in visited:
                    continue
                visited.add(option)
                if self._has_capacity(option):
                    self._apply_path(mover, option, displaced_by)
                    return True
                for other in self._slots_at.get(option, ()):
                    if other not in displaced_by and other not in self._fixed:
                        displaced_by[other] = mover
                        queue.append(other)
        return False

    def _apply_path(self, mover: int, option: int, displaced_by: Mapping[int, int | None]) -> None:
        """Move a slot to a free option, the slot that displaces it to its old one, and so on."""
        while True:
            next_mover = displaced_by[mover]
            vacated = None if next_mover is None else self._unassign(mover)
            self._assign(mover, option)
            if next_mover is None or vacated is None:
                return
            mover, option = next_mover, vacated
