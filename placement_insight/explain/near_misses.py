"""The roots that do not fit and fail the fewest requirements.

If the groups name a tree, only the roots that can use it are listed. A ranking with arrays over
all roots counts the requirements that no provider of a root meets. The best roots are then solved
root by root (``closest_assignment``), and ranked again by the result.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from placement.core.search.filters import sharing_by_aggregate
from placement.core.snapshot.columns import MAX_FREE
from placement.core.snapshot.rows import Mask
from placement_insight.explain.closest_assignment import closest, failures, shortfall
from placement_insight.explain.funnel import Funnel
from placement_insight.explain.groups import Group, Scene, reached_roots, sum_at_roots
from placement_insight.explain.unmet import Closest

SOLVED_FOR_EACH = 4  # at most this many roots are solved for every listed root
MOST_SHARING = 1000  # a root is solved with at most this many sharing providers


class NearMisses:
    """Ranks the roots of one scene; ``solved`` has the solved roots, the closest first."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._snapshot = scene.snapshot
        self.solved: list[Closest] = []

    def run(self, funnel: Funnel, number: int) -> None:
        """Find the closest roots.

        Raises: SearchDeadlineExceeded; ``solved`` has the roots solved until then.
        """
        self._scene.deadline.check()
        missing = np.flatnonzero(funnel.named & ~funnel.left)
        if not len(missing):
            return
        fewest = self._fewest_unmet()[missing]
        # lost by a later row of the funnel, then by a smaller shortfall
        later, shortfall = -funnel.lost_at, self._shortfall()
        order = np.lexsort((shortfall[missing], later[missing], fewest))
        for at in order[: SOLVED_FOR_EACH * number].tolist():
            if len(self.solved) >= number and self.solved[number - 1].distance <= fewest[at]:
                return
            self.solve(missing.item(at))
            self.solved.sort(
                key=lambda each: (each.distance, later[each.root], shortfall[each.root])
            )

    def solve(self, root: int) -> None:
        """Find what one root lacks, however much it is.  Raises: SearchDeadlineExceeded."""
        scene = self._scene
        self.solved.append(
            closest(scene.snapshot, scene.slotted, self._rows(root), scene.deadline)
        )

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
        return [failures(need)[1] + shortfall(need) for need in self._scene.needs]

    # --- all roots

    def _fewest_unmet(self) -> NDArray[np.int32]:
        """Return for every root the number of requirements that none of its providers meets.

        At least 1: a root whose providers meet all of them one by one lacks something, too.
        """
        counts = np.zeros(self._snapshot.size, dtype=np.int32)
        for each in self._scene.slotted.request.of_root:  # others are counted with their group
            counts += ~each.providers(self._snapshot)
        for group in self._scene.groups:
            for met in self._met(group):
                counts += ~met
        return counts.clip(1)

    def _met(self, group: Group) -> Iterator[Mask]:
        """Yield, for every requirement of a group, the roots with providers that meet it."""
        for condition in group.conditions:
            met = group.roots_meeting(self._snapshot, condition)
            if condition.requirement.holds_at_root and not group.requested.suffix:
                met = met & condition.met[0]  # a condition on the root as well
            yield met
        for need in group.needs:
            self._scene.deadline.tick()
            for amount in need.amounts:
                for mask in (amount.present, amount.enough):
                    yield reached_roots(self._snapshot, need.considered & mask)

    def _shortfall(self) -> NDArray[np.float64]:
        """Return for every root the largest missing fraction of the sums of all groups."""
        snapshot = self._snapshot
        requested = Counter[str]()
        for slot in self._scene.slotted.slots:
            requested.update(dict(slot.resources))
        shortfall = np.zeros(snapshot.size)
        for name, needed in requested.items():
            column = snapshot.column(name)
            free = sum_at_roots(snapshot, column.rows, column.allocatable.clip(0))
            np.maximum(shortfall, 1 - free / min(needed, MAX_FREE), out=shortfall)
        return shortfall
