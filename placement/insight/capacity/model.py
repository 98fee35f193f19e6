"""How often a shape can still be claimed, and on how many roots.

Roots that serve the shape as one provider with nothing shared are counted in closed form: the
least, over the classes, of what is free divided by what one claim takes. Around the others claims
are simulated (``simulation``). Beside the count stands a bound that no order of claims exceeds;
where both are equal the count is exact.

Free capacity is ``int((total - reserved) * allocation_ratio) - used``. ``min_unit``, ``max_unit``
and ``step_size`` decide whether a provider gives the amount at all.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from placement.core.request import CandidateRequest
from placement.core.search.anchors import anchors_by_kind, possible_anchors
from placement.core.search.deadline import Deadline
from placement.core.search.filters import Domain, find_domains
from placement.core.search.search import check_names
from placement.core.search.slots import SearchPlan
from placement.core.snapshot.rows import Amounts, Indices, Mask, Rows
from placement.core.snapshot.snapshot import Snapshot
from placement.exception import SearchDeadlineExceeded
from placement.insight.capacity.counts import Reading, Shape, considered, simulate

Name = TypeVar("Name")
FORMULA = "capacity = int((total - reserved) * allocation_ratio); free = capacity - used"


@dataclass(frozen=True, slots=True)
class Capacity:
    """What some roots can still take of a shape.

    ``claims`` fit one after another, never more than ``at_most``; ``roots`` have a candidate now.
    ``largest`` is the largest amount of a class that one claim gets from one provider, ``free``
    what is left in all, ``stranded`` what is left after the claims, ``limited_by`` for how many
    roots a class is the first to run out.
    """

    claims: int
    at_most: int
    roots: int
    largest: Mapping[str, int]
    free: Mapping[str, int]
    stranded: Mapping[str, int]
    limited_by: Mapping[str, int]

    @property
    def is_exact(self) -> bool:
        """Whether no order of claims could make more of them."""
        return self.claims == self.at_most


class CapacityOfRoots:
    """The capacity of every root that is considered, to be summed up over some of them.

    Cost: a few array operations for standalone roots, 10,000 of them within 10 ms; the others
    by ``simulation``, up to the deadline.
    Raises: UnknownTrait, UnknownResourceClass, SearchDeadlineExceeded.
    """

    def __init__(self, snapshot: Snapshot, request: CandidateRequest, deadline: Deadline) -> None:
        check_names(snapshot, request)
        self.snapshot = snapshot
        self._deadline = deadline
        self._shape = Shape.of(SearchPlan.of(request))
        self._considered = considered(snapshot, self._shape, deadline)
        self.rows: Indices = self._considered.roots
        domains = find_domains(snapshot, self._shape.plan, deadline)
        reading = Reading(snapshot, self._shape, self._considered, domains)
        self._by_class = {name: reading.of(name) for name in self._shape.totals}
        self._count(domains, deadline)

    def _count(self, domains: Sequence[Domain], deadline: Deadline) -> None:
        """Count the claims of each row, the roots that fit now, and the bounds."""
        snapshot, plan, size = self.snapshot, self._shape.plan, self.snapshot.size
        possible = possible_anchors(snapshot, plan, domains, deadline)
        anchors = anchors_by_kind(snapshot, plan, domains, possible)
        bounds = np.stack([of.bound for of in self._by_class.values()])
        self._limiting = np.argmin(bounds, axis=0)
        self._least: Amounts = bounds.min(axis=0)
        self.claims: Amounts = np.zeros(size, dtype=np.int64)
        self.claims[anchors.standalone] = self._least[anchors.standalone]
        self.bound: Amounts = self.claims.copy()
        self.fits: Mask = self.claims > 0
        self.is_finished = True
        if len(anchors.general) or len(anchors.shared_only):
            self._simulate(np.concatenate((anchors.general, anchors.shared_only)), deadline)

    def _simulate(self, roots: Indices, deadline: Deadline) -> None:
        outcome = simulate(self.snapshot, self._shape.plan, deadline)
        self.is_finished = outcome.is_finished
        for row, count in outcome.claims.items():
            self.claims[row] = count
        # roots with the same providers in reach and none of their own have the same candidates
        near = self.snapshot.tree_aggregates.number
        alike = {near.item(row) for row in outcome.fitting if not self._has_own(row)}
        for row in roots.tolist():
            is_alike = near.item(row) in alike and not self._has_own(row)
            self.fits[row] = row in outcome.fitting or is_alike
            if self.fits[row] or not outcome.is_finished:
                self.bound[row] = self._least[row]

    def _has_own(self, root: int) -> bool:
        return any(of.local.counted.item(root) > 0 for of in self._by_class.values())

    def of(self, roots: Indices) -> Capacity:
        """Return the capacity of some of the considered roots together."""
        claims = int(self.claims[roots].sum())
        free = {name: of.free_of(roots) for name, of in self._by_class.items()}
        return Capacity(
            claims=claims,
            at_most=max(claims, self._at_most(roots)),
            roots=int(self.fits[roots].sum()),
            largest={name: of.largest_of(roots) for name, of in self._by_class.items()},
            free=free,
            stranded={
                name: max(free[name] - claims * total, 0)
                for name, total in self._shape.totals.items()
            },
            limited_by=self._limited_by(roots),
        )

    def of_each(self, groups: Iterable[tuple[Name, Indices]]) -> Iterator[tuple[Name, Capacity]]:
        """Yield the capacity of each group of roots, until the deadline: see ``is_finished``."""
        for name, roots in groups:
            try:
                self._deadline.check()
            except SearchDeadlineExceeded:
                self.is_finished = False
                return
            yield name, self.of(roots)

    def of_root(self, row: int) -> Capacity:
        """Return the capacity of one considered root."""
        return self.of(np.array([row], dtype=np.intp))

    def _at_most(self, roots: Indices) -> int:
        """Return a bound: what is shared counts once for all roots that share it."""
        bounds = [of.bound_of(roots) for of in self._by_class.values() if of.is_shared]
        return min([int(self.bound[roots].sum()), *bounds])

    def _limited_by(self, roots: Indices) -> dict[str, int]:
        limited = roots[(self._least[roots] == 0) | self.fits[roots]]
        counts = np.bincount(self._limiting[limited], minlength=len(self._by_class))
        return {
            name: count
            for name, count in zip(self._by_class, counts.tolist(), strict=True)
            if count
        }


def by_aggregate(snapshot: Snapshot, rows: Indices) -> Iterator[tuple[str, Indices]]:
    """Yield the aggregates that any of the roots is in itself, with these roots."""
    yield from _grouped(snapshot.aggregates, snapshot, rows)


def by_root_trait(snapshot: Snapshot, rows: Indices, prefix: str) -> Iterator[tuple[str, Indices]]:
    """Yield the traits of this prefix that any of the roots has itself, with these roots."""
    named = {name: held for name, held in snapshot.traits.items() if name.startswith(prefix)}
    yield from _grouped(named, snapshot, rows)


def _grouped(
    sets: Mapping[str, Rows], snapshot: Snapshot, rows: Indices
) -> Iterator[tuple[str, Indices]]:
    for name in sorted(sets):
        roots = rows[sets[name].mask(snapshot.size)[rows]]
        if len(roots):
            yield name, roots
