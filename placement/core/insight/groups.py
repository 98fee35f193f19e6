"""The groups of a request as an explanation looks at them: parts, each served by one provider.

A part is a slot of the plan: a suffixed group, or one class of the unsuffixed group. Which
requirement a tree fails depends on the providers that are looked at: a GPU has no VCPU and is
not expected to. So a part considers the providers that have all of its classes, at home or
shared; only where a tree can reach none of these, all providers of the tree.
"""

from collections import defaultdict
from collections.abc import Container, Iterator
from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from placement.core.insight.conditions import (
    ClassConditions,
    Condition,
    Providers,
    Reach,
    class_conditions,
    kind_conditions,
    trait_condition,
)
from placement.core.request import RequestGroup
from placement.core.search.deadline import Deadline
from placement.core.search.plan import Need, SearchPlan
from placement.core.snapshot.columns import MAX_FREE
from placement.core.snapshot.rows import Mask
from placement.core.snapshot.snapshot import Snapshot

Scores = NDArray[np.float32]
NO_PROVIDER = np.float32(np.inf)


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """One need, its conditions, and the providers that are considered for it.

    ``equipped`` are the roots that reach a provider with all classes.
    """

    need: Need
    kinds: tuple[Condition, ...]
    classes: tuple[ClassConditions, ...]
    considered: Providers
    equipped: Mask

    @property
    def serving(self) -> Providers:
        """The providers that meet every condition."""
        met = reduce(np.logical_and, [each.enough for each in self.classes], self.considered.local)
        providers = Providers(met, self.considered.shared & met)
        return reduce(Providers.__and__, [kind.met for kind in self.kinds], providers)

    def number_of_failures(self, *, is_shared: bool, waived: Container[str] = ()) -> Scores:
        """Return for each row how many conditions it fails, ``NO_PROVIDER`` if not considered.

        Amounts of ``waived`` classes do not count.
        """
        considered = self.considered.shared if is_shared else self.considered.local
        number = np.where(considered, np.float32(0), NO_PROVIDER)
        for kind in self.kinds:
            number += ~(kind.met.shared if is_shared else kind.met.local)
        for conditions in self.classes:
            for code, fails in conditions.failing:
                if code == "no_inventory" or conditions.resource_class not in waived:
                    number += fails
        return number

    def shortfall(self, snapshot: Snapshot) -> Scores:
        """Return for each row the largest part of an amount that is missing, 1 if all is."""
        short = np.zeros(snapshot.size, dtype=np.float32)
        for conditions in self.classes:
            column = snapshot.columns.get(conditions.resource_class)
            missing = np.full(snapshot.size, 1, dtype=np.float32)
            if column is not None:
                free = column.allocatable.clip(0).astype(np.float32)
                missing[column.rows] = 1 - free / np.float32(min(conditions.amount, MAX_FREE))
            missing[missing <= 0] = 1  # enough is free, but not in this unit
            missing[conditions.enough] = 0
            np.maximum(short, missing, out=short)
        return short


@dataclass(frozen=True, slots=True, eq=False)
class Group:
    """A group with its parts; ``together`` are traits that the parts may have between them."""

    group: RequestGroup
    parts: tuple[Part, ...]
    together: tuple[Condition, ...]

    @property
    def suffix(self) -> str:
        """The suffix, empty for the unsuffixed group."""
        return self.group.suffix


class GroupsBuilder:
    """Makes the groups of a plan; equal needs, and equal conditions, are computed once."""

    def __init__(self, snapshot: Snapshot, reach: Reach, deadline: Deadline) -> None:
        self._snapshot = snapshot
        self._reach = reach
        self._deadline = deadline
        self._parts: dict[Need, Part] = {}
        self._kinds: dict[object, tuple[Condition, ...]] = {}
        self._classes: dict[tuple[str, int], ClassConditions] = {}

    def groups(self, plan: SearchPlan) -> Iterator[Group]:
        """Yield the groups in the order of the query.  Raises: SearchDeadlineExceeded."""
        slots = defaultdict(list)
        for slot in plan.slots:
            slots[slot.suffix].append(slot)
        for group in plan.request.groups:
            self._deadline.check()
            needs = [plan.needs[slot.need] for slot in slots[group.suffix]]
            any_of = () if group.suffix else dict.fromkeys(plan.any_of)
            yield Group(
                group,
                tuple(self._part(need) for need in needs),
                tuple(trait_condition(self._snapshot, traits) for traits in any_of),
            )

    def _part(self, need: Need) -> Part:
        part = self._parts.get(need)
        if part is None:
            part = self._parts[need] = self._new_part(need)
        return part

    def _new_part(self, need: Need) -> Part:
        classes = tuple(self._class(name, amount) for name, amount in need.resources)
        all_providers = self._reach.all_providers
        if not classes:
            equipped = self._snapshot.forest.is_root
            return Part(need, self._kinds_of(need), (), all_providers, equipped)
        having = reduce(np.logical_and, [each.present for each in classes])
        candidates = Providers(having, all_providers.shared & having)
        equipped = self._reach.roots(candidates)
        considered = Providers(self._or_all(having, equipped), candidates.shared)
        return Part(need, self._kinds_of(need), classes, considered, equipped)

    def _or_all(self, having: Mask, equipped: Mask) -> Mask:
        """Return the providers with the classes, and all of the trees that reach none."""
        root = self._snapshot.forest.root
        if equipped.sum() == self._snapshot.forest.is_root.sum():
            return having
        return having | (~equipped[root] & (root >= 0))

    def _kinds_of(self, need: Need) -> tuple[Condition, ...]:
        key = (
            *(need.required, need.forbidden, need.member_of),
            *(need.not_member_of, need.in_tree, need.is_unsuffixed),
        )
        kinds = self._kinds.get(key)
        if kinds is None:
            kinds = self._kinds[key] = tuple(kind_conditions(self._snapshot, need))
        return kinds

    def _class(self, name: str, amount: int) -> ClassConditions:
        conditions = self._classes.get((name, amount))
        if conditions is None:
            conditions = class_conditions(self._snapshot, name, amount)
            self._classes[name, amount] = conditions
        return conditions
