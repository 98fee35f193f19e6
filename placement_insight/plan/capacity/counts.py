"""The capacity of single roots for a shape: sums by resource class, and simulated claims.

A *shape* is one future claim, written as a query for candidates. A root is *considered* if it
meets all requirements of the shape except the amounts: somewhere in its tree, or shared with it,
every need finds a provider that has the classes, the traits and the aggregates.

``ClassCapacity`` sums up one resource class by root. Arrays are over all rows, int64, with values
at the rows of roots. Amounts of sharing providers are separate: they count once for all roots that
the provider is shared with.

``simulate`` claims on a snapshot, one claim after another, for roots that no closed form counts.
Every root takes the first candidate that the search returns for it as often as the candidate
fits, then the next candidate, until the search returns no candidate. The simulation works in
rounds, for all roots at once. A round finds the domains once, and one solution for every root
that still has a candidate.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial, reduce

import numpy as np

from placement.core.search.anchors import find_anchors
from placement.core.search.candidate_streams import first_assignments
from placement.core.search.deadline import Deadline
from placement.core.search.filters import (
    AmountCondition,
    Domain,
    domain_of,
    find_domains,
    sharing_by_aggregate,
)
from placement.core.search.problems import ProblemBuilder
from placement.core.search.slots import SlottedRequest
from placement.core.snapshot.rows import AmountArray, Indices, Mask
from placement.core.snapshot.snapshot import Snapshot
from placement_insight.plan.hypothetical import Taken, amounts_of, claimed, free_by_row

MAX_AMOUNT = 2**63 - 1
"""More than all providers have free; a sum of requested amounts may be larger."""


def capable_domains(snapshot: Snapshot, slotted: SlottedRequest) -> list[Domain]:
    """Return the providers that meet each need if amounts are ignored."""
    by_aggregate = cache(partial(sharing_by_aggregate, snapshot))
    domains = []
    for need in slotted.needs:
        present = [AmountCondition.of(snapshot, *amount).present for amount in need.resources]
        domains.append(domain_of(snapshot, need, present, by_aggregate))
    return domains


def simulate(
    snapshot: Snapshot, slotted: SlottedRequest, deadline: Deadline
) -> Iterator[tuple[int, int]]:
    """Yield the claims on the roots that do not serve the request as a single provider, by round.

    Raises: SearchDeadlineExceeded.
    """
    while True:
        deadline.check()
        this_round = Round(snapshot, slotted, deadline)
        yield from this_round.claims(this_round.others, MAX_AMOUNT)
        if not this_round.taken:
            break
        snapshot = claimed(snapshot, this_round.taken)


class Round:
    """One solution for every root, taken as often as it fits.

    ``standalone`` and ``others`` are the roots that may have a solution. On a standalone root one
    provider serves all slots.
    """

    def __init__(self, snapshot: Snapshot, slotted: SlottedRequest, deadline: Deadline) -> None:
        domains = find_domains(snapshot, slotted, deadline)
        anchors = find_anchors(snapshot, slotted, domains, deadline)
        self.standalone, self.others = anchors.standalone, anchors.others
        self._problems = ProblemBuilder(snapshot, slotted, domains)
        self._deadline = deadline
        self._slots = slotted.slots
        self._free = cache(partial(free_by_row, snapshot))
        self.taken: defaultdict[tuple[str, int], int] = defaultdict(int)

    def claims(
        self, roots: Indices, most: int, quotas: AmountArray | None = None
    ) -> Iterator[tuple[int, int]]:
        """Yield the roots that have a candidate, and the number of claims, in this order.

        There are at most ``most`` claims, and on each row at most as many as ``quotas`` has. The
        number is 0 if claims on other roots took the capacity in this round.
        """
        for anchor, rows in first_assignments(self._problems, roots, self._deadline):
            amounts = amounts_of(self._slots, rows)
            count = self._take(amounts, most if quotas is None else min(most, quotas.item(anchor)))
            yield anchor, count
            most -= count
            if not most:
                return

    def _take(self, amounts: Taken, most: int) -> int:
        count = most if amounts else 0
        for (name, row), amount in amounts.items():
            left = self._free(name).item(row) - self.taken.get((name, row), 0)
            count = min(count, left // amount)
        for key, amount in amounts.items() if count else ():
            self.taken[key] += count * amount
        return count


@dataclass(frozen=True, slots=True)
class OfProviders:
    """The amounts of providers, by row.

    ``free`` is the free amount, ``largest`` the largest amount of one claim. If one slot of the
    shape requests the class, ``counted`` is the number of claims that the provider can serve. If
    several slots request the class, ``counted`` is the free amount.
    """

    free: AmountArray
    largest: AmountArray
    counted: AmountArray


@dataclass(frozen=True, slots=True)
class ClassCapacity:
    """One class: sums over the trees of roots, and the sharing providers that roots can use.

    ``bound`` is the number of claims for which a root has enough of the class. ``total`` is the
    amount of one claim, ``claim`` the part of ``counted`` that one claim takes. ``sharing`` has
    the rows of sharing providers by the number of the set of aggregates. ``capable`` are the
    providers that meet the needs with the class if amounts are ignored, ``able`` those that meet
    them now; both with sharing providers. ``reachable`` is the free amount that each root has with
    the sharing providers that it can use.
    """

    local: OfProviders
    bound: AmountArray
    total: int
    claim: int
    providers: OfProviders
    sharing: Mapping[int, Sequence[int]]
    capable: Mask
    able: Mask
    reachable: AmountArray
    snapshot: Snapshot

    @classmethod
    def of(
        cls,
        snapshot: Snapshot,
        slotted: SlottedRequest,
        name: str,
        capable: Sequence[Domain],
        domains: Sequence[Domain],
    ) -> "ClassCapacity":
        """Return the capacity of a class that the shape requests.

        ``domains`` are the domains of the needs, ``capable`` the domains if amounts are ignored.
        Cost: a few array operations, and one operation for every sharing provider.
        """
        slots = [slot for slot in slotted.slots if name in dict(slot.resources)]
        needs, is_single = {slot.need for slot in slots}, len(slots) == 1
        total = sum(dict(slot.resources)[name] for slot in slots)
        amount = min(total, MAX_AMOUNT)
        capable, domains = ([each[need] for need in needs] for each in (capable, domains))
        able = _any([domain.local for domain in domains])
        free = free_by_row(snapshot, name)
        counted = np.where(able, free // amount if is_single else free, 0)
        providers = OfProviders(free, largest_by_row(snapshot, name), counted)
        local = _by_tree(snapshot, providers, _any([domain.local for domain in capable]))
        sharing = dict(_sharing(snapshot, capable))
        claim = 1 if is_single else amount
        return cls(
            local=local,
            bound=(local.counted + _shared_by_root(snapshot, counted, sharing)) // claim,
            total=total,
            claim=claim,
            providers=providers,
            sharing=sharing,
            capable=_with_sharing(capable),
            able=_with_sharing(domains),
            reachable=local.free + _shared_by_root(snapshot, free, sharing),
            snapshot=snapshot,
        )

    def free_of(self, roots: Indices) -> int:
        """Return the free amount in the trees of the roots and of their sharing providers."""
        shared = sum(self.providers.free.item(row) for row in self._shared(roots))
        return int(self.local.free[roots].sum()) + shared

    def largest_of(self, roots: Indices) -> int:
        """Return the largest amount that one claim can get from one provider of the roots."""
        shared = [self.providers.largest.item(row) for row in self._shared(roots)]
        return max([int(self.local.largest[roots].max(initial=0)), *shared])

    def bound_of(self, roots: Indices) -> int:
        """Return the number of claims for which all roots together have enough of the class."""
        shared = sum(self.providers.counted.item(row) for row in self._shared(roots))
        return (int(self.local.counted[roots].sum()) + shared) // self.claim

    def of_roots(self, roots: Mask) -> Mask:
        """Return the capable providers of the roots' trees, and all that are shared."""
        return self.capable & (roots[self.snapshot.forest.root] | self.is_sharing)

    @property
    def is_sharing(self) -> Mask:
        """The providers that share the class."""
        mask = np.zeros(self.snapshot.size, dtype=np.bool_)
        mask[[row for rows in self.sharing.values() for row in rows]] = True
        return mask

    def _shared(self, roots: Indices) -> Iterator[int]:
        """Yield the sharing providers that the roots can use and that are not in their trees."""
        if not self.sharing:
            return
        root_rows, root = set(roots.tolist()), self.snapshot.forest.root
        numbers = np.unique(self.snapshot.tree_aggregates.number[roots]).tolist()
        rows = {row for number in numbers for row in self.sharing.get(number, ())}
        yield from (row for row in rows if root.item(row) not in root_rows)


