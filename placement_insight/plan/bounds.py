"""Proofs that consumers do not fit, by necessary conditions of any plan.

All proofs are about the *relaxed* snapshot, in which every consumer has released all of its
allocations: a plan in any order ends in a state that fits into it.

- ``fitting``: the needs fit on no root, even alone, or on none that server groups allow.
- sums: all consumers together need more of a class than their targets have free.
- groups: more members of a server group with anti-affinity move than their targets may take.
- slots: more consumers need at least some amounts than the targets can serve. A target serves as
  many as the sum, over its providers, of the free amount divided by the amount of one.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache

import numpy as np

from placement.core.search.deadline import Deadline
from placement.core.search.fitting_roots import FittingRoots
from placement.core.snapshot.rows import AmountArray, Mask
from placement.core.snapshot.snapshot import Snapshot
from placement_insight.plan.hypothetical import by_root, claimed
from placement_insight.plan.model import Demand, Needs, Resources, Scene

_MOST = 2**62


class Bounds:
    """The proofs for one scene; ``snapshot`` is relaxed."""

    def __init__(self, scene: Scene, deadline: Deadline) -> None:
        self._scene = scene
        self._deadline = deadline
        released = Counter[tuple[str, int]]()
        for demand in scene.demands:
            needs, count = demand.needs, len(demand.holders)
            for key, amount in needs.resident:
                released[key] -= amount * count
            for row, resources in needs.shared:
                for name, amount in resources:
                    released[name, row] -= amount * count
        self.snapshot = claimed(scene.remaining, released)
        self.fitting = cache(self._fitting_of)

    def allowed(self, demand: Demand) -> Mask:
        """Return the roots on which a demand fits alone beside members of groups that stay.

        Raises: SearchDeadlineExceeded.
        """
        scene, member = self._scene, demand.holders[0].uuid
        return scene.groups.allowed(member, self.fitting(demand.needs), scene.staying)

    def _fitting_of(self, needs: Needs) -> Mask:
        """Return the roots on which needs fit alone.  Raises: SearchDeadlineExceeded."""
        roots = FittingRoots(self.snapshot, self._deadline)
        fitting = np.zeros(self.snapshot.size, dtype=np.bool_)
        for variant in self._scene.variants(needs):
            fitting |= roots.of(variant.slotted, among=variant.targets)
        return fitting

    def sentences(self) -> Iterator[str]:
        """Yield sentences that prove that not all consumers fit.

        Raises: SearchDeadlineExceeded.
        """
        yield from self._of_groups()
        by_targets = {each.needs.of_root: each.needs for each in self._scene.demands}
        for needs in by_targets.values():
            self._deadline.check()
            bound = _OfTargets(self._scene, self.snapshot, needs)
            yield from bound.sums()
            yield from bound.slots(self._deadline)

    def _of_groups(self) -> Iterator[str]:
        """Yield the groups with anti-affinity that have more moving members than places."""
        for group in self._scene.groups.apart:
            moving = [
                each for each in self._scene.demands if each.holders[0].uuid in group.members
            ]
            allowed = np.zeros(self.snapshot.size, dtype=np.bool_)
            for demand in moving:
                allowed |= self.allowed(demand)
            staying = group.others("", self._scene.staying)
            places = sum(group.most - staying[root] for root in np.flatnonzero(allowed).tolist())
            if len(moving) > places:
                hosts = f"the hosts that may take them have places for {places}"
                yield f"{len(moving)} of a server group with anti-affinity need places; {hosts}"


class _OfTargets:
    """The targets of some needs, and the demands that have no other targets."""

    def __init__(self, scene: Scene, snapshot: Snapshot, needs: Needs) -> None:
        self._snapshot = snapshot
        self._demands = [each for each in scene.demands if each.needs.of_root >= needs.of_root]
        targets = scene.targets(needs)
        self._members: Mask = targets[snapshot.forest.root]
        self._sharing = snapshot.sharing.numbers
        self._roots = np.flatnonzero(targets)

    def sums(self) -> Iterator[str]:
        """Yield the classes of which the consumers need more than is free."""
        total, least = Counter[str](), dict[str, int]()
        for demand in self._demands:
            for resources in (demand.needs.unsuffixed, *demand.needs.others):
                for name, amount in resources:
                    total[name] += amount * len(demand.holders)
                    least[name] = min(least.get(name, amount), amount)
        for name, amount in total.items():
            column = self._snapshot.column(name)
            is_usable = self._members[column.rows] | np.isin(column.rows, self._sharing)
            is_usable &= column.allocatable >= least[name]
            free = int(column.free[is_usable].sum())
            if amount > free:
                yield f"together they need {amount} {name}; {free} are free where they may go"

    def slots(self, deadline: Deadline) -> Iterator[str]:
        """Yield the amounts that more consumers need than the targets can serve."""
        for unsuffixed, others in self._groups():
            deadline.check()
            consumers = sum(
                len(demand.holders)
                for demand in self._demands
                if _covers(demand.needs, unsuffixed, others)
            )
            if consumers > (slots := self._slots(unsuffixed, others)):
                amounts = " and ".join(
                    ", ".join(f"{name}:{amount}" for name, amount in resources)
                    for resources in (unsuffixed, *others)
                    if resources
                )
                taken = f"the hosts that may take them have places for {slots}"
                yield f"{consumers} need at least {amounts}; {taken}"

    def _groups(self) -> Iterator[tuple[Resources, tuple[Resources, ...]]]:
        """Yield the different amounts to count: whole needs, and single amounts."""
        groups: dict[tuple[Resources, tuple[Resources, ...]], None] = {}
        for needs in (demand.needs for demand in self._demands):
            groups |= {(needs.unsuffixed, needs.others): None, (needs.unsuffixed, ()): None}
            groups |= {((), needs.others): None}
            groups |= {((amount,), ()): None for amount in needs.unsuffixed}
        yield from filter(any, groups)

    def _slots(self, unsuffixed: Resources, others: tuple[Resources, ...]) -> int:
        """Return the number of consumers that the targets can serve at most."""
        bounds = [self._by_root((amount,), 1) for amount in unsuffixed]
        bounds += [self._by_root(each, count) for each, count in Counter(others).items()]
        return int(np.minimum.reduce(bounds).sum()) if bounds else _MOST

    def _by_root(self, resources: Resources, count: int) -> AmountArray:
        """Return how often each target can serve ``count`` groups, each on a provider."""
        times = np.full(self._snapshot.size, _MOST, dtype=np.int64)
        for name, amount in resources:
            column = self._snapshot.column(name)
            serving = np.zeros(self._snapshot.size, dtype=np.int64)
            is_able = column.allocatable >= amount
            serving[column.rows[is_able]] = column.free[is_able] // amount
            times = np.minimum(times, serving)
        if (times[self._sharing] > 0).any():  # it serves several roots, up to all it has
            return np.full(len(self._roots), _MOST // max(len(self._roots), 1) // 4)
        return by_root(self._snapshot, times)[self._roots] // count


def _covers(needs: Needs, unsuffixed: Resources, others: tuple[Resources, ...]) -> bool:
    """Return whether each consumer with the needs takes at least these amounts."""
    amounts: Mapping[str, int] = dict(needs.unsuffixed)
    has_others = not others or needs.others == others
    return has_others and all(amounts.get(name, 0) >= amount for name, amount in unsuffixed)
