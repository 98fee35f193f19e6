"""Around which roots a request can be satisfied, and the problem that each of them poses.

Every candidate is built around one root, its anchor. The anchors that have an
option for every slot fall into three kinds, told apart by arrays:

``lone``      one provider, nothing shared with it: it serves all slots, or none
``shared``    nothing of the tree itself serves any slot. Where the same is shared
              the same candidates arise, so one anchor stands for all of them
``mixed``     all others, each with a problem to solve
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np

from placement.core.combine import Places, Problem
from placement.core.narrow import Served, anchor_steps, having_trait, narrow
from placement.core.plan import Plan
from placement.core.rows import Indices, Mask
from placement.core.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Anchors:
    """Rows of roots, each array in order. ``lone`` serve as they are; see the module's text."""

    lone: Indices
    shared: Indices
    mixed: Indices


def find_anchors(snapshot: Snapshot, plan: Plan, served: Sequence[Served]) -> Anchors:
    """Return the roots that have an option for every slot, lone ones only if they serve all."""
    return sort_anchors(snapshot, plan, served, possible_anchors(snapshot, plan, served))


def possible_anchors(snapshot: Snapshot, plan: Plan, served: Sequence[Served]) -> Mask:
    """Return the roots that meet their own conditions and have an option for every slot."""
    masks = [snapshot.forest.is_root]
    masks += [step.mask for step in anchor_steps(snapshot, plan)]
    masks += [reach(snapshot, need) for need in served]
    return reduce(np.logical_and, masks)


def reach(snapshot: Snapshot, served: Served) -> Mask:
    """Return the roots at which somebody can meet the need."""
    return reach_at_home(snapshot, served) | reach_abroad(snapshot, served)


def reach_at_home(snapshot: Snapshot, served: Served) -> Mask:
    """Return the roots of trees with a member that can meet the need."""
    forest = snapshot.forest
    roots: Mask = served.local & forest.is_root
    if forest.branched:
        roots[forest.root[np.flatnonzero(served.local & ~forest.is_root)]] = True
    return roots


def reach_abroad(snapshot: Snapshot, served: Served) -> Mask:
    """Return the roots that a sharing provider which can meet the need shares with."""
    shares = served.shared_by_aggregate.keys()
    if not shares:
        return np.zeros(snapshot.size, dtype=np.bool_)
    neighbourhoods = snapshot.neighbourhoods
    near = [not shares.isdisjoint(aggregates) for aggregates in neighbourhoods.aggregates]
    return np.array(near, dtype=np.bool_)[neighbourhoods.number] & snapshot.forest.is_root


def sort_anchors(
    snapshot: Snapshot, plan: Plan, served: Sequence[Served], possible: Mask
) -> Anchors:
    """Return the anchors by kind."""
    nothing = np.zeros(snapshot.size, dtype=np.bool_)
    abroad = reduce(np.logical_or, [reach_abroad(snapshot, need) for need in served], nothing)
    alone = possible & snapshot.forest.is_lone & ~abroad
    rest = np.flatnonzero(possible & ~alone)
    if not abroad.any():
        at_home = np.ones(len(rest), dtype=np.bool_)
    else:
        at_home = reduce(np.logical_or, [reach_at_home(snapshot, need) for need in served])[rest]
    numbers = snapshot.neighbourhoods.number[rest]
    _, first = np.unique(numbers[~at_home], return_index=True)
    return Anchors(
        lone=np.flatnonzero(_serving_alone(snapshot, plan, alone)),
        shared=np.sort(rest[~at_home][first]),
        mixed=rest[at_home],
    )


def _serving_alone(snapshot: Snapshot, plan: Plan, alone: Mask) -> Mask:
    """Return the lone providers that serve all slots by themselves."""
    if plan.isolated:
        return alone & False
    masks = [having_trait(snapshot, either) for either in plan.either]
    masks += [
        snapshot.columns[name].holding(sum(amounts.values()), snapshot.size)
        for name, amounts in plan.contended.items()
        if name in snapshot.columns
    ]
    return reduce(np.logical_and, masks, alone)


