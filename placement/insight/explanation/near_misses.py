"""The roots that do not fit and fail the fewest requirements.

If the unsuffixed group names a tree, its root is the only one that can be listed: the caller did
not ask about other hosts.

A ranking with arrays over all roots comes first. For every need of a request, the provider that
fails the fewest conditions counts, and among equals the provider with the smallest relative
shortfall. The best roots are then solved root by root (``closest_assignment``), including the
conditions between groups, and are ranked again by the result.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, reduce
from itertools import chain, islice
from operator import itemgetter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from placement.core.requirement import HasInventory
from placement.core.search.deadline import Deadline
from placement.core.search.filters import sharing_by_aggregate
from placement.core.search.slots import SlottedRequest
from placement.core.snapshot.rows import Indices, Mask
from placement.core.snapshot.snapshot import Snapshot
from placement.insight.explanation.closest_assignment import near_miss
from placement.insight.explanation.funnel import Funnel, reaching_any
from placement.insight.explanation.funnel_facts import free_in_trees
from placement.insight.explanation.groups import NO_PROVIDER, Group, GroupNeed, meeting
from placement.insight.explanation.model import (
    NearMiss,
)

Rank = tuple[bool, float, float, int]

SOLVED_FOR_EACH = 4  # at most this many roots are solved for every listed root
MOST_SHARING = 1000  # a root is solved with at most this many sharing providers
ENOUGH_TOGETHER = np.float32(0.001)  # the shortfall of an amount that several providers have


class Closest(NamedTuple):
    """For every root, the provider that comes closest to serving a need.

    ``is_shared`` is 1 if the root shares the provider of another tree, else 0: ``is_shared`` and
    ``row`` are indices into ``Providers``.
    """

    is_shared: Indices
    row: Indices
    shortfall: NDArray[np.float32]


class NearMisses:
    """Ranks the roots of one snapshot for one request."""

    def __init__(self, snapshot: Snapshot, deadline: Deadline) -> None:
        self._snapshot = snapshot
        self._deadline = deadline
        self._roots: Indices = np.flatnonzero(snapshot.forest.is_root)
        self._closest: dict[GroupNeed, Closest] = {}
        self._solved: list[tuple[Rank, NearMiss]] = []

    def best(self, number: int) -> tuple[NearMiss, ...]:
        """Return the closest roots of the solved roots."""
        return tuple(miss for _, miss in self._ranked[:number])

    def run(
        self, slotted: SlottedRequest, groups: Sequence[Group], funnel: Funnel, number: int
    ) -> None:
        """Find the closest roots.

        Raises: SearchDeadlineExceeded; ``best`` returns the closest roots solved until then.
        """
        self._deadline.check()
        missing = np.flatnonzero((funnel.named & ~funnel.left)[self._roots])
        if not len(missing):
            return
        counts, shortfall = self._tally(slotted, groups, funnel)
        is_other = ~np.isin(self._roots, self._named(groups))
        # ordered by the row of the funnel that lost the root, descending, then by the shortfall
        rest = 2 * (len(funnel.rows) - funnel.lost_at[self._roots]) + shortfall
        score = is_other * (1 + counts * (2 * len(funnel.rows) + 2) + rest)
        order = missing[np.argsort(score[missing], kind="stable")]
        for place, at in enumerate(order[: SOLVED_FOR_EACH * number].tolist()):
            lower_bound = is_other.item(at), counts.item(at)
            if len(self._solved) >= number and self._ranked[number - 1][0][:2] <= lower_bound:
                return
            miss = self._miss(at, slotted, groups)
            rank = (lower_bound[0], _distance(miss), rest.item(at), place)
            self._solved.append((rank, miss))

    def run_for(self, root: int, slotted: SlottedRequest, groups: Sequence[Group]) -> None:
        """Find what one root lacks, however much it is.  Raises: SearchDeadlineExceeded."""
        at = int(np.searchsorted(self._roots, root))
        self._solved.append(((False, 0, 0.0, 0), self._miss(at, slotted, groups)))

    def _miss(self, at: int, slotted: SlottedRequest, groups: Sequence[Group]) -> NearMiss:
        rows = self._rows(at, groups)
        return near_miss(self._snapshot, slotted, rows, self._deadline)

    @cached_property
    def _shared_by_aggregate(self) -> Mapping[str, Sequence[int]]:
        return sharing_by_aggregate(self._snapshot, self._snapshot.sharing.numbers.tolist())

    @property
    def _ranked(self) -> list[tuple[Rank, NearMiss]]:
        """The solved roots, the closest first."""
        return sorted(self._solved, key=itemgetter(0))

    def _named(self, groups: Sequence[Group]) -> list[int]:
        row_of, root = self._snapshot.forest.row_of, self._snapshot.forest.root
        conditions = (condition for group in groups for condition in group.conditions)
        rows = {row_of.get(each.requirement.named_provider or "") for each in conditions}
        return [root.item(row) for row in rows if row is not None]

    def _rows(self, at: int, groups: Sequence[Group]) -> list[int]:
        """Return the rows of a tree, with the root first, and of the trees of sharing providers.

        If too many providers are shared, the closest providers and some other providers are used.
        """
        root, trees = self._roots.item(at), self._snapshot.tree_aggregates
        choices = [self._of(need) for group in groups for need in group.needs]
        closest = [choice.row.item(at) for choice in choices if choice.is_shared.item(at)]
        aggregates = trees.aggregates[trees.number.item(root)]
        shared = self._shared_by_aggregate
        sharing = chain(closest, *(shared.get(uuid, ()) for uuid in sorted(aggregates)))
        sharing_rows = list(islice(dict.fromkeys(sharing), MOST_SHARING))
        forest = self._snapshot.forest
        roots = dict.fromkeys([root, *forest.root[sharing_rows].tolist()])
        return [row for root in roots for row in forest.members(root)]

    # --- all roots

    def _tally(
        self, slotted: SlottedRequest, groups: Sequence[Group], funnel: Funnel
    ) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """Return the number of unmet requirements and the largest shortfall of every root."""
        counts = np.zeros(len(self._roots), dtype=np.int32)
        shortfall = np.zeros(len(self._roots), dtype=np.float32)
        for requirement in slotted.request.of_root:  # others are counted with their group
            fails = ~requirement.providers(self._snapshot)[self._roots]
            counts += fails
            shortfall[fails] = 1
        for group in groups:
            for fails in self._failures(group):
                counts += fails
            for need in group.needs:
                self._deadline.tick()
                np.maximum(shortfall, self._shortfall(need), out=shortfall)
        for lost, requested in funnel.lost_together:
            fails = lost[self._roots]
            counts += fails
            shortfall[fails] = self._shortfall_of(requested)[self._roots][fails]
        return counts, shortfall

    def _shortfall(self, need: GroupNeed) -> NDArray[np.float32]:
        """Return the shortfall of the closest providers, or nearly 0 if several have enough."""
        shortfall = self._of(need).shortfall
        if not self._snapshot.forest.is_nested or len(need.amounts) != 1:
            return shortfall
        (amount,) = need.amounts
        free = free_in_trees(self._snapshot, amount.resource_class)[self._roots]
        is_enough = (shortfall > ENOUGH_TOGETHER) & (free >= amount.amount)
        return np.where(is_enough, ENOUGH_TOGETHER, shortfall)

    def _shortfall_of(self, requested: Mapping[str, int]) -> NDArray[np.float64]:
        """Return for every root the largest missing fraction of an amount, 1 if it is unknown."""
        short = np.zeros(self._snapshot.size)
        for name, needed in requested.items():
            np.maximum(short, 1 - free_in_trees(self._snapshot, name) / needed, out=short)
        short[short <= 0] = 1
        return short

    def _failures(self, group: Group) -> Iterator[Mask]:
        """Yield, for every requirement of a group, a mask of the roots that do not meet it."""
        closest = [self._of(need) for need in group.needs]
        for condition in group.conditions:
            met = [meeting(condition)[is_shared, row] for is_shared, row, _ in closest]
            if condition.requirement.holds_at_root and not group.suffix:
                met.append(condition.local[self._roots])  # a condition on the root as well
            yield ~reduce(np.logical_and, met)
        for condition in group.together:
            yield ~reaching_any(self._snapshot, group, condition)[self._roots]
        for need, (_, row, _) in zip(group.needs, closest, strict=True):
            self._deadline.tick()
            for amount in need.amounts:
                yield ~amount.present[row]
                yield ~amount.enough[row]

    # --- the closest provider of a need

    def _of(self, need: GroupNeed) -> Closest:
        closest = self._closest.get(need)
        if closest is None:
            self._deadline.check()
            closest = self._closest[need] = self._closest_to(need)
        return closest

    def _closest_to(self, need: GroupNeed) -> Closest:
        short = need.shortfall()
        local, shared = need.failures() + short * np.float32(0.5)
        row = self._best_local(local)
        best_shared, shared_row = self._best_shared(need, shared)
        is_shared = (best_shared < local[row]).astype(np.intp)
        row = np.where(is_shared, shared_row, row)
        met = [meeting(condition)[is_shared, row] for condition in need.conditions]
        meets_all_kinds = reduce(np.logical_and, met, True)
        return Closest(is_shared, row, np.where(meets_all_kinds, short[row], np.float32(1)))

    def _best_local(self, score: NDArray[np.float32]) -> Indices:
        """Return for every root the first provider of its tree with the best score.

        Trees are contiguous and begin with the root, also in the order by tree and score.
        """
        forest = self._snapshot.forest
        if not forest.is_nested:
            return self._roots
        order: Indices = np.lexsort((score, forest.root))
        return order[self._roots]

    def _best_shared(
        self, need: GroupNeed, score: NDArray[np.float32]
    ) -> tuple[NDArray[np.float32], Indices]:
        """Return for every root the best score of its sharing providers, and the row."""
        best_of: dict[str, tuple[float, int]] = {}
        for row in np.flatnonzero(need.considered[1]).tolist():
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


def _distance(miss: NearMiss) -> int:
    """Return the number of unmet requirements; one on a class without inventory counts twice."""
    requirements = {(each.group, each.requirement.spelled(each.group)) for each in miss.unmet}
    absent = {
        (unmet.group, unmet.requirement)
        for unmet in miss.unmet
        if isinstance(unmet.requirement, HasInventory)
    }
    return len(requirements) + len(absent)
