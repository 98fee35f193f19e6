"""The roots that do not fit and fail the fewest requirements.

A ranking with arrays over all roots comes first. For every part of a request, the provider that
fails the fewest conditions counts, and among equals the provider with the smallest relative
shortfall. The best roots are then solved root by root (``closest_assignment``), including the
conditions between groups, and are ranked again by the result.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import chain, islice

import numpy as np
from numpy.typing import NDArray

from placement.core.search.deadline import Deadline
from placement.core.search.filters import root_conditions, sharing_by_aggregate
from placement.core.search.slots import SearchPlan
from placement.core.snapshot.rows import Mask
from placement.core.snapshot.snapshot import Snapshot
from placement.insight.explanation import near_miss_facts
from placement.insight.explanation.closest_assignment import near_miss
from placement.insight.explanation.funnel import Funnel, reaching_any
from placement.insight.explanation.groups import NO_PROVIDER, Group, Part, Reach, Scores
from placement.insight.explanation.model import NearMiss

Rows = NDArray[np.intp]
Rank = tuple[bool, float, float, int]

SOLVED_FOR_EACH = 4  # at most this many roots are solved for every listed root
MOST_SHARING = 1000  # a root is solved with at most this many sharing providers


@dataclass(frozen=True, slots=True, eq=False)
class Closest:
    """For every root, the provider that comes closest to serving a part.

    ``is_shared`` is whether the root shares the provider of another tree.
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
        self._solved: list[tuple[Rank, NearMiss]] = []

    def best(self, number: int) -> tuple[NearMiss, ...]:
        """Return the closest roots of the solved roots."""
        ranked = sorted(self._solved, key=lambda pair: pair[0])
        return tuple(miss for _, miss in ranked[:number])

    def run(self, plan: SearchPlan, groups: Sequence[Group], funnel: Funnel, number: int) -> None:
        """Find the closest roots.

        Raises: SearchDeadlineExceeded; ``best`` returns the closest roots solved until then.
        """
        self._deadline.check()
        missing = np.flatnonzero(~funnel.left[self._roots])
        if not len(missing):
            return
        counts, shortfall = self._tally(plan, groups, funnel)
        is_other = ~np.isin(self._roots, self._named(groups))
        # ordered by the row of the funnel that lost the root, descending, then by the shortfall
        rest = 2 * (len(funnel.rows) - funnel.lost_at[self._roots]) + shortfall
        score = is_other * (1 + counts * (2 * len(funnel.rows) + 2) + rest)
        order = missing[np.argsort(score[missing], kind="stable")]
        shared_by_aggregate = sharing_by_aggregate(
            self._snapshot, self._snapshot.sharing.numbers.tolist()
        )
        for place, at in enumerate(order[: SOLVED_FOR_EACH * number].tolist()):
            lower_bound = is_other.item(at), counts.item(at)
            if len(self._solved) >= number and self._worst(number)[:2] <= lower_bound:
                return
            rows = self._rows(at, groups, shared_by_aggregate)
            miss = near_miss(self._snapshot, plan, rows, self._deadline)
            lacks = {(unmet.code, unmet.group, unmet.requirement) for unmet in miss.unmet}
            self._solved.append(((lower_bound[0], len(lacks), rest.item(at), place), miss))

    def _worst(self, number: int) -> Rank:
        """Return the rank of the last listed root among the solved roots."""
        return sorted(rank for rank, _ in self._solved)[number - 1]

    def _named(self, groups: Sequence[Group]) -> list[int]:
        """Return the roots of the trees that the request names."""
        row_of, root = self._snapshot.forest.row_of, self._snapshot.forest.root
        rows = {row_of.get(group.group.in_tree or "") for group in groups}
        return [root.item(row) for row in rows if row is not None]

    def _rows(
        self, at: int, groups: Sequence[Group], shared: Mapping[str, Sequence[int]]
    ) -> list[int]:
        """Return the rows of a tree, with the root first, and of the trees of sharing providers.

        If too many providers are shared, the closest providers and some other providers are used.
        """
        root, trees = self._roots.item(at), self._snapshot.tree_aggregates
        parts = [self._of(part) for group in groups for part in group.parts]
        closest = [part.row.item(at) for part in parts if part.is_shared.item(at)]
        aggregates = trees.aggregates[trees.number.item(root)]
        sharing = chain(closest, *(shared.get(uuid, ()) for uuid in sorted(aggregates)))
        sharing_rows = list(islice(dict.fromkeys(sharing), MOST_SHARING))
        forest = self._snapshot.forest
        roots = dict.fromkeys([root, *forest.root[sharing_rows].tolist()])
        return [row for root in roots for row in forest.members(root)]

    # --- all roots

    def _tally(
        self, plan: SearchPlan, groups: Sequence[Group], funnel: Funnel
    ) -> tuple[NDArray[np.int32], Scores]:
        """Return the number of unmet requirements and the largest shortfall of every root."""
        counts = np.zeros(len(self._roots), dtype=np.int32)
        shortfall = np.zeros(len(self._roots), dtype=np.float32)
        for fails in self._fail_at_root(plan):
            counts += fails
            shortfall[fails] = 1
        for group in groups:
            for fails in self._failures(group):
                counts += fails
            for part in group.parts:
                self._deadline.tick()
                np.maximum(shortfall, self._of(part).shortfall, out=shortfall)
        for lost in funnel.lost_together:
            fails = lost.roots[self._roots]
            counts += fails
            shortfall[fails] = near_miss_facts.shortfall_of(self._snapshot, lost)[self._roots][
                fails
            ]
        return counts, shortfall

    def _fail_at_root(self, plan: SearchPlan) -> Iterator[Mask]:
        for condition in root_conditions(self._snapshot, plan):
            if condition.code == "root_trait":
                yield ~condition.local[self._roots]

    def _failures(self, group: Group) -> Iterator[Mask]:
        """Yield, for every requirement of a group, a mask of the roots that do not meet it."""
        for number, kind in enumerate(group.parts[0].kinds):
            fails = reduce(np.logical_or, [self._fails_kind(part, number) for part in group.parts])
            if kind.code == "forbidden_aggregate" and not group.suffix:
                fails = fails | ~kind.local[self._roots]  # a condition on the root as well
            yield fails
        for condition in group.together:
            yield ~reaching_any(self._reach, group, condition.local)[self._roots]
        for part in group.parts:
            self._deadline.tick()
            rows = self._of(part).row
            for conditions in part.classes:
                yield from (mask[rows] for _, mask in conditions.failing)

    def _fails_kind(self, part: Part, number: int) -> Mask:
        closest, kind = self._of(part), part.kinds[number]
        fails: Mask = ~np.where(
            closest.is_shared, kind.shared[closest.row], kind.local[closest.row]
        )
        return fails

    # --- the closest provider of a part

    def _of(self, part: Part) -> Closest:
        closest = self._closest.get(id(part))
        if closest is None:
            self._deadline.check()
            closest = self._closest[id(part)] = self._closest_to(part)
        return closest

    def _closest_to(self, part: Part) -> Closest:
        short = part.shortfall()
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

    def _relative(self, part: Part, short: Scores, *, is_shared: bool) -> Scores:
        """Return the shortfall, and 1 where a condition without an amount fails."""
        relative = short.copy()
        for kind in part.kinds:
            relative[~(kind.shared if is_shared else kind.local)] = 1
        return relative

    def _best_local(self, part: Part, short: Scores) -> tuple[Scores, Rows]:
        """Return for every root the best score of its tree, and the first row with this score."""
        score = part.number_of_failures(is_shared=False) + short * np.float32(0.5)
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
        """Return for every root the best score of its sharing providers, and the row."""
        score = part.number_of_failures(is_shared=True) + short * np.float32(0.5)
        best_of: dict[str, tuple[float, int]] = {}
        for row in np.flatnonzero(part.considered.shared).tolist():
            entry = (float(score[row]), row)
            for uuid in self._snapshot.entries.state(row).aggregates:
                best_of[uuid] = min(best_of.get(uuid, entry), entry)
        no_provider = (float(NO_PROVIDER), 0)
        trees = self._snapshot.tree_aggregates
        best = [
            min((best_of[uuid] for uuid in uuids if uuid in best_of), default=no_provider)
            for uuids in trees.aggregates
        ]
        numbers = trees.number[self._roots]
        scores = np.array([number for number, _ in best], dtype=np.float32)[numbers]
        rows = np.array([row for _, row in best], dtype=np.intp)[numbers]
        return scores, rows