class Surroundings:
    """Poses the problem of each anchor."""

    def __init__(self, snapshot: Snapshot, plan: Plan, served: Sequence[Served]) -> None:
        self._snapshot = snapshot
        self._plan = plan
        self._served = served
        self._local = [need.local.tobytes() for need in served]
        self._shared_near: list[dict[int, Places]] = [{} for _ in served]
        self._bits: dict[frozenset[str], int] = {}
        roots = snapshot.forest.root[snapshot.sharing.numbers]
        self._roots_that_share = frozenset(roots.tolist())
        self._rooms = {
            name: snapshot.columns[name].room_by_row(snapshot.size)
            for name in plan.contended
            if name in snapshot.columns
        }

    def problem(self, anchor: int) -> Problem:
        """Return what must be solved at an anchor."""
        members = self._snapshot.forest.members(anchor)
        options = tuple(
            self._options(number, anchor, members) for number in range(len(self._served))
        )
        plan = self._plan
        if not (plan.contended or plan.either or plan.subtrees) and plan.request.nested:
            return Problem(options)
        return Problem(
            options,
            rooms=tuple(self._rooms_of(name, options, members) for name in plan.contended),
            lends=tuple(self._lends(options, members)) if plan.either else (),
            ancestry=tuple(self._ancestry(options, members)) if plan.subtrees else (),
            trees=() if plan.request.nested else tuple(self._trees(options)),
        )

    def is_sharing_itself(self, anchor: int) -> bool:
        """Tell whether the anchor's tree has a sharing provider."""
        return anchor in self._roots_that_share

    def _options(self, need: int, anchor: int, members: Sequence[int]) -> Places:
        local = self._local[need]
        places = tuple([place for place, row in enumerate(members) if local[row]])
        if not self._served[need].shared:
            return places
        return places + self._from_abroad(need, anchor)

    def _from_abroad(self, need: int, anchor: int) -> Places:
        number = self._snapshot.neighbourhoods.number.item(anchor)
        near = self._shared_near[need].get(number)
        if near is None:
            near = self._shared_near[need][number] = self._shared_with(need, number)
        if self.is_sharing_itself(anchor):
            root = self._snapshot.forest.root
            return tuple(place for place in near if root.item(~place) != anchor)
        return near

    def _shared_with(self, need: int, neighbourhood: int) -> Places:
        by_aggregate = self._served[need].shared_by_aggregate
        rows = {
            row
            for uuid in self._snapshot.neighbourhoods.aggregates[neighbourhood]
            for row in by_aggregate.get(uuid, ())
        }
        return tuple(~row for row in sorted(rows))

    def _rooms_of(
        self, name: str, options: Sequence[Places], members: Sequence[int]
    ) -> tuple[tuple[int, int], ...]:
        amounts = self._plan.contended[name]
        most, rooms = sum(amounts.values()), self._rooms[name]
        needs = (self._plan.slots[slot].need for slot in amounts)
        return tuple(
            (place, min(rooms.item(row), most))
            for place, row in _rows(_together(options, needs), members)
        )

    def _lends(
        self, options: Sequence[Places], members: Sequence[int]
    ) -> Iterator[tuple[int, int]]:
        needs = (self._plan.slots[slot].need for slot in self._plan.unsuffixed)
        for place, row in _rows(_together(options, needs), members):
            yield place, self._bits_of(self._snapshot.entries.state(row).traits)

    def _bits_of(self, traits: frozenset[str]) -> int:
        bits = self._bits.get(traits)
        if bits is None:
            met = [not either.isdisjoint(traits) for either in self._plan.either]
            bits = self._bits[traits] = sum(1 << number for number, yes in enumerate(met) if yes)
        return bits

    def _ancestry(
        self, options: Sequence[Places], members: Sequence[int]
    ) -> Iterator[tuple[int, frozenset[int]]]:
        place_of = {row: place for place, row in enumerate(members)}
        needs = {self._plan.slots[slot].need for slots in self._plan.subtrees for slot in slots}
        for place, row in _rows(_together(options, sorted(needs)), members):
            above = self._snapshot.forest.ancestors(row)
            yield place, frozenset(place_of.get(other, ~other) for other in above)

    def _trees(self, options: Sequence[Places]) -> Iterator[tuple[int, int]]:
        for place in _together(options, range(len(options))):
            yield place, 0 if place >= 0 else ~self._snapshot.forest.root.item(~place)


def narrow_all(snapshot: Snapshot, plan: Plan) -> list[Served]:
    """Return who can fill the slots of each need."""
    return [narrow(snapshot, need) for need in plan.needs]


def _together(options: Sequence[Places], needs: Iterator[int] | Sequence[int]) -> list[int]:
    return list(dict.fromkeys(place for need in needs for place in options[need]))


def _rows(places: Sequence[int], members: Sequence[int]) -> Iterator[tuple[int, int]]:
    for place in places:
        yield place, members[place] if place >= 0 else ~place
