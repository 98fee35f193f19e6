"""The roots that do not fit and fail the fewest requirements.

If the groups name a tree, only the roots that can use it are listed: the caller did not ask about
other hosts.

A ranking with arrays over all roots comes first: it counts the requirements that no provider of a
root meets, whatever the others are. The best roots are then solved root by root
(``closest_assignment``), where one provider meets all requirements of a group, and including the
conditions between groups, and are ranked again by the result.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial, reduce
from operator import itemgetter

import numpy as np
from numpy.typing import NDArray

from placement.core.requirement import HasInventory
from placement.core.search.deadline import Deadline
from placement.core.search.filters import sharing_by_aggregate
from placement.core.search.slots import SlottedRequest
from placement.core.snapshot.columns import MAX_FREE
from placement.core.snapshot.rows import Mask, mask_of
from placement.core.snapshot.snapshot import Snapshot
from placement_insight.explain.closest_assignment import closest
from placement_insight.explain.funnel import Funnel, reaching_any
from placement_insight.explain.groups import (
    Group,
    free_in_trees,
    meeting,
    reached_roots,
    roots_shared_with,
)
from placement_insight.explain.model import Closest, Lack, NearMiss
from placement_insight.explain.provider_facts import near_miss

Rank = tuple[int, int, float]

SOLVED_FOR_EACH = 4  # at most this many roots are solved for every listed root
MOST_SHARING = 1000  # a root is solved with at most this many sharing providers


class NearMisses:
    """Ranks the roots of one snapshot for one request."""

    def __init__(
        self,
        snapshot: Snapshot,
        slotted: SlottedRequest,
        groups: Sequence[Group],
        deadline: Deadline,
    ) -> None:
        self._snapshot = snapshot
        self._slotted = slotted
        self._groups = groups
        self._deadline = deadline
        self._solved: list[tuple[Rank, Closest]] = []  # the closest first

    def best(self, number: int) -> tuple[NearMiss, ...]:
        """Return the closest roots of the solved roots."""
        request = self._slotted.request
        return tuple(near_miss(self._snapshot, request, each) for _, each in self._solved[:number])

    def run(self, funnel: Funnel, number: int) -> None:
        """Find the closest roots.

        Raises: SearchDeadlineExceeded; ``best`` returns the closest roots solved until then.
        """
        self._deadline.check()
        missing = np.flatnonzero(funnel.named & ~funnel.left)
        if not len(missing):
            return
        fewest = self._fewest_unmet()[missing]
        # lost by a later row of the funnel, then by a smaller shortfall
        later, shortfall = -funnel.lost_at[missing], self._shortfall()[missing]
        order = np.lexsort((shortfall, later, fewest))
        for at in order[: SOLVED_FOR_EACH * number].tolist():
            if len(self._solved) >= number and self._solved[number - 1][0][0] <= fewest[at]:
                return
            root = self._solve(missing.item(at))
            rank = (_distance(root.lacks), later.item(at), shortfall.item(at))
            self._solved.append((rank, root))
            self._solved.sort(key=itemgetter(0))

    def run_for(self, root: int) -> None:
        """Find what one root lacks, however much it is.  Raises: SearchDeadlineExceeded."""
        self._solved.append(((0, 0, 0.0), self._solve(root)))

    # --- one root

    def _solve(self, root: int) -> Closest:
        return closest(self._snapshot, self._slotted, self._rows(root), self._deadline)

    def _rows(self, root: int) -> list[int]:
        """Return the rows of a tree, with the root first, and of the trees of sharing providers.

        If too many providers are shared, the closest one for each need and some others are used.
        """
        forest, trees = self._snapshot.forest, self._snapshot.tree_aggregates
        shared = self._sharing_by_aggregate
        aggregates = trees.aggregates[trees.number.item(root)]
        sharing = sorted({row for uuid in aggregates for row in shared.get(uuid, ())})
        if len(sharing) > MOST_SHARING:
            closest = [sharing[score[sharing].argmin()] for score in self._scores_of_sharing]
            sharing = list(dict.fromkeys([*closest, *sharing]))[:MOST_SHARING]
        roots = dict.fromkeys([root, *forest.root[sharing].tolist()])
        return [row for root in roots for row in forest.members(root)]

    @cached_property
    def _sharing_by_aggregate(self) -> Mapping[str, Sequence[int]]:
        return sharing_by_aggregate(self._snapshot, self._snapshot.sharing.numbers.tolist())

    @cached_property
    def _scores_of_sharing(self) -> Sequence[NDArray[np.float32]]:
        needs = dict.fromkeys(need for group in self._groups for need in group.needs)
        return [need.failures()[1] + need.shortfall() for need in needs]

    # --- all roots

    def _fewest_unmet(self) -> NDArray[np.int32]:
        """Return for every root the number of requirements that none of its providers meets.

        At least 1: a root whose providers meet all of them one by one lacks something, too.
        """
        counts = np.zeros(self._snapshot.size, dtype=np.int32)
        for requirement in self._slotted.request.of_root:  # others are counted with their group
            counts += ~requirement.providers(self._snapshot)
        for group in self._groups:
            for met in self._met(group):
                counts += ~met
        return counts.clip(1)

    def _met(self, group: Group) -> Iterator[Mask]:
        """Yield, for every requirement of a group, the roots with providers that meet it."""
        reached = partial(reached_roots, self._snapshot)
        for condition in group.conditions:
            met = [reached(need.considered & meeting(condition)) for need in group.needs]
            if condition.requirement.holds_at_root and not group.requested.suffix:
                met.append(condition.local)  # a condition on the root as well
            yield reduce(np.logical_and, met)
        for condition in group.together:
            yield reaching_any(self._snapshot, group, condition)
        for need in group.needs:
            self._deadline.tick()
            for amount in need.amounts:
                yield reached(need.considered & amount.present)
                yield reached(need.considered & amount.enough)

    def _shortfall(self) -> NDArray[np.float64]:
        """Return for every root the largest missing fraction of the sums of all groups.

        Classes that other trees share with the root do not count.
        """
        snapshot = self._snapshot
        requested = Counter[str]()
        for slot in self._slotted.slots:
            requested.update(dict(slot.resources))
        shortfall = np.zeros(snapshot.size)
        for name, needed in requested.items():
            missing = 1 - free_in_trees(snapshot, name) / min(needed, MAX_FREE)
            rows = snapshot.column(name).rows
            having = snapshot.sharing.mask(snapshot.size) & mask_of(rows, snapshot.size)
            missing[roots_shared_with(snapshot, having)] = 0
            np.maximum(shortfall, missing, out=shortfall)
        return shortfall


def _distance(lacks: Iterable[Lack]) -> int:
    """Return the number of unmet requirements; one on a class without inventory counts twice."""
    unmet = {(lack.group, lack.requirement) for lack in lacks}
    absent = sum(isinstance(requirement, HasInventory) for _, requirement in unmet)
    return len({(group, each.spelled(group)) for group, each in unmet}) + absent
