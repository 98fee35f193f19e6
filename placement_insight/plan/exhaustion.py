"""Tries all plans of a few consumers: finds a plan, or proves that there is none.

A state is the amounts that were taken so far, and the roots of members of server groups. A state
that was reached before with as many consumers is left, and of roots that no consumer can tell
apart only the first is tried.
"""

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from functools import cached_property

import numpy as np

from placement.core.search.candidate_streams import all_assignments
from placement.core.search.deadline import Deadline
from placement.core.snapshot.rows import Mask
from placement.core.snapshot.snapshot import Snapshot
from placement_insight.plan.hypothetical import claimed
from placement_insight.plan.model import Move, Scene
from placement_insight.plan.placing import assignments

MOST_CONSUMERS = 12
MOST_ROOTS = 100
MOST_STEPS = 2_000


class TooManyPlansError(Exception):
    """Not all plans were tried."""


class Exhaustion:
    """All plans of a scene in a snapshot."""

    def __init__(self, scene: Scene, snapshot: Snapshot, deadline: Deadline) -> None:
        self._scene = scene
        self._snapshot = snapshot
        self._deadline = deadline
        self._consumers = [
            (demand.needs, holder) for demand in scene.demands for holder in demand.holders
        ]
        self._seen: set[Hashable] = set()
        self._steps = 0

    def plan(self) -> Sequence[Move] | None:
        """Return a plan, None if there is none.

        Raises: TooManyPlansError, SearchDeadlineExceeded.
        """
        roots = int(self._snapshot.forest.is_root.sum())
        if len(self._consumers) > MOST_CONSUMERS or roots > MOST_ROOTS:
            raise TooManyPlansError
        return self._from(0, Counter(), self._scene.staying)

    def _from(
        self, number: int, taken: Counter[tuple[str, int]], roots: Mapping[str, int]
    ) -> Sequence[Move] | None:
        """Return moves of the consumers from this number on, after some amounts were taken.

        ``roots`` are of members of server groups.
        """
        if number == len(self._consumers):
            return ()
        state = (number, frozenset(taken.items()), frozenset(roots.items()))
        if state in self._seen:
            return None
        self._seen.add(state)
        self._steps += 1
        if self._steps > MOST_STEPS:
            raise TooManyPlansError
        for move, amounts in self._choices(number, taken, roots):
            uuid = move.holder.uuid
            after = {**roots, uuid: move.root} if uuid in self._scene.groups else roots
            moves = self._from(number + 1, taken + amounts, after)
            if moves is not None:
                return (move, *moves)
        return None

    def _choices(
        self, number: int, taken: Counter[tuple[str, int]], roots: Mapping[str, int]
    ) -> Iterator[tuple[Move, Counter[tuple[str, int]]]]:
        """Yield the moves of a consumer, and the amounts that it does not have yet."""
        needs, holder = self._consumers[number]
        snapshot = claimed(self._snapshot, taken)
        by_root: defaultdict[int, list[Hashable]] = defaultdict(list)
        for member, root in roots.items():
            by_root[root].append(member)
        for (name, row), amount in taken.items():
            root = snapshot.forest.root.item(row)
            by_root[root].append((name, row - root, amount))

        def distinct(possible: Mask) -> Sequence[int]:
            anchors = np.flatnonzero(self._scene.groups.allowed(holder.uuid, possible, roots))
            by_kind = {
                (self._kinds[root], frozenset(by_root.get(root, ()))): root
                for root in reversed(anchors.tolist())
            }
            return sorted(by_kind.values())

        for variant in self._scene.variants(needs):
            tried: set[frozenset[tuple[tuple[str, int], int]]] = set()
            for root, amounts in assignments(
                snapshot, variant, distinct, self._deadline, all_assignments
            ):
                key = frozenset(amounts.items())
                if key not in tried:
                    tried.add(key)
                    yield Move(holder, root, amounts + variant.kept), amounts

    @cached_property
    def _kinds(self) -> Mapping[int, Hashable]:
        """A value for each root: roots with equal values are the same to all consumers."""
        snapshot, forest = self._snapshot, self._snapshot.forest
        masks = [
            each.targets for needs, _ in self._consumers for each in self._scene.variants(needs)
        ]
        sharing = set(forest.root[snapshot.sharing.numbers].tolist())
        cells: defaultdict[int, list[Hashable]] = defaultdict(list)
        for name, column in snapshot.columns.items():
            for at, row in enumerate(column.rows.tolist()):
                root = forest.root.item(row)
                rule = column.unit_rules[column.unit_rule.item(at)]
                limits = (
                    column.free.item(at),
                    column.allocatable.item(at),
                    column.max_unit.item(at),
                )
                cells[root].append((name, row - root, limits, rule))
        return {
            root: (
                tuple(cells[root]),
                snapshot.tree_aggregates.number.item(root),
                tuple(bool(mask[root]) for mask in masks),
                root if root in sharing else None,
            )
            for root in np.flatnonzero(forest.is_root).tolist()
        }
