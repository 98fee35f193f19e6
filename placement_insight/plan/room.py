"""Room for a request that fits nowhere: the fewest consumers of a root after which it fits there.

A root is possible if the request would fit there without any consumers. Possible roots are tried
in blocks, the smallest shortage first. On each root, the consumers with allocations in its tree
are grouped by their needs, and sets of them are tried: the smallest number first, then the
smallest amounts. A set must have the amounts that are missing, as sums; the search confirms that
the request fits without it, the plan of a drain places it elsewhere, and the search confirms the
state after these moves.
"""

from bisect import bisect_left, insort
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Final, Literal

import numpy as np

from placement.core.capacity import integer_capacity
from placement.core.request import CandidateRequest
from placement.core.search.candidate_streams import batches
from placement.core.search.deadline import Deadline
from placement.core.search.fitting_roots import FittingRoots
from placement.core.search.slots import SlottedRequest
from placement.core.snapshot.rows import Indices, Mask
from placement.core.snapshot.snapshot import Snapshot
from placement.exception import SearchDeadlineExceeded
from placement_insight.plan.bounds import Bounds
from placement_insight.plan.drain import drain
from placement_insight.plan.hypothetical import (
    Taken,
    allocated,
    emptied,
    free_by_root,
    free_by_row,
)
from placement_insight.plan.model import Demand, Holder, Keep, Move, Scene, shares, with_children
from placement_insight.plan.server_groups import NO_GROUPS, ServerGroups

_BLOCK: Final = 16
"""Roots whose consumers are read at once, which takes most of the time."""
_MOST_STEPS: Final = 5_000
_MOST_TRIED: Final = 30
"""The largest number of sets of one root without a confirmed plan."""

NoRoom = Literal["nothing_evictable", "nowhere_to_move", "too_large_for_any_host"]


@dataclass(frozen=True, slots=True)
class Leaving:
    """A consumer that leaves a root, what it frees, and its move; None if it is evicted."""

    holder: Holder
    frees: Mapping[str, int]
    move: Move | None


@dataclass(frozen=True, slots=True)
class Room:
    """A root on which a request fits after some consumers left.

    ``is_minimal`` if it is proved that fewer consumers are not enough on this root.
    """

    root: int
    leaving: Sequence[Leaving]
    is_minimal: bool

    @property
    def frees(self) -> Counter[str]:
        """What leaves the root."""
        frees = Counter[str]()
        for leaving in self.leaving:
            frees.update(leaving.frees)
        return frees


@dataclass(frozen=True, slots=True)
class Rooms:
    """The result; ``undetermined`` are possible roots that may have room as well."""

    fits_now: int
    rooms: Sequence[Room] = ()
    reason: NoRoom | None = None
    undetermined: int = 0
    is_complete: bool = True


@dataclass(frozen=True, slots=True)
class Task:
    """What to make room for, and how.

    ``read`` returns the consumers with allocations on some rows. ``evictable`` is None if
    consumers are moved. ``root`` is the only root to consider, if it is not None. Moves keep the
    rules of ``groups``.
    """

    request: CandidateRequest
    keep: Keep
    read: Callable[[Mask], Sequence[Holder]]
    limit: int
    evictable: Callable[[Holder], bool] | None = None
    root: int | None = None
    groups: ServerGroups = NO_GROUPS


def rooms(snapshot: Snapshot, task: Task, deadline: Deadline) -> Rooms:
    """Return the roots with room, those with the fewest leaving consumers first.

    Raises: SearchDeadlineExceeded if it is not even known which roots are possible.
    """
    slotted = SlottedRequest.of(task.request)
    among = snapshot.forest.is_root.copy()
    if task.root is not None:
        among = np.arange(snapshot.size) == task.root
    if fits_now := int(FittingRoots(snapshot, deadline).of(slotted, among).sum()):
        return Rooms(fits_now)
    missing = Counter[str]()
    for group in task.request.groups:
        missing.update(group.resources)
    empty = emptied(snapshot, missing, deadline)
    possible = np.flatnonzero(FittingRoots(empty, deadline).of(slotted, among))
    if not len(possible):
        return Rooms(0, reason="too_large_for_any_host")
    return _Search(snapshot, slotted, missing, task, deadline).result(possible)


