"""The groups of a request with their conditions, as an explanation considers them.

The conditions are the conditions of the search (``core.search.filters``). A *part* is a slot of
the plan, served by one provider: a suffixed group, or one class of the unsuffixed group. The
requirements that a tree fails depend on the considered providers: a GPU provider has no VCPU.
Therefore a part considers the providers that have all of its classes, in the tree or shared with
it. If a tree reaches no such provider, the part considers all providers of the tree.
"""

from collections import defaultdict
from collections.abc import Container, Iterator
from dataclasses import dataclass, replace
from functools import cache, partial, reduce

import numpy as np
from numpy.typing import NDArray

from placement.core.request import RequestGroup
from placement.core.search.anchors import roots_in_aggregates, roots_of
from placement.core.search.deadline import Deadline
from placement.core.search.filters import (
    AmountCondition,
    Condition,
    Domain,
    having_one,
    kind_conditions,
    member_of,
)
from placement.core.search.slots import Need, SearchPlan
from placement.core.snapshot.columns import MAX_FREE
from placement.core.snapshot.rows import Mask, mask_of
from placement.core.snapshot.snapshot import Snapshot

Scores = NDArray[np.float32]
NO_PROVIDER = np.float32(np.inf)


@dataclass(frozen=True, slots=True, eq=False)
class Providers:
    """Providers that can serve their tree, and sharing providers that can serve other trees."""

    local: Mask
    shared: Mask

    def meeting(self, condition: Condition) -> "Providers":
        """Return the providers that meet a condition."""
        return Providers(self.local & condition.local, self.shared & condition.shared)

    def only(self, rows: Mask) -> "Providers":
        """Return the providers that are among the rows."""
        return Providers(self.local & rows, self.shared & rows)


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
        return Providers(snapshot.forest.root >= 0, mask_of(self._sharing, snapshot.size))

    def roots(self, providers: Providers) -> Mask:
        """Return the roots that have one of the providers in their tree or shared with it."""
        local = roots_of(self._snapshot, providers.local)
        shared = providers.shared[self._sharing].tolist()
        aggregates = [self._aggregates[number] for number, is_able in enumerate(shared) if is_able]
        return local | self._in_aggregates(frozenset().union(*aggregates)) if aggregates else local

    def roots_with_option(self, domain: Domain) -> Mask:
        """Return the roots that have a provider of a domain in their tree or shared with it."""
        shared = self._in_aggregates(frozenset(domain.shared_by_aggregate))
        return roots_of(self._snapshot, domain.local) | shared


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """One need, its conditions, and the providers that are considered for it.

    ``equipped`` are the roots that reach a provider with all classes.
    """

    need: Need
    kinds: tuple[Condition, ...]
    classes: tuple[AmountCondition, ...]
    considered: Providers
    equipped: Mask

    def number_of_failures(self, *, is_shared: bool, waived: Container[str] = ()) -> Scores:
        """Return the number of conditions that every row fails.

        The number is ``NO_PROVIDER`` for rows that are not considered.

        Amounts of ``waived`` classes do not count.
        """
        considered = self.considered.shared if is_shared else self.considered.local
        number = np.where(considered, np.float32(0), NO_PROVIDER)
        for kind in self.kinds:
            number += ~(kind.shared if is_shared else kind.local)
        for conditions in self.classes:
            for code, fails in conditions.failing:
                if code == "no_inventory" or conditions.resource_class not in waived:
                    number += fails
        return number

    def shortfall(self) -> Scores:
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


class GroupsBuilder:
    """Creates the groups of a plan; equal needs, and equal conditions, are computed once."""

    def __init__(self, snapshot: Snapshot, reach: Reach, deadline: Deadline) -> None:
        self._snapshot = snapshot
        self._reach = reach
        self._deadline = deadline
        self._part = cache(self._new_part)
        self._kinds = cache(partial(_kinds, snapshot))
        self._amount = cache(partial(AmountCondition.of, snapshot))

    def groups(self, plan: SearchPlan) -> Iterator[Group]:
        """Yield the groups in the order of the query.  Raises: SearchDeadlineExceeded."""
        needs = defaultdict(list)
        for slot in plan.slots:
            needs[slot.suffix].append(plan.needs[slot.need])
        for group in plan.request.groups:
            self._deadline.check()
            any_of = () if group.suffix else dict.fromkeys(plan.any_of)
            yield Group(
                group,
                tuple(map(self._part, needs[group.suffix])),
                tuple(having_one(self._snapshot, traits) for traits in any_of),
            )

    def _new_part(self, need: Need) -> Part:
        kinds = self._kinds(replace(need, resources=()))
        classes = tuple(self._amount(name, amount) for name, amount in need.resources)
        all_providers = self._reach.all_providers
        if not classes:
            return Part(need, kinds, (), all_providers, self._snapshot.forest.is_root)
        having = reduce(np.logical_and, [conditions.present for conditions in classes])
        able = Providers(having, all_providers.shared & having)
        equipped = self._reach.roots(able)
        considered = Providers(self._or_all(having, equipped), able.shared)
        return Part(need, kinds, classes, considered, equipped)

    def _or_all(self, having: Mask, equipped: Mask) -> Mask:
        """Return the providers with the classes.

        For trees that reach no such provider, all providers of the tree.
        """
        root = self._snapshot.forest.root
        if equipped.sum() == self._snapshot.forest.is_root.sum():
            return having
        return having | (~equipped[root] & (root >= 0))


def _kinds(snapshot: Snapshot, need: Need) -> tuple[Condition, ...]:
    """Return the conditions of a need without an amount, one for every list of aggregates."""
    kinds: list[Condition] = []
    for condition in kind_conditions(snapshot, need):
        is_of_lists = condition.code == "aggregate" and len(set(need.member_of)) > 1
        kinds += _each_list(snapshot, need, condition) if is_of_lists else [condition]
    return tuple(kinds)


def _each_list(snapshot: Snapshot, need: Need, together: Condition) -> Iterator[Condition]:
    """Yield a condition for every list of aggregates, and then a condition for all lists together.

    In the unsuffixed group the root's aggregates count for its tree, but only if they meet all
    lists. The last condition fails only where every single list is met.
    """
    lists = [replace(need, member_of=(any_of,)) for any_of in dict.fromkeys(need.member_of)]
    conditions = [member_of(snapshot, need_of_list) for need_of_list in lists]
    yield from conditions
    if need.is_unsuffixed and snapshot.forest.is_nested:
        apart = reduce(np.logical_and, [condition.local for condition in conditions])
        local = together.local | ~apart
        yield replace(together, local=local, shared=np.ones_like(local))
