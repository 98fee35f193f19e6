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
from placement.core.snapshot.rows import Indices
from placement.core.snapshot.snapshot import Snapshot
from placement.exception import SearchDeadlineExceeded
from placement_insight.plan.hypothetical import amounts_of, claimed, free_by_root
from placement_insight.plan.model import Demand, Holder, Move, Scene, Variant

_BLOCK = 64


class Placement:
    """Moves of as many consumers as the order and the deadline allow, and the state after them.

    The others are ``stuck``.
    """

    def __init__(self, scene: Scene, deadline: Deadline) -> None:
        self.after = scene.remaining
        self.moves: list[Move] = []
        self.stuck: list[Demand] = []
        self._scene = scene
        self._deadline = deadline
        self._roots = dict(scene.staying)  # of members of server groups
        self._is_over = False
        total = Counter[str]()
        for demand in scene.demands:
            for name, amount in demand.needs.total.items():
                total[name] += amount * len(demand.holders)
        left = {name: int(self.after.column(name).free.sum()) / total[name] for name in total}
        self._fullest_last = sorted(total, key=lambda name: (left[name], name), reverse=True)
        for demand in scene.demands:
            if holders := self._remaining(demand):
                self.stuck.append(Demand(demand.needs, tuple(holders)))

    def _remaining(self, demand: Demand) -> Sequence[Holder]:
        """Place the consumers of a demand; return those that fit nowhere, or were not reached.

        The targets of each variant are filled until no consumer fits on them.
        """
        holders: Sequence[Holder] = demand.holders
        server = holders[0].uuid
        for variant in self._scene.variants(demand.needs) if not self._is_over else ():
            allowed = self._scene.groups.allowed(server, variant.targets, self._roots)
            placed = -1
            while holders and placed:
                placed = self._fill(replace(variant, targets=allowed), holders)
                holders = holders[placed:]
        return holders

    def _fill(self, variant: Variant, holders: Sequence[Holder]) -> int:
        """Place the first of some consumers, each target once; return how many were placed."""
        placed, taken = 0, Counter[tuple[str, int]]()
        try:
            for root, amounts in assignments(self.after, variant, self._ranked, self._deadline):
                count = len(holders) - placed
                for (name, row), amount in amounts.items():
                    column = self.after.columns[name]
                    free = column.free.item(int(column.rows.searchsorted(row)))
                    count = min(count, (free - taken[name, row]) // amount)
                for holder in holders[placed : placed + count]:
                    self.moves.append(Move(holder, root, amounts + variant.kept))
                    if holder.uuid in self._scene.groups.of_server:
                        self._roots[holder.uuid] = root
                for key, amount in amounts.items() if count else ():
                    taken[key] += count * amount
                placed += count
                if placed == len(holders):
                    break
        except SearchDeadlineExceeded:
            self._is_over = True
        self.after = claimed(self.after, taken)
        return placed

    def _ranked(self, variant: Variant, rows: Indices) -> Indices:
        """Return the roots, the one with the least of the scarcest class first."""
        needed = variant.needs.total
        keys = [free_by_root(self.after, n)[rows] for n in self._fullest_last if n in needed]
        return rows[np.lexsort(keys)] if keys else rows


def assignments(
    snapshot: Snapshot,
    variant: Variant,
    ranked: Callable[[Variant, Indices], Indices],
    deadline: Deadline,
) -> Iterator[tuple[int, Counter[tuple[str, int]]]]:
    """Yield targets on which the needs fit, with the amounts of their providers.

    ``ranked`` returns the possible roots in the order in which they are solved. New amounts and
    those that stay are valid as one allocation.

    Raises: SearchDeadlineExceeded.
    """
    slotted, kept = variant.slotted, variant.kept
    domains = find_domains(snapshot, slotted, deadline)
    possible = possible_anchors(snapshot, slotted, domains, deadline) & variant.targets
    if not possible.any():
        return
    problems = ProblemBuilder(snapshot, slotted, domains)
    for block in batches(ranked(variant, np.flatnonzero(possible)).tolist(), _BLOCK):
        for root, rows in first_assignments(problems, block, deadline):
            amounts = amounts_of(slotted.slots, rows)
            if all(
                is_valid_amount(snapshot.entries.state(row).inventories[name], stays + new)
                for (name, row), stays in kept.items()
                if (new := amounts.get((name, row)))
            ):
                yield root, amounts