class _Search:
    """The search for room on possible roots; ``needed`` are all amounts of the request."""

    def __init__(
        self,
        snapshot: Snapshot,
        slotted: SlottedRequest,
        needed: Mapping[str, int],
        task: Task,
        deadline: Deadline,
    ) -> None:
        self.snapshot = snapshot
        self.task = task
        self.deadline = deadline
        self.share = shares(snapshot)
        self.is_sharing = snapshot.sharing.mask(snapshot.size)
        self._slotted = slotted
        self._missing = {
            name: amount
            - free_by_root(snapshot, name)
            - int(free_by_row(snapshot, name)[self.is_sharing].sum())
            for name, amount in needed.items()
        }
        self._needed = needed
        self._found: list[tuple[int, float, Room]] = []

    def result(self, possible: Indices) -> Rooms:
        """Return the room on these roots."""
        lacking = [missing[possible] / self._needed[n] for n, missing in self._missing.items()]
        ranked = possible[np.maximum.reduce(lacking).argsort(kind="stable")].tolist()
        decided, is_complete = 0, False
        with suppress(SearchDeadlineExceeded):
            for block in batches(ranked, _BLOCK):
                for is_decided in self._tried(block):
                    decided += is_decided
                if len(self._found) >= self.task.limit:
                    break
            is_complete = True
        found = [room for _, _, room in self._found[: self.task.limit]]
        undetermined = len(ranked) - decided
        reason: NoRoom | None = None
        if not found and not undetermined:
            reason = "nothing_evictable" if self.task.evictable else "nowhere_to_move"
        return Rooms(0, found, reason, undetermined, is_complete)

    def _tried(self, block: Sequence[int]) -> Iterator[bool]:
        """Try the roots of a block; yield for each whether it has no undetermined room."""
        consumers = self._by_root(block)
        ranked = sorted(
            (self._least(root, consumers[root]), number, root) for number, root in enumerate(block)
        )
        for least, _, root in ranked:
            most = self._found[self.task.limit - 1 :]
            if least > len(consumers[root]) or (most and least >= most[0][0]):
                yield True
                continue
            self.deadline.check()
            tree = _Tree(self, root, consumers[root])
            if (room := tree.room(least)) is not None:
                entry = (len(room.leaving), self.share(room.frees), room)
                insort(self._found, entry, key=lambda each: each[:2])
            yield room is not None or tree.is_decided

    def _by_root(self, block: Sequence[int]) -> Mapping[int, Sequence[Holder]]:
        """Return the consumers with allocations in the trees of some roots."""
        forest = self.snapshot.forest
        rows = np.isin(forest.root, block)
        by_root: defaultdict[int, list[Holder]] = defaultdict(list)
        for holder in self.task.read(rows):
            if self.task.evictable is None or self.task.evictable(holder):
                held = {forest.root.item(row) for _, row in holder.allocations}
                for root in held:
                    by_root[root].append(holder)
        return by_root

    def _least(self, root: int, consumers: Sequence[Holder]) -> int:
        """Return a number of consumers such that fewer do not have the missing amounts."""
        freed = [self.freed(holder.allocations, root) for holder in consumers]
        least = 1
        for name, missing in self.missing(root).items():
            largest = sorted((amounts[name] for amounts in freed), reverse=True)
            least = max(least, 1 + bisect_left(list(accumulate(largest)), missing))
        return least

    def freed(self, allocations: Taken, root: int) -> Counter[str]:
        """Return the amounts on the providers that the root may use."""
        freed = Counter[str]()
        for (name, row), amount in allocations.items():
            if self.is_sharing[row] or self.snapshot.forest.root.item(row) == root:
                freed[name] += amount
        return freed

    def missing(self, root: int) -> Mapping[str, int]:
        """Return the amounts that a root lacks.

        If only one provider has a class, its usage beyond the capacity must be released as well.
        """
        missing = {name: amounts.item(root) for name, amounts in self._missing.items()}
        rows = [*self.snapshot.forest.members(root), *self.snapshot.sharing.numbers.tolist()]
        states = [self.snapshot.entries.state(row) for row in dict.fromkeys(rows)]
        for name in missing:
            having = [state for state in states if name in state.inventories]
            if len(having) == 1:
                used, inventory = having[0].used.get(name, 0), having[0].inventories[name]
                missing[name] = self._needed[name] + used - integer_capacity(inventory)
        return missing

    def has_room(self, root: int, taken: Taken) -> bool:
        """Return whether the request fits on a root after these changes."""
        changed = allocated(self.snapshot, taken)
        among = np.arange(self.snapshot.size) == root
        return bool(FittingRoots(changed, self.deadline).of(self._slotted, among).any())


