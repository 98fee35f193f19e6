"""How the slots of one request can be filled around one root.

Theory of operation.  What surrounds a root is reduced to a *problem* that no
longer names providers: places of the root's own tree are numbered from 0 in
tree order, places of other trees (shared with it) are -1 - row. Hosts that are
alike give equal problems, so that one solution serves them all.

``solve`` first splits the problem by ``same_subtree``: the highest provider of
a candidate is unique, and so is the first slot that it fills; once both are
chosen, the condition is a restriction of the options of each slot. Then it
fills the slots one after the other. A choice is left at once if

- the ledger says that some sum exceeds what is left, or that a second provider
  of one tree is taken where that is not wanted (``ledger``);
- the slots that remain cannot all be seated any more (``seating``);
- the traits that the unsuffixed group still lacks cannot come any more;
- the same state was reached before, and led to nothing.

For isolated groups without shared sums, seating is exact: no choice is made
that does not lead to a solution. In general the problem contains bin packing,
and the budget has the last word.
"""

import random
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from itertools import chain, permutations, product
from operator import or_
from typing import NamedTuple

from placement.core.budget import Budget
from placement.core.ledger import Ledger, Room
from placement.core.plan import Plan
from placement.core.seating import Seating

MOST_CLUSTERS = 16

Places = tuple[int, ...]
Assignment = tuple[int, ...]


class Problem(NamedTuple):
    """What surrounds a root, as far as the plan depends on it.

    Equal problems have equal solutions.

    ``options``   for each need the places that meet it
    ``rooms``     for each contended class, in order, what is left at each of
                  the places of its slots, clipped to what they want together
    ``lends``     for each option of the unsuffixed slots which either-lists it meets, as bits
    ``above``     if the request has same_subtree: for each place of the tree that of its parent
    ``lineages``  and for each other place it and all places above it
    ``trees``     (place, root), if only one provider of a tree may be used
    """

    options: tuple[Places, ...]
    rooms: tuple[tuple[tuple[int, int], ...], ...] = ()
    lends: tuple[tuple[int, int], ...] = ()
    above: tuple[int, ...] = ()
    lineages: tuple[tuple[int, frozenset[int]], ...] = ()
    trees: tuple[tuple[int, int], ...] = ()


def solve(
    plan: Plan, problem: Problem, budget: Budget, rng: random.Random | None = None
) -> Iterator[Assignment]:
    """Yield each way to fill the slots once: a place for each, in the order of the slots.

    With ``rng`` the options are tried in random order.
    """
    options = tuple(_mixed(problem.options[slot.need], rng) for slot in plan.slots)
    room = _scarce(plan, problem, options)
    trees = _crowded(problem)
    for split in _splits(plan, problem, options, budget):
        if room or trees or plan.either:
            yield from _Assembly(plan, problem, split, room, trees).walk(budget)
        elif not plan.isolated:
            yield from product(*split)
        elif (clusters := _clusters(plan, split)) is not None:
            yield from _arrangements(clusters, split)
        else:
            yield from _Assembly(plan, problem, split, room, trees).walk(budget)


def _mixed(places: Places, rng: random.Random | None) -> Places:
    return places if rng is None else tuple(rng.sample(places, len(places)))


def _scarce(plan: Plan, problem: Problem, options: Sequence[Places]) -> Room:
    """Return the rooms that could be too small for all who may want them."""
    room: Room = {}
    for (name, amounts), rooms in zip(plan.contended.items(), problem.rooms, strict=True):
        for place, left in rooms:
            wanted = sum(amount for slot, amount in amounts.items() if place in options[slot])
            if left < wanted:
                room[place, name] = left
    return room


def _crowded(problem: Problem) -> Mapping[int, int]:
    """Return the tree of each place, or nothing if no two places are of one tree."""
    trees = dict(problem.trees)
    return trees if len(set(trees.values())) < len(trees) else {}


def _splits(
    plan: Plan, problem: Problem, options: tuple[Places, ...], budget: Budget
) -> Iterator[tuple[Places, ...]]:
    """Yield restrictions of the options under which every same_subtree holds, as they are.

    No assignment is within two of them; together they have all.
    """
    above = _lineages(problem)
    todo = [(options, 0)]
    while todo:
        budget.spend()
        restricted, done = todo.pop()
        if not _can_be_apart(plan, restricted, plan.isolated):
            continue
        if done == len(plan.subtrees):
            yield restricted
            continue
        slots = plan.subtrees[done]
        children = [
            (child, done + 1)
            for child in _under_each_top(restricted, slots, above)
            if _can_be_apart(plan, child, slots)
        ]
        todo.extend(reversed(children))


def _can_be_apart(plan: Plan, options: tuple[Places, ...], slots: Sequence[int]) -> bool:
    """Tell whether those of the slots that are isolated can have places of their own."""
    apart = {slot: options[slot] for slot in slots if slot in plan.isolated}
    return Seating.of(apart, lambda _: 1) is not None


def _lineages(problem: Problem) -> Mapping[int, frozenset[int]]:
    """Return for each place it and all places above it."""
    nothing: frozenset[int] = frozenset()
    lineages = dict(problem.lineages)
    for place, parent in enumerate(problem.above):
        lineages[place] = lineages.get(parent, nothing) | {place}
    return lineages


