"""What is around a root, reduced to a problem that names no providers."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from placement.core.search.filters import Served, having_trait
from placement.core.search.plan import Plan
from placement.core.search.problem import Places, Problem
from placement.core.snapshot.forest import LONE_ABOVE, Tree
from placement.core.snapshot.rows import Numbers
from placement.core.snapshot.snapshot import Snapshot


@dataclass(slots=True)
class _Known:
    """A problem but for the rooms at home, and complete for each set of such rooms met."""

    bare: Problem
    by_rooms: dict[tuple[int, ...], Problem] = field(default_factory=dict)
    home: list[tuple[str, int]] | None = None

    def at_home(self, plan: Plan) -> list[tuple[str, int]]:
        """Return the contended classes with the places of the own tree that have them."""
        if self.home is None:
            self.home = [
                (name, place)
                for name, rooms in zip(plan.contended, self.bare.rooms, strict=True)
                for place in rooms
                if place >= 0
            ]
        return self.home


class ProblemBuilder:
    """Poses the problem of each anchor.

    Per row there is a code of a few bytes: a bit for each need that the provider
    meets at home, and one for each of the plan's either-lists that it has a
    trait of. The codes of a tree's members, its shape, and what is shared with
    it determine the problem but for the rooms; hosts that are alike in these
    are looked at once.
    """

    def __init__(self, snapshot: Snapshot, plan: Plan, served: Sequence[Served]) -> None:
        self._snapshot = snapshot
        self._plan = plan
        self._served = served
        self._is_anything_shared = any(need.shared for need in served)
        roots = snapshot.forest.root[snapshot.sharing.numbers]
        self._roots_that_share = frozenset(roots.tolist())
        self._known: dict[tuple[bytes, tuple[int, ...], int], _Known] = {}
        self._most = {name: sum(amounts.values()) for name, amounts in plan.contended.items()}

    @cached_property
    def _rooms(self) -> Mapping[str, Numbers]:
        """What is left of each contended class, by row."""
        columns, size = self._snapshot.columns, self._snapshot.size
        return {
            name: columns[name].room_by_row(size)
            for name in self._plan.contended
            if name in columns
        }

    @cached_property
    def _coded(self) -> tuple[bytes, int]:
        """The codes of all rows, and how many bytes each has; lone anchors never need them."""
        bits = [need.local for need in self._served]
        bits += [having_trait(self._snapshot, either) for either in self._plan.either]
        codes = np.packbits(np.stack(bits, axis=1), axis=1, bitorder="little")
        return codes.tobytes(), codes.shape[1]

    def problem(self, anchor: int) -> Problem:
        """Return what must be solved at an anchor."""
        tree = self._snapshot.forest.branched.get(anchor) or Tree(
            (anchor,), LONE_ABOVE, is_run=True
        )
        above = tree.above if self._plan.subtrees else ()
        key = (self._codes_of(tree), above, self._near(anchor))
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = _Known(self._posed(anchor, key[0], above))
        if not self._plan.contended:
            return known.bare
        rooms = self._rooms_at_home(known, tree.members)
        problem = known.by_rooms.get(rooms)
        if problem is None:
            problem = known.by_rooms[rooms] = self._with_rooms(known, rooms)
        return problem

    def is_sharing_itself(self, anchor: int) -> bool:
        """Tell whether the anchor's tree has a sharing provider."""
        return anchor in self._roots_that_share

    def _codes_of(self, tree: Tree) -> bytes:
        codes, width = self._coded
        if tree.is_run:
            first = tree.members[0] * width
            return codes[first : first + len(tree.members) * width]
        return b"".join([codes[row * width : (row + 1) * width] for row in tree.members])

    def _near(self, anchor: int) -> int:
        """Return what stands for all that other trees share with this one."""
        if not self._is_anything_shared:
            return 0
        if self.is_sharing_itself(anchor):
            return ~anchor
        return self._snapshot.tree_aggregates.number.item(anchor)

    def _posed(self, anchor: int, codes: bytes, above: tuple[int, ...]) -> Problem:
        """Return the problem of an anchor, less the rooms at home."""
        _, width = self._coded
        bits = [
            int.from_bytes(codes[start : start + width], "little")
            for start in range(0, len(codes), width)
        ]
        options = tuple(
            self._at_home(need, bits) + self._from_abroad(need, anchor)
            for need in range(len(self._served))
        )
        return Problem(
            options,
            rooms=tuple(self._rooms_abroad(name, options) for name in self._plan.contended),
            lends=dict(self._lends(options, bits)) if self._plan.either else {},
            above=above,
            lineages=dict(self._lineages(options)) if self._plan.subtrees else {},
            trees={} if self._plan.request.nested else dict(self._trees(options)),
        )

    def _at_home(self, need: int, bits: Sequence[int]) -> Places:
        return tuple(place for place, code in enumerate(bits) if code >> need & 1)

    def _from_abroad(self, need: int, anchor: int) -> Places:
        by_aggregate = self._served[need].shared_by_aggregate
        if not by_aggregate:
            return ()
        number = self._snapshot.tree_aggregates.number.item(anchor)
        aggregates = self._snapshot.tree_aggregates.aggregates[number]
        rows = {row for uuid in aggregates for row in by_aggregate.get(uuid, ())}
        root = self._snapshot.forest.root
        return tuple(~row for row in sorted(rows) if root.item(row) != anchor)

    def _lends(self, options: Sequence[Places], bits: Sequence[int]) -> Iterator[tuple[int, int]]:
        """Yield which either-lists the options of the unsuffixed slots meet."""
        for place in _together(options, self._needs_of(self._plan.unsuffixed)):
            code = bits[place] if place >= 0 else self._code(~place)
            yield place, code >> len(self._served)

    def _code(self, row: int) -> int:
        codes, width = self._coded
        return int.from_bytes(codes[row * width : (row + 1) * width], "little")

    def _lineages(self, options: Sequence[Places]) -> Iterator[tuple[int, frozenset[int]]]:
        """Yield what is above the places of other trees."""
        slots = [slot for slots in self._plan.subtrees for slot in slots]
        for place in _together(options, self._needs_of(slots)):
            if place < 0:
                above = self._snapshot.forest.ancestors(~place)
                yield place, frozenset(~row for row in above)

    def _trees(self, options: Sequence[Places]) -> Iterator[tuple[int, int]]:
        for place in _together(options, range(len(options))):
            yield place, 0 if place >= 0 else ~self._snapshot.forest.root.item(~place)

    def _rooms_abroad(self, name: str, options: Sequence[Places]) -> Mapping[int, int]:
        """Return what is left of a class at places of other trees, -1 at home for now."""
        places = _together(options, self._needs_of(self._plan.contended[name]))
        return {place: self._room(name, ~place) if place < 0 else -1 for place in places}

    def _room(self, name: str, row: int) -> int:
        """Return what is left of a class, clipped to what is wanted in all."""
        return min(self._rooms[name].item(row), self._most[name])

    def _rooms_at_home(self, known: "_Known", members: Sequence[int]) -> tuple[int, ...]:
        room = self._room
        return tuple([room(name, members[place]) for name, place in known.at_home(self._plan)])

    def _with_rooms(self, known: "_Known", rooms: tuple[int, ...]) -> Problem:
        filled = {name: dict(known.bare.rooms[at]) for at, name in enumerate(self._plan.contended)}
        for (name, place), left in zip(known.at_home(self._plan), rooms, strict=True):
            filled[name][place] = left
        return replace(known.bare, rooms=tuple(filled.values()))

    def _needs_of(self, slots: Iterable[int]) -> list[int]:
        return sorted({self._plan.slots[slot].need for slot in slots})


def _together(options: Sequence[Places], needs: Iterable[int]) -> list[int]:
    return list(dict.fromkeys(place for need in needs for place in options[need]))