class _Tree:
    """The consumers of one root that have other targets.

    ``is_decided`` is false after the search if a set may be enough, but has no confirmed plan.
    """

    def __init__(self, search: _Search, root: int, consumers: Sequence[Holder]) -> None:
        self._search = search
        self._root = root
        tree = with_children(search.snapshot, [root])
        task = search.task
        scene = Scene.of(search.snapshot, tree, consumers, task.keep, task.groups)
        self._scene = replace(scene, demands=list(_by_allocations(scene.demands)))
        self.is_decided = True

    def room(self, least: int) -> Room | None:
        """Return the room with the fewest consumers, of those with the smallest amounts.

        Raises: SearchDeadlineExceeded.
        """
        demands, tried = self._with_targets(), 0
        if not self._has_room(demands):
            return None
        for size in range(least, sum(len(each.holders) for each in demands) + 1):
            for chosen in self._sets(demands, size):
                if not self._has_room(chosen):
                    continue
                if (room := self._confirmed(chosen)) is not None:
                    return room
                tried += 1
                if tried > _MOST_TRIED:
                    self.is_decided = False
                    return None
        return None

    def _with_targets(self) -> Sequence[Demand]:
        """Return the demands without those that fit nowhere, even if all leave."""
        scene = self._scene
        if self._search.task.evictable is not None:
            return scene.demands
        bounds = Bounds(scene, self._search.deadline)
        return [demand for demand in scene.demands if bounds.allowed(demand).any()]

    def _has_room(self, demands: Sequence[Demand]) -> bool:
        """Return whether the request fits on the root if these consumers did not exist."""
        released = Counter[tuple[str, int]]()
        for demand in demands:
            for holder in demand.holders:
                released.subtract(holder.allocations)
        return self._search.has_room(self._root, released)

    def _sets(self, demands: Sequence[Demand], size: int) -> Iterator[Sequence[Demand]]:
        """Yield sets of ``size`` consumers with the missing amounts; the smallest amounts first.

        After ``_MOST_STEPS`` not all of them are found.
        """
        missing = self._search.missing(self._root)
        freed = [self._search.freed(each.holders[0].allocations, self._root) for each in demands]
        largest = [
            {name: max(each[name] for each in freed[number:]) for name in missing}
            for number in range(len(freed))
        ]
        steps = 0

        def sets(number: int, left: int, missing: Mapping[str, int]) -> Iterator[Sequence[int]]:
            """Yield numbers of consumers of the demands from this number on."""
            nonlocal steps
            steps += 1
            if number == len(demands):
                if left == 0:
                    yield ()
                return
            if steps > _MOST_STEPS or any(
                amount > left * largest[number][name] for name, amount in missing.items()
            ):
                return
            for count in range(min(left, len(demands[number].holders)) + 1):
                rest = {name: n - count * freed[number][name] for name, n in missing.items()}
                for counts in sets(number + 1, left - count, rest):
                    yield (count, *counts)

        weights = [self._search.share(each.needs.total) for each in demands]
        found = list(sets(0, size, missing))
        self.is_decided &= steps <= _MOST_STEPS
        for counts in sorted(found, key=lambda counts: np.dot(counts, weights)):
            yield [
                replace(demand, holders=demand.holders[:count])
                for demand, count in zip(demands, counts, strict=True)
                if count
            ]

    def _confirmed(self, chosen: Sequence[Demand]) -> Room | None:
        """Return the room after some consumers left, None if there is no confirmed plan."""
        if self._search.task.evictable is not None:
            holders = [holder for demand in chosen for holder in demand.holders]
            return self._room([(holder, None) for holder in holders])
        result = drain(replace(self._scene, demands=chosen), self._search.deadline)
        if result.verdict == "fits":
            taken = Counter[tuple[str, int]]()
            for move in result.moves:
                taken.update(move.allocations)
                taken.subtract(move.holder.allocations)
            if self._search.has_room(self._root, taken):
                return self._room([(move.holder, move) for move in result.moves])
        self.is_decided &= result.verdict == "does_not_fit"
        return None

    def _room(self, moves: Iterable[tuple[Holder, Move | None]]) -> Room:
        """Return the room after moves, with the amounts freed on the providers of the root."""
        leaving = []
        for holder, move in moves:
            frees = self._search.freed(holder.allocations, self._root)
            if move is not None:
                frees -= self._search.freed(move.allocations, self._root)
            leaving.append(Leaving(holder, frees, move))
        return Room(self._root, leaving, is_minimal=self.is_decided)


def _by_allocations(demands: Iterable[Demand]) -> Iterator[Demand]:
    """Yield the demands, split into consumers with equal allocations."""
    for demand in demands:
        split: defaultdict[frozenset[tuple[tuple[str, int], int]], list[Holder]]
        split = defaultdict(list)
        for holder in demand.holders:
            split[frozenset(holder.allocations.items())].append(holder)
        yield from (replace(demand, holders=tuple(holders)) for holders in split.values())