def _under_each_top(
    options: tuple[Places, ...], slots: Sequence[int], above: Mapping[int, frozenset[int]]
) -> Iterator[tuple[Places, ...]]:
    """Yield the options with each possible highest place, and first slot that has it."""
    for top in dict.fromkeys(place for slot in slots for place in options[slot]):
        below = {
            slot: tuple(place for place in options[slot] if top in above[place]) for slot in slots
        }
        for holder in slots:
            if top not in below[holder]:
                continue
            restricted = {**below, holder: (top,)}
            if all(restricted.values()):
                yield tuple(restricted.get(slot, places) for slot, places in enumerate(options))
            below[holder] = tuple(place for place in below[holder] if place != top)


Cluster = tuple[tuple[int, ...], Places]


def _clusters(plan: Plan, options: tuple[Places, ...]) -> list[Cluster] | None:
    """Return the slots by their options if different slots have the same or quite other ones.

    Slots that are not isolated come last, each for itself. None if options overlap
    in part, or if there are too many clusters to nest one loop for each.
    """
    slots_with: defaultdict[Places, list[int]] = defaultdict(list)
    for slot in plan.isolated:
        slots_with[options[slot]].append(slot)
    if len(set(chain.from_iterable(slots_with))) < sum(map(len, slots_with)):
        return None
    clusters: list[Cluster] = [(tuple(slots), places) for places, slots in slots_with.items()]
    clusters += [((slot,), options[slot]) for slot in plan.unsuffixed]
    return clusters if len(clusters) <= MOST_CLUSTERS else None


def _arrangements(
    clusters: Sequence[Cluster], options: tuple[Places, ...]
) -> Iterator[Assignment]:
    """Yield all ways to arrange each cluster's slots on places of their own."""
    if any(len(slots) > len(places) for slots, places in clusters):
        return
    order = [slot for slots, _ in clusters for slot in slots]
    position = [order.index(slot) for slot in range(len(options))]
    for places in _nested_permutations(clusters):
        yield tuple([places[at] for at in position])


def _nested_permutations(clusters: Sequence[Cluster]) -> Iterator[Places]:
    """Yield every permutation of the last cluster, for each of the one before, and so on."""
    if len(clusters) == 1:
        yield from permutations(clusters[0][1], len(clusters[0][0]))
        return
    for before in _nested_permutations(clusters[:-1]):
        for places in permutations(clusters[-1][1], len(clusters[-1][0])):
            yield before + places


@dataclass(slots=True)
class _Frame:
    """One slot whose options are being tried, and what had to hold before."""

    places: Iterator[int]
    seatings: Sequence[Seating]
    lent: int
    fruitful: bool = False


class _Assembly:
    """Fills slots one by one, those with the fewest options first."""

    def __init__(
        self,
        plan: Plan,
        problem: Problem,
        options: tuple[Places, ...],
        room: Room,
        trees: Mapping[int, int],
    ) -> None:
        self._plan = plan
        self._options = options
        self._room = room
        self._trees = trees
        self._order = sorted(range(len(options)), key=lambda slot: len(options[slot]))
        self._unsuffixed = frozenset(plan.unsuffixed)
        self._all_lists = (1 << len(plan.either)) - 1
        self._lends = dict(problem.lends)
        self._hoped = self._hopes()
        self._kinds = self._kinds_of_places()
        self._failed: set[Hashable] = set()
        self._ledger = Ledger(
            [slot.resources for slot in plan.slots],
            room,
            apart=frozenset(plan.isolated),
            tree_of=trees.__getitem__ if trees else None,
        )

    def walk(self, budget: Budget) -> Iterator[Assignment]:
        """Yield the assignments; a depth-first walk without recursion."""
        seatings = self._seatings()
        if seatings is None:
            return
        chosen: list[int] = []
        frames = [self._frame(0, seatings, 0)]
        while frames:
            budget.spend()
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

    def _frame(self, depth: int, seatings: Sequence[Seating], lent: int) -> _Frame:
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
        return self._lends.get(place, 0) if slot in self._unsuffixed else 0

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
        rooms = tuple(self._room.get((place, name)) for name in self._plan.contended)
        return rooms, self._lends.get(place), self._trees.get(place)

    def _seatings(self) -> Sequence[Seating] | None:
        """Return a seating for isolation and one for each scarce class, None if one cannot be."""
        seatings: list[Seating | None] = []
        if self._plan.isolated:
            options = self._options_of(self._plan.isolated)
            seatings.append(Seating.of(options, lambda _: 1, self._trees))
        for name in dict.fromkeys(name for _, name in self._room):
            amounts = self._plan.contended[name]
            seatings.append(
                Seating.of(self._options_of(amounts), partial(self._seats, name, amounts))
            )
        possible = [seating for seating in seatings if seating is not None]
        return possible if len(possible) == len(seatings) else None

    def _options_of(self, slots: Iterable[int]) -> Mapping[int, Places]:
        return {slot: self._options[slot] for slot in slots}

    def _seats(self, name: str, amounts: Mapping[int, int], place: int) -> int:
        left = self._room.get((place, name))
        return len(amounts) if left is None else left // min(amounts.values())
