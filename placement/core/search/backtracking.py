"""Filling slots one by one, and leaving dead branches at once."""

from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_

from placement.core.search.deadline import Budget
from placement.core.search.matching import Matching
from placement.core.search.problem import Assignment, Constraints, Places
from placement.core.search.remaining_capacity import Ledger


@dataclass(slots=True)
class _Frame:
    """One slot whose options are being tried, and what had to hold before."""

    places: Iterator[int]
    seatings: Sequence[Matching]
    lent: int
    fruitful: bool = False


class Backtracking:
    """Fills slots one by one, those with the fewest options first."""

    def __init__(self, terms: Constraints, options: tuple[Places, ...], budget: Budget) -> None:
        plan = terms.plan
        self._terms = terms
        self._budget = budget
        self._options = options
        self._order = sorted(range(len(options)), key=lambda slot: len(options[slot]))
        self._unsuffixed = frozenset(plan.unsuffixed)
        self._all_lists = (1 << len(plan.either)) - 1
        self._hoped = self._hopes()
        self._kinds = self._kinds_of_places()
        self._failed: set[Hashable] = set()
        self._ledger = Ledger(
            [slot.resources for slot in plan.slots],
            terms.room,
            apart=frozenset(plan.isolated),
            tree_of=terms.trees,
        )

    def walk(self) -> Iterator[Assignment]:
        """Yield the assignments; a depth-first walk without recursion."""
        seatings = [rule.seating(self._options, self._budget) for rule in self._terms.rules]
        possible = [seating for seating in seatings if seating is not None]
        if len(possible) < len(seatings):
            return
        chosen: list[int] = []
        frames = [self._frame(0, possible, 0)]
        while frames:
            self._budget.spend()
            depth = len(frames) - 1
            frame = frames[-1]
            place = next(frame.places, None)
            if place is None:
                self._leave(frames, chosen)
                continue
            slot = self._order[depth]
            if not self._ledger.put(slot, place):
                continue
            deeper = self._deeper(frame, depth, place)
            if deeper is None:
                self._ledger.take_back(slot, place)
            elif depth + 1 == len(self._order):
                frame.fruitful = True
                yield self._in_slot_order([*chosen, place])
                self._ledger.take_back(slot, place)
            else:
                chosen.append(place)
                frames.append(deeper)

    def _deeper(self, frame: _Frame, depth: int, place: int) -> _Frame | None:
        """Return the frame after a choice, None if it cannot lead to anything."""
        slot = self._order[depth]
        lent = frame.lent | self._lent(slot, place)
        if (lent | self._hoped[depth + 1]) != self._all_lists:
            return None
        if self._failed and self._state(depth + 1, lent) in self._failed:
            return None
        seatings = []
        for seating in frame.seatings:
            after = seating.fixing(slot, place)
            if after is None:
                return None
            seatings.append(after)
        return self._frame(depth + 1, seatings, lent)

    def _frame(self, depth: int, seatings: Sequence[Matching], lent: int) -> _Frame:
        places = self._options[self._order[depth]] if depth < len(self._order) else ()
        return _Frame(iter(places), seatings, lent)

    def _leave(self, frames: list[_Frame], chosen: list[int]) -> None:
        """Go back to the slot before, which remembers whether anything came of its choice."""
        frame = frames.pop()
        if not frame.fruitful:
            self._failed.add(self._state(len(frames), frame.lent))
        if frames:
            frames[-1].fruitful |= frame.fruitful
            self._ledger.take_back(self._order[len(frames) - 1], chosen.pop())

    def _state(self, depth: int, lent: int) -> Hashable:
        return depth, lent, self._ledger.state(self._kinds)

    def _in_slot_order(self, chosen: Sequence[int]) -> Assignment:
        places = [0] * len(chosen)
        for slot, place in zip(self._order, chosen, strict=True):
            places[slot] = place
        return tuple(places)

    def _lent(self, slot: int, place: int) -> int:
        """Return the either-lists that a choice meets; only the unsuffixed group has any."""
        return self._terms.problem.lends.get(place, 0) if slot in self._unsuffixed else 0

    def _hopes(self) -> Sequence[int]:
        """Return for each depth the either-lists that the slots from there on could meet."""
        hopes = [0]
        for slot in reversed(self._order):
            could = [self._lent(slot, place) for place in self._options[slot]]
            hopes.append(reduce(or_, could, hopes[-1]))
        return hopes[::-1]

    def _kinds_of_places(self) -> Mapping[int, int]:
        """Number the places so that interchangeable ones have the same number."""
        slots_at: defaultdict[int, list[int]] = defaultdict(list)
        for slot, places in enumerate(self._options):
            for place in places:
                slots_at[place].append(slot)
        kinds: dict[Hashable, int] = {}
        return {
            place: kinds.setdefault((tuple(slots), self._nature(place)), len(kinds))
            for place, slots in slots_at.items()
        }

    def _nature(self, place: int) -> Hashable:
        terms = self._terms
        rooms = tuple(terms.room.get((place, name)) for name in terms.plan.contended)
        return rooms, terms.problem.lends.get(place), terms.trees.get(place)