def _by_tree(snapshot: Snapshot, providers: OfProviders, capable: Mask) -> OfProviders:
    """Return the sums, and the largest amount, of the capable providers of every tree."""
    rows = np.flatnonzero(capable)
    root = snapshot.forest.root[rows]
    free, largest, counted = (np.zeros(snapshot.size, dtype=np.int64) for _ in range(3))
    np.add.at(free, root, providers.free[rows])
    np.maximum.at(largest, root, providers.largest[rows])
    np.add.at(counted, root, providers.counted[rows])
    return OfProviders(free, largest, counted)


def _sharing(snapshot: Snapshot, capable: Sequence[Domain]) -> Iterator[tuple[int, Sequence[int]]]:
    """Yield the sharing providers of every set of aggregates that has sharing providers."""
    if not any(domain.shared for domain in capable):
        return
    for number, aggregates in enumerate(snapshot.tree_aggregates.aggregates):
        rows = {
            row
            for domain in capable
            for uuid in aggregates
            for row in domain.shared_by_aggregate.get(uuid, ())
        }
        if rows:
            yield number, sorted(rows)


def _shared_by_root(
    snapshot: Snapshot, counted: AmountArray, sharing: Mapping[int, Sequence[int]]
) -> AmountArray:
    """Return the sum of ``counted`` over the providers that other trees share with a root."""
    sums = np.zeros(snapshot.size, dtype=np.int64)
    if not sharing:
        return sums
    numbers, root = snapshot.tree_aggregates.number, snapshot.forest.root
    by_number = np.zeros(len(snapshot.tree_aggregates.aggregates), dtype=np.int64)
    for number, rows in sharing.items():
        by_number[number] = counted[rows].sum()
    roots = np.flatnonzero(snapshot.forest.is_root)
    sums[roots] = by_number[numbers[roots]]
    for row in {row for rows in sharing.values() for row in rows}:
        root_row = root.item(row)
        if row in sharing.get(numbers.item(root_row), ()):
            sums[root_row] -= counted.item(row)
    return sums


def largest_by_row(snapshot: Snapshot, name: str) -> AmountArray:
    """Return the largest amount of a class that one claim gets in every row."""
    amounts = np.zeros(snapshot.size, dtype=np.int64)
    column = snapshot.columns.get(name)
    if column is not None:
        low, step = np.array(column.unit_rules, dtype=np.int64).T[:, column.unit_rule]
        amount = np.maximum(column.allocatable, 0) // step * step
        amounts[column.rows] = np.where(amount >= low, amount, 0)
    return amounts


def _with_sharing(domains: Sequence[Domain]) -> Mask:
    providers = _any([domain.local for domain in domains])
    for domain in domains:
        providers[list(domain.shared)] = True
    return providers


def _any(masks: Sequence[Mask]) -> Mask:
    return reduce(np.logical_or, masks, np.zeros_like(masks[0]))
