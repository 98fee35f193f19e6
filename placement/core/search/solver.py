"""The solutions of one problem.

``solve`` first splits the problem by ``same_subtree`` (``split_by_subtree``). For each part:

- without constraints between slots, the solutions are the product of the options;
- if isolation is the only constraint, and the options of any two slots are equal
  or disjoint, the solutions are permutations (``permuted_assignments``);
- otherwise the slots are assigned one by one, depth first (``Backtracking``).

Backtracking leaves a choice, in this order, if

1. an allocatable amount is exceeded, or a second provider of a tree is used below 1.29
   (``RemainingCapacity``);
2. all slots are assigned, and a trait list of the unsuffixed group is not satisfied;
3. the same state was reached before without a solution; the state contains
   everything that the remaining choices depend on;
4. the remaining slots can no longer be matched to options (``matching``).

The opposite of each case is necessary for a solution, so no solution is lost. For
isolated groups without shared sums, matching is exact: every remaining choice
leads to a solution. In general the problem contains bin packing, which is
NP-hard, and the deadline bounds it.
"""

import random
from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, permutations, product

from placement.core.search.constraints import Constraints, RemainingCapacity, split_by_subtree
from placement.core.search.deadline import Deadline
from placement.core.search.matching import Matching
from placement.core.search.slots import Assignment, Options, Problem, SlottedRequest

MAX_SLOT_CLASSES = 16
SlotClass = tuple[tuple[int, ...], Options]
"""Slots that have the same options, and these options."""


def solve(
    slotted: SlottedRequest, problem: Problem, deadline: Deadline, rng: random.Random | None = None
) -> Iterator[Assignment]:
    """Yield each solution once: an option for each slot, in the order of the slots.

    With ``rng`` the options are tried in random order.

    Raises: SearchDeadlineExceeded.
    """
    constraints = Constraints.of(slotted, problem)
    options = problem.options
    if rng is not None:
        options = tuple(tuple(rng.sample(choices, len(choices))) for choices in options)
    for part in split_by_subtree(constraints, options, deadline):
        yield from _solutions(constraints, part, deadline)


def _solutions(
    constraints: Constraints, options: tuple[Options, ...], deadline: Deadline
) -> Iterator[Assignment]:
    if constraints.are_isolation_only:
        if not constraints.slotted.isolated:
            return product(*options)
        classes = slot_classes_of(constraints.slotted, options)
        if classes is not None:
            return permuted_assignments(classes, options)
    return Backtracking(constraints, options, deadline).assignments()


def slot_classes_of(
    slotted: SlottedRequest, options: tuple[Options, ...]
) -> list[SlotClass] | None:
    """Return the isolated slots by their options, if any two have equal or disjoint options.

    The slots of the unsuffixed group come last, one class for each slot. None if
    options overlap in part, or if there are too many classes for nested loops.
    """
    slots_with: defaultdict[Options, list[int]] = defaultdict(list)
    for slot in slotted.isolated:
        slots_with[options[slot]].append(slot)
    if len(set(chain.from_iterable(slots_with))) < sum(map(len, slots_with)):
        return None
    classes: list[SlotClass] = [
        (tuple(slots), shared_options) for shared_options, slots in slots_with.items()
    ]
    classes += [((slot,), options[slot]) for slot in slotted.unsuffixed]
    return classes if len(classes) <= MAX_SLOT_CLASSES else None


def permuted_assignments(
    classes: Sequence[SlotClass], options: tuple[Options, ...]
) -> Iterator[Assignment]:
    """Yield every assignment of the slots of each class to different options of the class.

    No class may have more slots than options, which would be detected late.
    """
    order = [slot for slots, _ in classes for slot in slots]
    position = [order.index(slot) for slot in range(len(options))]
    for chosen in _nested_permutations(classes):
        yield tuple([chosen[at] for at in position])


def _nested_permutations(classes: Sequence[SlotClass]) -> Iterator[Options]:
    """Yield the combinations of the permutations of the classes; the last class varies fastest."""
    if len(classes) == 1:
        yield from permutations(classes[0][1], len(classes[0][0]))
        return
    for before in _nested_permutations(classes[:-1]):
        for last in permutations(classes[-1][1], len(classes[-1][0])):
            yield before + last


@dataclass(slots=True)
class _Frame:
    """One slot whose options are tried, and the state after the previous choices.

    ``any_of_met`` has a bit for each trait list that the previous choices satisfy.
    """

    options: Iterator[int]
    matchings: Sequence[Matching]
    any_of_met: int
    has_solution: bool = False


class Backtracking:
    """Assigns slots one by one, the slots with the fewest options first.

    Failed states and symmetry classes exist for packing that is impossible: if slots do not
    fit in one order of the choices, or at one of several interchangeable options, the other
    orders and options are not tried. If solutions are found at once, they have no benefit.
    """

    def __init__(
        self, constraints: Constraints, options: tuple[Options, ...], deadline: Deadline
    ) -> None:
        slotted = constraints.slotted
        self._constraints = constraints
        self._deadline = deadline
        self._options = options
        self._order = sorted(range(len(options)), key=lambda slot: len(options[slot]))
        self._unsuffixed = frozenset(slotted.unsuffixed)
        self._all_any_of = (1 << len(slotted.any_of)) - 1
        self._symmetry_class = self._symmetry_classes()
        self._failed_states: set[Hashable] = set()
        self._capacity = RemainingCapacity(slotted, constraints.problem)

    def assignments(self) -> Iterator[Assignment]:
        """Yield every assignment that satisfies the constraints; without recursion.

        All matchings exist under the options, see ``split_by_subtree``.
        """
        matchings = (
            Matching.of(self._options, constraint, self._deadline)
            for constraint in self._constraints.matchings
        )
        chosen: list[int] = []
        frames = [self._frame(0, list(filter(None, matchings)), 0)]
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
        if depth + 1 == len(self._order) and any_of_met != self._all_any_of:
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
        """Return to the previous slot; record the state if it had no solution."""
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

    def _symmetry_classes(self) -> Mapping[int, int]:
        """Number the options so that interchangeable options have the same number."""
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
        problem, contended = self._constraints.problem, self._constraints.slotted.contended
        allocatable = tuple(problem.allocatable.get((option, name)) for name in contended)
        return allocatable, problem.any_of_bits.get(option), problem.tree_of.get(option)
