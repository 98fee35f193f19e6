"""The groups of a request with their conditions, as an explanation considers them.

The conditions are the conditions of the search (``core.search.filters``). A *part* is a slot of
the plan, served by one provider: a suffixed group, or one class of the unsuffixed group. The
requirements that a tree fails depend on the considered providers: a GPU provider has no VCPU.
Therefore a part considers the providers that have all of its classes, in the tree or shared with
it. If a tree reaches no such provider, the part considers all providers of the tree.
"""

from collections.abc import Container, Iterator
from dataclasses import dataclass, replace
from functools import cache, partial, reduce
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from placement.core.request import RequestGroup
from placement.core.search.anchors import roots_in_aggregates, roots_of
from placement.core.search.deadline import Deadline
from placement.core.search.filters import AmountCondition, Condition, having_one, kind_conditions
from placement.core.search.slots import SearchPlan
from placement.core.snapshot.columns import MAX_FREE
from placement.core.snapshot.rows import Mask, mask_of
from placement.core.snapshot.snapshot import Snapshot

Providers: TypeAlias = NDArray[np.bool_]
"""Two masks: the providers that can serve their tree, and those that can serve other trees."""

Scores: TypeAlias = NDArray[np.float32]
"""A number for each of the two uses of a provider, in the shape of ``Providers``."""

NO_PROVIDER = np.float32(np.inf)


def meeting(condition: Condition) -> Providers:
    """Return the providers that meet a condition."""
    return np.stack([condition.local, condition.shared])


class Reach:
    """Computes the roots that providers can serve."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._sharing = snapshot.sharing.numbers
        self._aggregates = [
            snapshot.entries.state(row).aggregates for row in self._sharing.tolist()
        ]
        self._in_aggregates = cache(partial(roots_in_aggregates, snapshot))

    @property
    def all_providers(self) -> Providers:
        """All providers for their trees, and the sharing providers for other trees."""
        snapshot = self._snapshot
        return np.stack([snapshot.forest.root >= 0, mask_of(self._sharing, snapshot.size)])

    def roots(self, providers: Providers) -> Mask:
        """Return the roots that have one of the providers in their tree or shared with it."""
        local, shared = providers
        is_able = shared[self._sharing].tolist()
        aggregates = [self._aggregates[number] for number, able in enumerate(is_able) if able]
        in_aggregates = self._in_aggregates(frozenset().union(*aggregates))
        return roots_of(self._snapshot, local) | in_aggregates


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """The conditions of one need, and the providers that are considered for it.

    ``equipped`` are the roots that reach a provider with all classes.
    """

    kinds: tuple[Condition, ...]
    classes: tuple[AmountCondition, ...]
    considered: Providers
    equipped: Mask

    def failures(self, waived: Container[str] = ()) -> Scores:
        """Return the number of conditions that every provider fails.

        The number is ``NO_PROVIDER`` for providers that are not considered.
        Amounts of ``waived`` classes do not count.
        """
        number: Scores = np.where(self.considered, np.float32(0), NO_PROVIDER)
        for kind in self.kinds:
            number += ~meeting(kind)
        for conditions in self.classes:
            for code, fails in conditions.failing:
                if code == "no_inventory" or conditions.resource_class not in waived:
                    number += fails
        return number

    def shortfall(self) -> NDArray[np.float32]:
        """Return for every row the largest missing fraction of an amount, at most 1."""
        short = np.zeros(len(self.equipped), dtype=np.float32)
        for conditions in self.classes:
            column = conditions.column
            missing = np.full(len(short), 1, dtype=np.float32)
            free = column.allocatable.clip(0).astype(np.float32)
            missing[column.rows] = 1 - free / np.float32(min(conditions.amount, MAX_FREE))
            missing[missing <= 0] = 1  # enough is free, but not in this unit
            missing[conditions.enough] = 0
            np.maximum(short, missing, out=short)
        return short


@dataclass(frozen=True, slots=True, eq=False)
class Group:
    """A group with its parts.

    ``together`` has conditions on traits that any one of the parts may meet.
    """

    group: RequestGroup
    parts: tuple[Part, ...]
    together: tuple[Condition, ...]

    @property
    def suffix(self) -> str:
        """The suffix, empty for the unsuffixed group."""
        return self.group.suffix


def parts_of(
    snapshot: Snapshot, reach: Reach, plan: SearchPlan, deadline: Deadline
) -> Iterator[Part]:
    """Yield the part of every need; equal conditions are computed once.

    Raises: SearchDeadlineExceeded.
    """
    kinds_of = cache(lambda need: tuple(kind_conditions(snapshot, need)))
    amount_of = cache(partial(AmountCondition.of, snapshot))
    root = snapshot.forest.root
    for need in plan.needs:
        deadline.check()
        kinds = kinds_of(replace(need, resources=()))
        classes = tuple(amount_of(name, amount) for name, amount in need.resources)
        present = [conditions.present for conditions in classes]
        able = reduce(np.logical_and, present, reach.all_providers)
        equipped = reach.roots(able)
        local = able[0] | (~equipped[root] & (root >= 0))
        yield Part(kinds, classes, np.stack([local, able[1]]), equipped)


def groups_of(
    snapshot: Snapshot, reach: Reach, plan: SearchPlan, deadline: Deadline
) -> Iterator[Group]:
    """Yield the groups in the order of the query.  Raises: SearchDeadlineExceeded."""
    parts = list(parts_of(snapshot, reach, plan, deadline))
    for group in plan.request.groups:
        deadline.check()
        needs = [slot.need for slot in plan.slots if slot.suffix == group.suffix]
        any_of = () if group.suffix else dict.fromkeys(plan.any_of)
        yield Group(
            group,
            tuple(parts[need] for need in needs),
            tuple(having_one(snapshot, traits) for traits in any_of),
        )
