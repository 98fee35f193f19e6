"""Depth-first search over the slots that leaves a branch as soon as it cannot succeed."""

from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_

from placement.core.search.constraints import Constraints
from placement.core.search.deadline import Deadline
from placement.core.search.matching import Matching
from placement.core.search.problem import Assignment, Options
from placement.core.search.remaining_capacity import RemainingCapacity


@dataclass(slots=True)
class _Frame:
    """One slot whose options are tried, and what the choices before it left.

    ``any_of_met`` has a bit for each trait list that they satisfy.
    """

    options: Iterator[int]
    matchings: Sequence[Matching]
    any_of_met: int
    has_solution: bool = False


class Backtracking:
    """Assigns slots one by one, those with the fewest options first."""

    def __init__(
        self, constraints: Constraints, options: tuple[Options, ...], deadline: Deadline
    ) -> None:
        plan = constraints.plan
        self._constraints = constraints
        self._deadline = deadline
        self._options = options
        self._order = sorted(range(len(options)), key=lambda slot: len(options[slot]))
        self._unsuffixed = frozenset(plan.unsuffixed)
        self._all_any_of = (1 << len(plan.any_of)) - 1
        self._reachable_any_of = self._any_of_by_depth()
        self._symmetry_class = self._symmetry_classes()
        self._failed_states: set[Hashable] = set()
        self._capacity = RemainingCapacity(
            [slot.resources for slot in plan.slots],
            constraints.allocatable,
            isolated=frozenset(plan.isolated),
            tree_of=constraints.tree_of,
        )

    def assignments(self) -> Iterator[Assignment]:
        """Yield every assignment that satisfies the constraints; without recursion."""
        matchings = [
            each.matching(self._options, self._deadline) for each in self._constraints.matchings
        ]
        existing = [matching for matching in matchings if matching is not None]
        if len(existing) < len(matchings):
            return
        chosen: list[int] = []
        frames = [self._frame(0, existing, 0)]
        while frames:
            self._deadline.tick()
            depth = len(frames) - 1
            frame = frames[-1]
            option = next(frame.options, None)
            if option is None:
                self._leave(frames, chosen)
                continue
            slot = self._order[depth]
            if not self._capacity.assign(slot, option):
                continue
            next_frame = self._next_frame(frame, depth, option)
            if next_frame is None:
                self._capacity.unassign(slot, option)
            elif depth + 1 == len(self._order):
                frame.has_solution = True
                yield self._in_slot_order([*chosen, option])
                self._capacity.unassign(slot, option)
            else:
                chosen.append(option)
                frames.append(next_frame)

    def _next_frame(self, frame: _Frame, depth: int, option: int) -> _Frame | None:
        """Return the frame after a choice, None if no solution can contain the choice."""
        slot = self._order[depth]
        any_of_met = frame.any_of_met | self._any_of(slot, option)
        if (any_of_met | self._reachable_any_of[depth + 1]) != self._all_any_of:
            return None
        if self._failed_states and self._state(depth + 1, any_of_met) in self._failed_states:
            return None
        matchings = []
        for matching in frame.matchings:
            after = matching.with_fixed(slot, option)
            if after is None:
                return None
            matchings.append(after)
        return self._frame(depth + 1, matchings, any_of_met)

    def _frame(self, depth: int, matchings: Sequence[Matching], any_of_met: int) -> _Frame:
        options = self._options[self._order[depth]] if depth < len(self._order) else ()
        return _Frame(iter(options), matchings, any_of_met)

    def _leave(self, frames: list[_Frame], chosen: list[int]) -> None:
        """Return to the slot before; remember the state if it had no solution."""
        frame = frames.pop()
        if not frame.has_solution:
            self._failed_states.add(self._state(len(frames), frame.any_of_met))
        if frames:
            frames[-1].has_solution |= frame.has_solution
            self._capacity.unassign(self._order[len(frames) - 1], chosen.pop())

    def _state(self, depth: int, any_of_met: int) -> Hashable:
        return depth, any_of_met, self._capacity.state(self._symmetry_class)

    def _in_slot_order(self, chosen: Sequence[int]) -> Assignment:
        assignment = [0] * len(chosen)
        for slot, option in zip(self._order, chosen, strict=True):
            assignment[slot] = option
        return tuple(assignment)

    def _any_of(self, slot: int, option: int) -> int:
        """Return the trait lists that a choice satisfies; only unsuffixed slots count."""
        if slot not in self._unsuffixed:
            return 0
        return self._constraints.problem.any_of_bits.get(option, 0)

    def _any_of_by_depth(self) -> Sequence[int]:
        """Return for each depth the trait lists that the slots from there on could satisfy."""
        if not self._all_any_of:
            return [0] * (len(self._order) + 1)
        reachable = [0]
        for slot in reversed(self._order):
            bits = [self._any_of(slot, option) for option in self._options[slot]]
            reachable.append(reduce(or_, bits, reachable[-1]))
        return reachable[::-1]

    def _symmetry_classes(self) -> Mapping[int, int]:
        """Number the options so that interchangeable ones have the same number."""
        lists_with: defaultdict[int, list[int]] = defaultdict(list)
        for number, options in enumerate(dict.fromkeys(self._options)):
            for option in options:
                lists_with[option].append(number)
        numbers: dict[Hashable, int] = {}
        return {
            option: numbers.setdefault((tuple(lists), self._properties(option)), len(numbers))
            for option, lists in lists_with.items()
        }

    def _properties(self, option: int) -> Hashable:
        constraints = self._constraints
        allocatable = tuple(
            constraints.allocatable.get((option, name)) for name in constraints.plan.contended
        )
        any_of = constraints.problem.any_of_bits.get(option)
        return allocatable, any_of, constraints.tree_of.get(option)
