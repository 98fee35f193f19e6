"""The groups of a request with their conditions, as an explanation considers them.

The conditions are the conditions of the search (``core.search.filters``). A *need* is what one
provider has to serve: a suffixed group, or one class of the unsuffixed group. The requirements
that a tree fails depend on the considered providers: a GPU provider has no VCPU. Therefore a need
considers the providers that have all of its classes, in the tree or shared with it. If a tree
reaches no such provider, the need considers all providers of the tree.

The conditions between slots are one list for the funnel and for near misses. The funnel adds them
to the request stage by stage. The closest assignment of a root gives up those that it cannot meet.
"""

from collections.abc import Collection, Container, Iterator
from dataclasses import dataclass, replace
from functools import cache, partial, reduce
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from placement.core.request import RequestGroup
from placement.core.requirement import Isolate
from placement.core.search.anchors import roots_in_aggregates, roots_of
from placement.core.search.deadline import Deadline
from placement.core.search.filters import AmountCondition, Condition, need_conditions
from placement.core.search.slots import Need, SlottedRequest, joint_requirements
from placement.core.snapshot.columns import MAX_FREE
from placement.core.snapshot.rows import AmountArray, Mask, Numbers
from placement.core.snapshot.snapshot import Snapshot
from placement_insight.explain.model import AmountTogether, JointCondition, TraitTogether

Providers: TypeAlias = NDArray[np.bool_]
"""Two masks: the providers that can serve their tree, and those that can serve other trees."""

Scores: TypeAlias = NDArray[np.float32]
"""A number for each of the two uses of a provider, in the shape of ``Providers``."""

NO_PROVIDER = np.float32(np.inf)
UNLIKE_OTHERS = np.float32(10)  # more than amounts: devices are freed, but get no traits
OUTSIDE_NAMED_TREE = np.float32(1000)  # more than the conditions that a provider can fail


def meeting(condition: Condition) -> Providers:
    """Return the providers that meet a condition."""
    return np.stack([condition.local, condition.shared])


def meeting_need(snapshot: Snapshot, need: Need) -> Mask:
    """Return the providers that meet all conditions of a need in their tree, except amounts."""
    masks = [condition.local for condition in need_conditions(snapshot, need)]
    return reduce(np.logical_and, masks, snapshot.forest.root >= 0)


def all_providers(snapshot: Snapshot) -> Providers:
    """Return all providers for their trees, and the sharing providers for other trees."""
    return np.stack([snapshot.forest.root >= 0, snapshot.sharing.mask(snapshot.size)])


def reached_roots(snapshot: Snapshot, providers: Providers) -> Mask:
    """Return the roots that have one of the providers in their tree or shared with it."""
    local, shared = providers
    return roots_of(snapshot, local) | roots_shared_with(snapshot, shared)


def roots_shared_with(snapshot: Snapshot, sharing: Mask) -> Mask:
    """Return the roots that have one of the sharing providers shared with them."""
    states = map(snapshot.entries.state, np.flatnonzero(sharing).tolist())
    aggregates = frozenset[str]().union(*(state.aggregates for state in states))
    return roots_in_aggregates(snapshot, aggregates)


def aggregates_of(snapshot: Snapshot, roots: Mask) -> frozenset[str]:
    """Return the aggregates of the trees of some roots."""
    trees = snapshot.tree_aggregates
    numbers = np.unique(trees.number[roots]).tolist()
    return frozenset[str]().union(*(trees.aggregates[number] for number in numbers))


def free_in_trees(snapshot: Snapshot, name: str) -> AmountArray:
    """Return for every root the sum of the allocatable amounts of a class in its tree."""
    column = snapshot.column(name)
    return sum_in_trees(snapshot, column.rows, column.allocatable.clip(0))


def sum_in_trees(snapshot: Snapshot, rows: Numbers, amounts: Numbers | AmountArray) -> AmountArray:
    """Return for every root the sum of the amounts of its tree.  As int64: 20 times faster."""
    total = np.zeros(snapshot.size, dtype=np.int64)
    np.add.at(total, snapshot.forest.root[rows], amounts.astype(np.int64))
    return total


