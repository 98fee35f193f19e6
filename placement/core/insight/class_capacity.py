"""One resource class of a shape, summed up by root.

Arrays are over all rows, int64, with values at the rows of roots. What sharing providers have is
kept apart: it counts once for all roots that it is shared with.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np

from placement.core.insight.shape import Considered, Shape
from placement.core.insight.simulation import free_by_row
from placement.core.search.filters import Domain
from placement.core.snapshot.rows import Amounts, Indices, Mask, Numbers, distinct
from placement.core.snapshot.snapshot import Snapshot

MAX_AMOUNT = 2**63 - 1
"""More than all providers have free; a sum of requested amounts may be larger."""


@dataclass(frozen=True, slots=True)
class OfProviders:
    """By row: what a provider has free, what one claim gets at most, and what counts for claims.

    If one slot of the shape wants the class, ``counted`` is the number of claims that the
    provider can give; otherwise its free amount, which several slots take.
    """

    free: Amounts
    largest: Amounts
    counted: Amounts


@dataclass(frozen=True, slots=True)
class ClassCapacity:
    """One class: sums over the trees of roots, and the sharing providers that each root can use.

    ``bound`` is how many claims a root can get of the class, ``claim`` what a claim takes of
    ``counted``. ``sharing`` has the rows of sharing providers by the number of the set of
    aggregates.
    """

    local: OfProviders
    bound: Amounts
    claim: int
    providers: OfProviders
    sharing: Mapping[int, Sequence[int]]
    numbers: Numbers
    root: Numbers

    def free_of(self, roots: Indices) -> int:
        """Return what is free in the trees of the roots and shared with them."""
        shared = sum(self.providers.free.item(row) for row in self._shared(roots))
        return int(self.local.free[roots].sum()) + shared

    def largest_of(self, roots: Indices) -> int:
        """Return the largest amount that one claim can get from one provider there."""
        shared = [self.providers.largest.item(row) for row in self._shared(roots)]
        return max([int(self.local.largest[roots].max(initial=0)), *shared])

    def bound_of(self, roots: Indices) -> int:
        """Return how many claims all roots together can get of the class."""
        shared = sum(self.providers.counted.item(row) for row in self._shared(roots))
        return (int(self.local.counted[roots].sum()) + shared) // self.claim

    @property
    def is_shared(self) -> bool:
        """Whether some provider shares the class."""
        return bool(self.sharing)

    def _shared(self, roots: Indices) -> Iterator[int]:
        """Yield the sharing providers that the roots can use and that are not in their trees."""
        if not self.sharing:
            return
        own = set(roots.tolist())
        numbers = distinct(self.numbers[roots]).values.tolist()
        rows = {row for number in numbers for row in self.sharing.get(number, ())}
        yield from (row for row in rows if self.root.item(row) not in own)


@dataclass(frozen=True, slots=True)
class Reading:
    """Reads the classes of a shape from a snapshot, the roots and the needs being known."""

    snapshot: Snapshot
    shape: Shape
    considered: Considered
    domains: Sequence[Domain]

    def of(self, name: str) -> ClassCapacity:
        """Return the capacity of a class.

        Cost: a few array operations, and one for each sharing provider.
        """
        needs, total = self.shape.needs[name], min(self.shape.totals[name], MAX_AMOUNT)
        is_single = name in self.shape.single
        capable = [self.considered.capable[need] for need in needs]
        able = _any([self.domains[need].local for need in needs])
        free = free_by_row(self.snapshot, name)
        providers = OfProviders(
            free,
            largest_by_row(self.snapshot, name),
            np.where(able, free // total if is_single else free, 0),
        )
        local = self._local(providers, _any([domain.local for domain in capable]))
        sharing = dict(self._sharing(capable))
        claim = 1 if is_single else total
        return ClassCapacity(
            local=local,
            bound=(local.counted + self._shared_by_root(providers.counted, sharing)) // claim,
            claim=claim,
            providers=providers,
            sharing=sharing,
            numbers=self.snapshot.tree_aggregates.number,
            root=self.snapshot.forest.root,
        )

    def _local(self, providers: OfProviders, capable: Mask) -> OfProviders:
        """Return the sums, and the largest amount, over each tree."""
        rows = np.flatnonzero(capable)
        root, size = self.snapshot.forest.root[rows], self.snapshot.size
        free, largest, counted = (np.zeros(size, dtype=np.int64) for _ in range(3))
        np.add.at(free, root, providers.free[rows])
        np.maximum.at(largest, root, providers.largest[rows])
        np.add.at(counted, root, providers.counted[rows])
        return OfProviders(free, largest, counted)

    def _sharing(self, capable: Sequence[Domain]) -> Iterator[tuple[int, Sequence[int]]]:
        """Yield the sharing providers of each set of aggregates that has any."""
        if not any(domain.shared for domain in capable):
            return
        for number, aggregates in enumerate(self.snapshot.tree_aggregates.aggregates):
            rows = {
                row
                for domain in capable
                for uuid in aggregates
                for row in domain.shared_by_aggregate.get(uuid, ())
            }
            if rows:
                yield number, sorted(rows)

    def _shared_by_root(self, counted: Amounts, sharing: Mapping[int, Sequence[int]]) -> Amounts:
        """Return what is shared with each root by providers of other trees."""
        sums = np.zeros(self.snapshot.size, dtype=np.int64)
        if not sharing:
            return sums
        numbers, root = self.snapshot.tree_aggregates.number, self.snapshot.forest.root
        by_number = np.zeros(len(self.snapshot.tree_aggregates.aggregates), dtype=np.int64)
        for number, rows in sharing.items():
            by_number[number] = counted[rows].sum()
        roots = np.flatnonzero(self.snapshot.forest.is_root)
        sums[roots] = by_number[numbers[roots]]
        for row in {row for rows in sharing.values() for row in rows}:
            own = root.item(row)
            if row in sharing.get(numbers.item(own), ()):
                sums[own] -= counted.item(row)
        return sums


def largest_by_row(snapshot: Snapshot, name: str) -> Amounts:
    """Return the largest amount of a class that one claim gets in each row."""
    dense = np.zeros(snapshot.size, dtype=np.int64)
    column = snapshot.columns.get(name)
    if column is not None:
        low, step = np.array(column.unit_rules, dtype=np.int64).T[:, column.unit_rule]
        amount = np.maximum(column.allocatable, 0) // step * step
        dense[column.rows] = np.where(amount >= low, amount, 0)
    return dense


def _any(masks: Sequence[Mask]) -> Mask:
    return reduce(np.logical_or, masks, np.zeros_like(masks[0]))
