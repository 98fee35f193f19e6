"""Places consumers one after the other: the largest first, each on the root that it fits best.

Consumers with equal needs are placed together. The roots on which they fit are ranked: the least
free amount of the scarcest class comes first. The best root takes a consumer as often as it can,
which makes it fuller, so that it remains the best. Roots are solved in blocks, in this order.

A plan never counts on what another consumer releases: its moves are accepted in their order.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from placement.core.capacity import is_valid_amount
from placement.core.search.anchors import possible_anchors
from placement.core.search.candidate_streams import batches, first_assignments
from placement.core.search.deadline import Deadline
from placement.core.search.filters import find_domains
from placement.core.search.problems import ProblemBuilder
from placement.core.snapshot.rows import Mask
from placement.core.snapshot.snapshot import Snapshot
from placement.exception import SearchDeadlineExceeded
from placement_insight.plan.hypothetical import Taken, amounts_of, claimed, free_by_root
from placement_insight.plan.model import Demand, Holder, Move, Scene, Variant

_BLOCK = 64


class Placement:
    """Moves of as many consumers as the order and the deadline allow, and the state after them.

    The others are ``stuck``.
    """

    def __init__(self, scene: Scene, deadline: Deadline) -> None:
        self._scene = scene
        self._deadline = deadline
        self._scarcest = scarcest_classes(scene)
        self._roots = dict(scene.staying)  # of members of server groups
        self._is_over = False
        self.after = scene.remaining
        self.moves: list[Move] = []
        self.stuck = [
            Demand(demand.needs, tuple(left))
            for demand in scene.demands
            if (left := self._placed(demand))
        ]

    def _placed(self, demand: Demand) -> Sequence[Holder]:
        """Place the consumers of a demand; return those that fit nowhere, or were not reached."""
        left: Sequence[Holder] = demand.holders
        if self._is_over:
            return left
        groups, server = self._scene.groups, demand.holders[0].uuid
        for each in self._scene.variants(demand.needs):
            allowed = groups.allowed(server, each.targets, self._roots)
            variant = replace(each, targets=allowed)
            left = self._fill(variant, left)
        return left

    def _fill(self, variant: Variant, holders: Sequence[Holder]) -> Sequence[Holder]:
        """Place consumers on the targets of a variant; return the remaining consumers."""
        while holders:
            remaining = list(holders)
            taken: Counter[tuple[str, int]] = Counter()
            for root, amounts in self._until_deadline(self.after, variant):
                count = min(_times(self.after, amounts, taken), len(remaining))
                for holder in remaining[:count]:
                    self.moves.append(Move(holder, root, amounts + variant.kept))
                    if holder.uuid in self._scene.groups:
                        self._roots[holder.uuid] = root
                for key, amount in amounts.items() if count else ():
                    taken[key] += count * amount
                remaining = remaining[count:]
                if not remaining:
                    break
            self.after = claimed(self.after, taken)
            if len(remaining) == len(holders):
                return remaining
            holders = remaining
        return holders

    def _until_deadline(
        self, snapshot: Snapshot, variant: Variant
    ) -> Iterator[tuple[int, Counter[tuple[str, int]]]]:
        """Yield the assignments to ranked roots that are found until the deadline."""

        def ranked(possible: Mask) -> Sequence[int]:
            rows = np.flatnonzero(possible)
            names = [name for name in self._scarcest if name in variant.needs.total]
            keys = [free_by_root(snapshot, name)[rows] for name in reversed(names)]
            ranked: list[int] = (rows[np.lexsort(keys)] if keys else rows).tolist()
            return ranked

        try:
            yield from assignments(snapshot, variant, ranked, self._deadline)
        except SearchDeadlineExceeded:
            self._is_over = True


def scarcest_classes(scene: Scene) -> Sequence[str]:
    """Return the classes of the needs; the class with the least left comes first."""
    total = Counter[str]()
    for demand in scene.demands:
        for name, amount in demand.needs.total.items():
            total[name] += amount * len(demand.holders)
    free = {name: int(scene.remaining.column(name).free.sum()) for name in total}
    return sorted(total, key=lambda name: (free[name] / total[name], name))


def assignments(
    snapshot: Snapshot,
    variant: Variant,
    ordered: Callable[[Mask], Sequence[int]],
    deadline: Deadline,
) -> Iterator[tuple[int, Counter[tuple[str, int]]]]:
    """Yield targets on which the needs fit, with the amounts of their providers.

    ``ordered`` returns the roots to solve, in order, from those that are possible.

    Raises: SearchDeadlineExceeded.
    """
    slotted = variant.slotted
    domains = find_domains(snapshot, slotted, deadline)
    possible = possible_anchors(snapshot, slotted, domains, deadline) & variant.targets
    if not possible.any():
        return
    problems = ProblemBuilder(snapshot, slotted, domains)
    for block in batches(ordered(possible), _BLOCK):
        for root, rows in first_assignments(problems, block, deadline):
            amounts = Counter(amounts_of(slotted.slots, rows))
            if _is_valid_beside(variant.kept, amounts, snapshot):
                yield root, amounts


def _is_valid_beside(kept: Taken, amounts: Taken, snapshot: Snapshot) -> bool:
    """Return whether new amounts and those that stay are valid as one allocation."""
    return all(
        is_valid_amount(snapshot.entries.state(row).inventories[name], stays + amounts[name, row])
        for (name, row), stays in kept.items()
        if (name, row) in amounts
    )


def _times(snapshot: Snapshot, amounts: Taken, taken: Counter[tuple[str, int]]) -> int:
    """Return how often the amounts are free, after others were taken."""
    return min((_free(snapshot, *key) - taken[key]) // amount for key, amount in amounts.items())


def _free(snapshot: Snapshot, name: str, row: int) -> int:
    column = snapshot.columns[name]
    return column.free.item(int(column.rows.searchsorted(row)))