@dataclass(frozen=True, slots=True, eq=False)
class GroupNeed:
    """The conditions of one need, and the providers that are considered for it.

    ``equipped`` are the roots that reach a provider with all classes.
    """

    conditions: tuple[Condition, ...]
    amounts: tuple[AmountCondition, ...]
    considered: Providers
    equipped: Mask

    def failures(self, waived: Container[str] = ()) -> Scores:
        """Return the number of requirements that every provider fails.

        A class, trait or aggregate that the provider does not have counts more than the amounts
        of a group: no smaller amount would fit either. A provider outside a tree that the request
        names is the last. The number is ``NO_PROVIDER`` for providers that are not considered.
        Amounts of ``waived`` classes do not count.
        """
        number: Scores = np.where(self.considered, np.float32(0), NO_PROVIDER)
        for condition in self.conditions:
            is_named = condition.requirement.named_provider is not None
            weight = OUTSIDE_NAMED_TREE if is_named else UNLIKE_OTHERS
            number += weight * ~meeting(condition)
        for amount in self.amounts:
            number += (UNLIKE_OTHERS - 1) * ~amount.present
            number += ~(amount.present if amount.resource_class in waived else amount.enough)
        return number

    def shortfall(self) -> NDArray[np.float32]:
        """Return for every row the largest missing fraction of an amount, at most 1."""
        short = np.zeros(len(self.equipped), dtype=np.float32)
        for condition in self.amounts:
            column = condition.column
            missing = np.full(len(short), 1, dtype=np.float32)
            free = column.allocatable.clip(0).astype(np.float32)
            missing[column.rows] = 1 - free / np.float32(min(condition.amount, MAX_FREE))
            missing[missing <= 0] = 1  # enough is free, but not in this unit
            missing[condition.enough] = 0
            np.maximum(short, missing, out=short)
        return short


@dataclass(frozen=True, slots=True, eq=False)
class Group:
    """A group with its needs, which differ only in their amounts.

    The provider of every need has to meet ``conditions``, which have no amount. ``together`` has
    conditions on traits that any one of the needs may meet.
    """

    requested: RequestGroup
    needs: tuple[GroupNeed, ...]
    conditions: tuple[Condition, ...]
    together: tuple[Condition, ...]


def needs_of(
    snapshot: Snapshot, slotted: SlottedRequest, deadline: Deadline
) -> Iterator[GroupNeed]:
    """Yield the needs of the request; equal conditions are computed once.

    Raises: SearchDeadlineExceeded.
    """
    conditions_of = cache(lambda need: tuple(need_conditions(snapshot, need)))
    amount_of = cache(partial(AmountCondition.of, snapshot))
    root = snapshot.forest.root
    for need in slotted.needs:
        deadline.check()
        conditions = conditions_of(replace(need, resources=()))
        amounts = tuple(amount_of(name, amount) for name, amount in need.resources)
        present = [amount.present for amount in amounts]
        able = reduce(np.logical_and, present, all_providers(snapshot))
        equipped = reached_roots(snapshot, able)
        local = able[0] | (~equipped[root] & (root >= 0))
        yield GroupNeed(conditions, amounts, np.stack([local, able[1]]), equipped)


def groups_of(snapshot: Snapshot, slotted: SlottedRequest, deadline: Deadline) -> Iterator[Group]:
    """Yield the groups in the order of the query.  Raises: SearchDeadlineExceeded."""
    needs = list(needs_of(snapshot, slotted, deadline))
    for group in slotted.request.groups:
        deadline.check()
        of_group = tuple(needs[each.need] for each in slotted.slots if each.suffix == group.suffix)
        together = tuple(Condition.of(snapshot, each) for each in joint_requirements(group))
        yield Group(group, of_group, of_group[0].conditions, together)


# --- the conditions between the slots


def joint_conditions(slotted: SlottedRequest) -> Iterator[JointCondition]:
    """Yield the conditions between the slots, in the order of the funnel."""
    request = slotted.request
    for group in request.groups:
        for requirement in joint_requirements(group):
            yield TraitTogether(requirement, group)
    for name in SlottedRequest.of(request.without(Isolate())).contended:
        yield AmountTogether(name, request.groups)
    for condition in request.of_groups:
        if slotted.isolated or condition != Isolate():
            yield condition


def with_only(slotted: SlottedRequest, conditions: Collection[JointCondition]) -> SlottedRequest:
    """Return the request with only these of the conditions between its slots."""
    request = slotted.request
    for requirement in request.of_groups:
        if requirement not in conditions:
            request = request.without(requirement)
    loose = SlottedRequest.of(request)
    sums = [each for each in conditions if isinstance(each, AmountTogether)]
    lists = [each for each in conditions if isinstance(each, TraitTogether)]
    classes = {each.resource_class for each in sums}
    trait_lists = {frozenset(each.requirement.names) for each in lists}
    contended = {name: loose.contended[name] for name in loose.contended if name in classes}
    any_of = tuple(names for names in loose.any_of if names in trait_lists)
    return replace(loose, any_of=any_of, contended=contended)
