"""Which providers satisfy the need of a slot: array operations over all providers at once.

Each requirement is a *condition*: a reason code, parameter and value as the query spells them, and
the providers that meet it. The search intersects the conditions of a need;
``insight.explanation`` counts, lists and relaxes the same conditions.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, partial, reduce

import numpy as np

from placement.core.search.deadline import Deadline
from placement.core.search.slots import Need, SearchPlan
from placement.core.snapshot.columns import MAX_FREE, Column
from placement.core.snapshot.rows import NO_ROWS, Mask, Numbers, Rows, mask_of, numbers
from placement.core.snapshot.snapshot import Snapshot


@dataclass(frozen=True, slots=True, eq=False)
class Condition:
    """A requirement without an amount, and the providers that meet it.

    Two rules differ between the tree of a provider and the trees that it shares with: ``local``
    applies if the provider serves its tree, ``shared`` if a sharing provider serves another
    tree. ``names`` are the traits or the aggregates.
    """

    code: str
    parameter: str
    value: str
    local: Mask
    shared: Mask
    names: tuple[str, ...] = ()

    def spelled(self, suffix: str) -> str:
        """Return the requirement as the query spells it."""
        return f"{self.parameter}{suffix}={self.value}"


@dataclass(frozen=True, eq=False)
class AmountCondition:
    """An amount of one class; it fits on the providers in ``enough``.

    A provider can lack three things: an inventory of the class (``present``), limits of one
    allocation that admit the amount (``unit``), and as much free capacity (``free``), whether or
    not one allocation can have it all. The search needs ``enough`` only, which is all three.
    """

    resource_class: str
    amount: int
    column: Column
    size: int

    @classmethod
    def of(cls, snapshot: Snapshot, name: str, amount: int) -> "AmountCondition":
        """Return the condition of an amount of a class."""
        return cls(name, amount, snapshot.column(name), snapshot.size)

    @cached_property
    def enough(self) -> Mask:
        """The providers on which the amount fits."""
        return self.column.fitting(self.amount, self.size)

    @cached_property
    def present(self) -> Mask:
        """The providers with an inventory of the class."""
        return mask_of(self.column.rows, self.size)

    @cached_property
    def unit(self) -> Mask:
        """The providers whose min_unit, max_unit and step_size admit the amount."""
        return self.column.admitting(self.amount, self.size)

    @cached_property
    def free(self) -> Mask:
        """The providers with as much free capacity."""
        is_free = self.column.free >= min(self.amount, MAX_FREE)
        return mask_of(self.column.rows[is_free], self.size)

    @property
    def failing(self) -> Iterator[tuple[str, Mask]]:
        """The codes of the things that a provider can lack, with the providers that lack them."""
        yield "no_inventory", ~self.present
        yield "unit", self.present & ~self.unit
        yield "capacity", self.present & ~self.free

    def spelled(self, suffix: str) -> str:
        """Return the requirement as the query spells it."""
        return f"resources{suffix}={self.resource_class}:{self.amount}"


@dataclass(frozen=True, slots=True)
class Domain:
    """The providers that satisfy one need.

    ``local`` are the providers that satisfy it in their tree. ``shared`` are the rows of sharing
    providers that satisfy it for other trees; ``shared_by_aggregate`` has these rows by aggregate.
    """

    local: Mask
    shared: tuple[int, ...]
    shared_by_aggregate: Mapping[str, tuple[int, ...]]


def find_domains(snapshot: Snapshot, plan: SearchPlan, deadline: Deadline) -> list[Domain]:
    """Return the domain of each need of a plan.  Raises: SearchDeadlineExceeded."""
    # many needs have the same sharing providers
    by_aggregate = cache(partial(sharing_by_aggregate, snapshot))
    domains = []
    for need in plan.needs:
        deadline.check()
        domains.append(domain_of(snapshot, need, _enough(snapshot, need), by_aggregate))
    return domains


def find_domain(snapshot: Snapshot, need: Need) -> Domain:
    """Return the providers that satisfy a need. A few microseconds per 10,000 providers."""
    by_aggregate = partial(sharing_by_aggregate, snapshot)
    return domain_of(snapshot, need, _enough(snapshot, need), by_aggregate)


def _enough(snapshot: Snapshot, need: Need) -> Sequence[Mask]:
    return [AmountCondition.of(snapshot, *amount).enough for amount in need.resources]


def domain_of(
    snapshot: Snapshot,
    need: Need,
    amounts: Iterable[Mask],
    by_aggregate: Callable[[tuple[int, ...]], Mapping[str, tuple[int, ...]]],
) -> Domain:
    """Return the providers of all ``amounts`` that meet the conditions without an amount."""
    enough = reduce(np.logical_and, amounts, np.ones(snapshot.size, dtype=np.bool_))
    conditions = list(need_conditions(snapshot, need))
    local = reduce(np.logical_and, [condition.local for condition in conditions], enough)
    sharing = snapshot.sharing.numbers
    if not len(sharing):
        return Domain(local, (), {})
    able = [condition.shared[sharing] for condition in conditions]
    shared = tuple(sharing[reduce(np.logical_and, able, enough[sharing])].tolist())
    return Domain(local, shared, by_aggregate(shared))


def need_conditions(snapshot: Snapshot, need: Need) -> Iterator[Condition]:
    """Yield the conditions of a need without an amount, in the order of an explanation."""
    if need.not_member_of:
        yield _not_member_of(snapshot, need.not_member_of)
    if need.member_of:
        yield from _member_of(snapshot, need)
    if need.in_tree is not None:
        inside = mask_of(_tree_of(snapshot, need.in_tree), snapshot.size)
        shared = np.zeros_like(inside) if need.is_unsuffixed else inside
        yield Condition("in_tree", "in_tree", need.in_tree, inside, shared)
    for any_of in dict.fromkeys(need.required):
        yield having_one(snapshot, any_of)
    for name in sorted(need.forbidden):
        yield _not_having("forbidden_trait", "required", snapshot, name)


def root_conditions(snapshot: Snapshot, plan: SearchPlan) -> Iterator[Condition]:
    """Yield the conditions on the root that a candidate is built around."""
    request = plan.request
    for name in sorted(request.root_required):
        having = having_trait(snapshot, (name,))
        yield Condition("root_trait", "root_required", name, having, having, (name,))
    for name in sorted(request.root_forbidden):
        yield _not_having("root_trait", "root_required", snapshot, name)
    for group in request.groups:
        if not group.suffix and group.not_member_of:
            yield _not_member_of(snapshot, group.not_member_of)


def having_one(snapshot: Snapshot, any_of: frozenset[str]) -> Condition:
    """Return the condition that a provider has one of the traits."""
    having, names = having_trait(snapshot, any_of), tuple(sorted(any_of))
    return Condition("trait", "required", any_of_text(any_of), having, having, names)


def _not_having(code: str, parameter: str, snapshot: Snapshot, name: str) -> Condition:
    without = ~having_trait(snapshot, (name,))
    return Condition(code, parameter, f"!{name}", without, without, (name,))


def _not_member_of(snapshot: Snapshot, uuids: frozenset[str]) -> Condition:
    outside, value = ~in_aggregate(snapshot, uuids), f"!{any_of_text(uuids)}"
    names = tuple(sorted(uuids))
    return Condition("forbidden_aggregate", "member_of", value, outside, outside, names)


def _member_of(snapshot: Snapshot, need: Need) -> Iterator[Condition]:
    """Yield, for every ``member_of``, the condition that a provider is in one of its aggregates.

    In the unsuffixed group the root can be in the aggregates instead, for all of its tree. But one
    of the two must meet every ``member_of`` by itself: the last condition fails where each is met,
    some by the provider only and some by the root only.
    """
    lists = list(dict.fromkeys(need.member_of))
    members = [in_aggregate(snapshot, any_of) for any_of in lists]
    root = snapshot.forest.root
    spans = need.is_unsuffixed and snapshot.forest.is_nested
    local = [mask | mask[root] for mask in members] if spans else members
    for any_of, here, shared in zip(lists, local, members, strict=True):
        value, names = any_of_text(any_of), tuple(sorted(any_of))
        yield Condition("aggregate", "member_of", value, here, shared, names)
    if spans and len(lists) > 1:
        in_all = reduce(np.logical_and, members)
        together = in_all | in_all[root] | ~reduce(np.logical_and, local)
        value = "&member_of=".join(map(any_of_text, lists))
        names = tuple(sorted(frozenset().union(*lists)))
        yield Condition("aggregate", "member_of", value, together, in_all | True, names)


def any_of_text(names: Iterable[str]) -> str:
    """Return alternatives as a query spells them.

    >>> any_of_text({"A"}), any_of_text({"B", "A"})
    ('A', 'in:A,B')
    """
    ordered = sorted(names)
    return ordered[0] if len(ordered) == 1 else f"in:{','.join(ordered)}"


def having_trait(snapshot: Snapshot, names: Iterable[str]) -> Mask:
    """Return the providers that have at least one of the traits. Read-only."""
    return _any(snapshot.traits, names, snapshot.size)


def in_aggregate(snapshot: Snapshot, uuids: Iterable[str]) -> Mask:
    """Return the providers that are in at least one of the aggregates. Read-only."""
    return _any(snapshot.aggregates, uuids, snapshot.size)


def _tree_of(snapshot: Snapshot, uuid: str) -> Numbers:
    """Return the rows of the tree that a provider is in, none if there is no such provider."""
    row = snapshot.forest.row_of.get(uuid)
    if row is None:
        return numbers(())
    return numbers(snapshot.forest.members(snapshot.forest.root.item(row)))


def _any(sets: Mapping[str, Rows], names: Iterable[str], size: int) -> Mask:
    masks = [sets.get(name, NO_ROWS).mask(size) for name in names]
    return reduce(np.logical_or, masks) if masks else np.zeros(size, dtype=np.bool_)


def sharing_by_aggregate(
    snapshot: Snapshot, shared: Iterable[int]
) -> Mapping[str, tuple[int, ...]]:
    """Return the rows by aggregate."""
    members: defaultdict[str, list[int]] = defaultdict(list)
    for row in shared:
        for uuid in snapshot.entries.state(row).aggregates:
            members[uuid].append(row)
    return {uuid: tuple(rows) for uuid, rows in members.items()}
