"""The requirements of a request, each as the providers that meet it.

The search combines the conditions on a provider into one mask; an explanation needs them one
by one. A condition has two masks over all rows, because two rules differ between the trees of a
provider and those that it shares with: ``local`` holds where the provider serves its own tree,
``shared`` where a sharing provider serves another one.

The groups of a request as an explanation looks at them: parts, each served by one provider.

A part is a slot of the plan: a suffixed group, or one class of the unsuffixed group. Which
requirement a tree fails depends on the providers that are looked at: a GPU has no VCPU and is
not expected to. So a part considers the providers that have all of its classes, at home or
shared; only where a tree can reach none of these, all providers of the tree.
"""

from collections import defaultdict
from collections.abc import Container, Iterator
from dataclasses import dataclass
from functools import cache, partial, reduce

import numpy as np
from numpy.typing import NDArray

from placement.core.request import RequestGroup
from placement.core.search.anchors import roots_in_aggregates, roots_with_local_option
from placement.core.search.deadline import Deadline
from placement.core.search.filters import (
    Domain,
    any_of_text,
    having_trait,
    in_aggregate,
    tree_of,
)
from placement.core.search.slots import Need, SearchPlan
from placement.core.snapshot.columns import MAX_FREE
from placement.core.snapshot.rows import Mask, mask_of
from placement.core.snapshot.snapshot import Snapshot


@dataclass(frozen=True, slots=True, eq=False)
class Providers:
    """Providers that can serve their own tree, and sharing ones that can serve other trees."""

    local: Mask
    shared: Mask

    def __and__(self, other: "Providers") -> "Providers":
        return Providers(self.local & other.local, self.shared & other.shared)

    def only(self, rows: Mask) -> "Providers":
        """Return those of the providers that are among the rows."""
        return Providers(self.local & rows, self.shared & rows)


@dataclass(frozen=True, slots=True, eq=False)
class Condition:
    """One requirement: its code, its text without the suffix, and the providers that meet it."""

    code: str
    parameter: str
    value: str
    met: Providers
    names: tuple[str, ...] = ()

    def spelled(self, suffix: str) -> str:
        """Return the requirement as the query spells it."""
        return f"{self.parameter}{suffix}={self.value}"


@dataclass(frozen=True, slots=True, eq=False)
class ClassConditions:
    """What an amount of one class requires of a provider, in the order in which it is checked.

    ``present``: has an inventory; ``unit``: min_unit, max_unit and step_size admit the amount;
    ``free``: that much is free, even if not in one allocation; ``enough``: all three. None of the
    first three includes another one.
    """

    resource_class: str
    amount: int
    present: Mask
    unit: Mask
    free: Mask
    enough: Mask

    @property
    def failing(self) -> Iterator[tuple[str, Mask]]:
        """The codes of what a provider can lack, each with the providers that lack it."""
        yield "no_inventory", ~self.present
        yield "unit", self.present & ~self.unit
        yield "capacity", self.present & ~self.free

    def spelled(self, suffix: str) -> str:
        """Return the requirement as the query spells it."""
        return f"resources{suffix}={self.resource_class}:{self.amount}"


def kind_conditions(snapshot: Snapshot, need: Need) -> Iterator[Condition]:
    """Yield the conditions on the kind of provider, in the order of the funnel."""
    if need.not_member_of:
        value = f"!{any_of_text(need.not_member_of)}"
        met = _alike(~in_aggregate(snapshot, need.not_member_of))
        names = tuple(sorted(need.not_member_of))
        yield Condition("forbidden_aggregate", "member_of", value, met, names)
    yield from _memberships(snapshot, need)
    if need.in_tree is not None:
        yield Condition("in_tree", "in_tree", need.in_tree, _in_tree(snapshot, need))
    for any_of in dict.fromkeys(need.required):
        yield trait_condition(snapshot, any_of)
    for name in sorted(need.forbidden):
        met = _alike(~having_trait(snapshot, (name,)))
        yield Condition("forbidden_trait", "required", f"!{name}", met, (name,))


