"""The roots that do not fit and lack least.

For each part of a request the provider is chosen that fails the fewest conditions, then by the
smallest relative shortfall; a root lacks what these providers fail. Where they fail nothing, the
root lacks the first condition between the groups that it does not meet. Roots are ranked with
arrays over all of them; only the best are described.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from placement.core.insight import unmet
from placement.core.insight.conditions import Reach
from placement.core.insight.explanation import NearMiss, Unmet
from placement.core.insight.funnel import Funnel, reaching_any
from placement.core.insight.groups import Group, Part
from placement.core.search.deadline import Deadline
from placement.core.search.plan import SearchPlan
from placement.core.snapshot.rows import Mask
from placement.core.snapshot.snapshot import Snapshot

Scores = NDArray[np.float32]
Rows = NDArray[np.intp]

NO_PROVIDER = np.float32(np.inf)


@dataclass(frozen=True, slots=True, eq=False)
class Closest:
    """For each root the provider that comes closest to serving a part, and whether it is shared.

    ``row`` is -1 where no provider is considered, which only free rows and roots of which
    nothing is looked at have.
    """

    row: Rows
    is_shared: Mask
    shortfall: Scores


class NearMisses:
    """Ranks the roots of one snapshot for one request."""

    def __init__(self, snapshot: Snapshot, reach: Reach, deadline: Deadline) -> None:
        self._snapshot = snapshot
        self._reach = reach
        self._deadline = deadline
        self._roots: Rows = np.flatnonzero(snapshot.forest.is_root)
        self._closest: dict[int, Closest] = {}

    def run(
        self, plan: SearchPlan, groups: Sequence[Group], funnel: Funnel, number: int
    ) -> list[NearMiss]:
        """Return the closest roots.  Raises: SearchDeadlineExceeded."""
        self._deadline.check()
        missing = ~funnel.left[self._roots]
        if not missing.any():
            return []
        counts, shortfall = self._tally(plan, groups, funnel)
        score = np.where(missing, counts * 2 + shortfall, NO_PROVIDER)
        order = np.argsort(score, kind="stable")[: min(number, int(missing.sum()))]
        return [self._described(at, plan, groups, funnel) for at in order.tolist()]

    # --- all roots

    def _tally(
        self, plan: SearchPlan, groups: Sequence[Group], funnel: Funnel
    ) -> tuple[NDArray[np.int32], Scores]:
        """Return how many requirements each root does not meet, and its largest shortfall."""
        counts = np.zeros(len(self._roots), dtype=np.int32)
        shortfall = np.zeros(len(self._roots), dtype=np.float32)
        for fails in self._fail_at_root(plan):
            counts += fails
            shortfall[fails] = 1
        for group in groups:
            self._deadline.check()
            for fails in self._failures(group):
                counts += fails
            shortfall = np.maximum(
                shortfall, reduce(np.maximum, [self._of(part).shortfall for part in group.parts])
            )
        for lost in funnel.lost_together:
            fails = lost.roots[self._roots]
            counts += fails
            shortfall[fails] = unmet.shortfall(self._snapshot, lost)[self._roots][fails]
        return counts, shortfall

    def _fail_at_root(self, plan: SearchPlan) -> Iterator[NDArray[np.bool_]]:
        request, size = plan.request, self._snapshot.size
        for name in request.root_required:
            yield ~self._snapshot.with_trait(name).mask(size)[self._roots]
        for name in request.root_forbidden:
            yield self._snapshot.with_trait(name).mask(size)[self._roots]

    def _failures(self, group: Group) -> Iterator[NDArray[np.bool_]]:
        """Yield for each requirement of a group where it is not met."""
        for number in range(len(group.parts[0].kinds)):
            yield reduce(np.logical_or, [self._fails_kind(part, number) for part in group.parts])
        for condition in group.together:
            yield ~reaching_any(self._reach, group, condition.met.local)[self._roots]
        for part in group.parts:
            rows = self._of(part).row
            for conditions in part.classes:
                yield ~conditions.enough[rows]

    def _fails_kind(self, part: Part, number: int) -> NDArray[np.bool_]:
        closest, met = self._of(part), part.kinds[number].met
        fails: NDArray[np.bool_] = ~np.where(
            closest.is_shared, met.shared[closest.row], met.local[closest.row]
        )
        return fails

    # --- the closest provider of a part

    def _of(self, part: Part) -> Closest:
        closest = self._closest.get(id(part))
        if closest is None:
            closest = self._closest[id(part)] = self._closest_to(part)
        return closest

    def _closest_to(self, part: Part) -> Closest:
        short = self._shortfall(part)
        local_score, row = self._best_local(part, short)
        is_shared = np.zeros(len(self._roots), dtype=np.bool_)
        if part.considered.shared.any():
            shared_score, shared_row = self._best_shared(part, short)
            is_shared = shared_score < local_score
            row = np.where(is_shared, shared_row, row)
        short_of_best = np.where(
            is_shared,
            self._relative(part, short, is_shared=True)[row],
            self._relative(part, short, is_shared=False)[row],
        )
        return Closest(row, is_shared, short_of_best.astype(np.float32))

    def _shortfall(self, part: Part) -> Scores:
        """Return for each row the largest part of an amount that is missing, 1 if all is."""
        short = np.zeros(self._snapshot.size, dtype=np.float32)
        for conditions in part.classes:
            column = self._snapshot.columns.get(conditions.resource_class)
            missing = np.full(self._snapshot.size, 1, dtype=np.float32)
            if column is not None:
                free = column.allocatable.clip(0).astype(np.float32)
                missing[column.rows] = 1 - free / np.float32(conditions.amount)
            missing[missing <= 0] = 1  # enough is free, but not in this unit
            missing[conditions.enough] = 0
            np.maximum(short, missing, out=short)
        return short

    def _relative(self, part: Part, short: Scores, *, is_shared: bool) -> Scores:
        """Return the shortfall, 1 where a condition that has no amount fails."""
        relative = short.copy()
        for kind in part.kinds:
            relative[~(kind.met.shared if is_shared else kind.met.local)] = 1
        return relative

    def _scores(self, part: Part, short: Scores, *, is_shared: bool) -> Scores:
        """Return for each row the number of failed conditions, and half of the shortfall."""
        score = short * np.float32(0.5)
        for kind in part.kinds:
            score += ~(kind.met.shared if is_shared else kind.met.local)
        for conditions in part.classes:
            score += ~conditions.enough
        considered = part.considered.shared if is_shared else part.considered.local
        score[~considered] = NO_PROVIDER
        return score

    def _best_local(self, part: Part, short: Scores) -> tuple[Scores, Rows]:
        """Return for each root the best score of its tree, and the first row that has it."""
        score = self._scores(part, short, is_shared=False)
        forest = self._snapshot.forest
        if not forest.is_nested:
            return score[self._roots], self._roots
        rows = np.flatnonzero(score < NO_PROVIDER)
        best = np.full(self._snapshot.size, NO_PROVIDER, dtype=np.float32)
        np.minimum.at(best, forest.root[rows], score[rows])
        first = np.arange(self._snapshot.size)
        rows = rows[score[rows] == best[forest.root[rows]]][::-1]
        first[forest.root[rows]] = rows
        return best[self._roots], first[self._roots]

    def _best_shared(self, part: Part, short: Scores) -> tuple[Scores, Rows]:
        """Return for each root the best score of what is shared with it, and the row."""
        score = self._scores(part, short, is_shared=True)
        by_aggregate: dict[str, tuple[float, int]] = {}
        for row in np.flatnonzero(part.considered.shared).tolist():
            entry = (float(score[row]), row)
            for uuid in self._snapshot.entries.state(row).aggregates:
                by_aggregate[uuid] = min(by_aggregate.get(uuid, entry), entry)
        no_provider = (float(NO_PROVIDER), 0)
        trees = self._snapshot.tree_aggregates
        best = [
            min(
                (by_aggregate[uuid] for uuid in uuids if uuid in by_aggregate), default=no_provider
            )
            for uuids in trees.aggregates
        ]
        numbers = trees.number[self._roots]
        scores = np.array([number for number, _ in best], dtype=np.float32)[numbers]
        rows = np.array([row for _, row in best], dtype=np.intp)[numbers]
        return scores, rows

    # --- one root

    def _described(
        self, at: int, plan: SearchPlan, groups: Sequence[Group], funnel: Funnel
    ) -> NearMiss:
        root = int(self._roots[at])
        lacks: dict[tuple[str, str, str], Unmet] = {}
        for each in self._lacks(at, root, plan, groups, funnel):
            lacks.setdefault((each.code, each.group, each.requirement), each)
        return NearMiss(unmet.named(self._snapshot, root), tuple(lacks.values()))

    def _lacks(
        self, at: int, root: int, plan: SearchPlan, groups: Sequence[Group], funnel: Funnel
    ) -> Iterator[Unmet]:
        yield from unmet.of_root(self._snapshot, plan.request, root)
        for group in groups:
            yield from self._lacks_of_group(at, root, group)
        for lost in funnel.lost_together:
            if lost.roots[root]:
                yield unmet.of_stage(self._snapshot, lost, root)

    def _lacks_of_group(self, at: int, root: int, group: Group) -> Iterator[Unmet]:
        for part in group.parts:
            closest = self._of(part)
            row = int(closest.row[at])
            for kind in part.kinds:
                met = kind.met.shared if closest.is_shared[at] else kind.met.local
                if not met[row]:
                    yield unmet.of_kind(self._snapshot, kind, group.suffix, row)
        for condition in group.together:
            if not reaching_any(self._reach, group, condition.met.local)[root]:
                yield unmet.of_kind(self._snapshot, condition, group.suffix, root)
        for part in group.parts:
            row = int(self._of(part).row[at])
            for conditions in part.classes:
                if not conditions.enough[row]:
                    yield unmet.of_class(self._snapshot, conditions, group.suffix, row)