def trait_condition(snapshot: Snapshot, any_of: frozenset[str]) -> Condition:
    """Return the condition that a provider has one of the traits."""
    met = _alike(having_trait(snapshot, any_of))
    return Condition("trait", "required", any_of_text(any_of), met, tuple(sorted(any_of)))


def class_conditions(snapshot: Snapshot, name: str, amount: int) -> ClassConditions:
    """Return the conditions of an amount of one class."""
    size, column = snapshot.size, snapshot.columns.get(name)
    if column is None:
        no_providers = np.zeros(size, dtype=np.bool_)
        return ClassConditions(name, amount, *[no_providers] * 4)
    return ClassConditions(
        name,
        amount,
        present=mask_of(column.rows, size),
        unit=column.admitting(amount, size),
        free=mask_of(column.rows[column.free >= min(amount, MAX_FREE)], size),
        enough=column.fitting(amount, size),
    )


def _alike(met: Mask) -> Providers:
    return Providers(met, met)


def _in_tree(snapshot: Snapshot, need: Need) -> Providers:
    inside = mask_of(tree_of(snapshot, need.in_tree or ""), snapshot.size)
    return Providers(inside, inside & False if need.is_unsuffixed else inside)


def _memberships(snapshot: Snapshot, need: Need) -> Iterator[Condition]:
    """Yield a condition for each list of aggregates.

    In the unsuffixed group the root's aggregates count for its tree, but only if they meet all
    lists: that is a condition of its own, which fails only where each list by itself is met.
    """
    lists = tuple(dict.fromkeys(need.member_of))
    members = [in_aggregate(snapshot, any_of) for any_of in lists]
    spanned = [_spanned(snapshot, need, member) for member in members]
    for any_of, member, local in zip(lists, members, spanned, strict=True):
        met = Providers(local, member)
        yield Condition("aggregate", "member_of", any_of_text(any_of), met, tuple(sorted(any_of)))
    if len(members) > 1 and need.is_unsuffixed and snapshot.forest.is_nested:
        together = _spanned(snapshot, need, reduce(np.logical_and, members))
        together = together | ~reduce(np.logical_and, spanned)
        value = "&member_of=".join(map(any_of_text, lists))
        met = Providers(together, np.ones(snapshot.size, dtype=np.bool_))
        names = tuple(sorted(frozenset().union(*lists)))
        yield Condition("aggregate", "member_of", value, met, names)


def _spanned(snapshot: Snapshot, need: Need, member: Mask) -> Mask:
    """Return the providers that count as members at their own root."""
    if not need.is_unsuffixed or not snapshot.forest.is_nested:
        return member
    spanned: Mask = member | member[snapshot.forest.root]
    return spanned


class Reach:
    """From providers to the roots that they can serve."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._sharing = snapshot.sharing.numbers
        self._aggregates = [
            snapshot.entries.state(row).aggregates for row in self._sharing.tolist()
        ]
        self._no_providers = np.zeros(snapshot.size, dtype=np.bool_)
        self._in_aggregates = cache(partial(roots_in_aggregates, snapshot))

    @property
    def all_providers(self) -> Providers:
        """All providers in their own trees; the sharing ones also for other trees."""
        return Providers(
            self._snapshot.forest.root >= 0,
            mask_of(self._sharing, self._snapshot.size)
            if len(self._sharing)
            else self._no_providers,
        )

    def roots(self, providers: Providers) -> Mask:
        """Return the roots that have one of the providers in their tree or shared with it."""
        local = self.local_roots(providers.local)
        return local | self.shared_roots(providers.shared) if len(self._sharing) else local

    def local_roots(self, rows: Mask) -> Mask:
        """Return the roots with one of the rows in their tree."""
        return roots_with_local_option(self._snapshot, Domain(rows, (), {}))

    def shared_roots(self, rows: Mask) -> Mask:
        """Return the roots that one of the rows shares with."""
        shares = frozenset[str]().union(
            *(
                aggregates
                for shared, aggregates in zip(rows[self._sharing], self._aggregates, strict=True)
                if shared
            )
        )
        return self._in_aggregates(shares)


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
