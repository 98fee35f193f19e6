"""The changes of a request after which a root fits.

A change requests the same amounts in other groups, lowers one amount to the largest amount for
which a root fits, or drops one requirement. The rest of the request is unchanged. Changes of two
requirements are tried only if no single change helps. A change in one of several equal groups is
tried in the first of them.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import TypeVar

import numpy as np

from placement.core.request import CandidateRequest, RequestGroup
from placement.core.search.anchors import roots_of
from placement.core.search.fitting_roots import FittingRoots
from placement.core.search.slots import SlottedRequest
from placement.core.snapshot.snapshot import Snapshot
from placement.microversion import Version
from placement_insight.explain.changes import (
    Both,
    Change,
    Drop,
    Lower,
    Regrouping,
    Remedy,
)
from placement_insight.explain.funnel_facts import free_in_trees
from placement_insight.explain.relaxations import (
    Suffixes,
    at_root,
    distinct_groups,
    query_of,
    separated,
    splits,
    with_amount,
    without_one,
    without_suffix,
)

MOST_PAIRS = 10

T = TypeVar("T", bound=Change)


class Remedies:
    """Tries changes of one request."""

    def __init__(
        self,
        snapshot: Snapshot,
        request: CandidateRequest,
        version: Version,
        fitting_roots: FittingRoots,
    ) -> None:
        self._snapshot = snapshot
        self._request = request
        self._version = version
        self._fitting_roots = fitting_roots
        self._remedies: list[Remedy[Change]] = []

    @property
    def ordered(self) -> tuple[Remedy[Change], ...]:
        """The remedies so far: the least changes first, then by the number of roots that fit."""
        return tuple(sorted(self._remedies, key=lambda each: (each.change.size, -each.roots)))

    def run(self, fits: int) -> None:
        """Find remedies; ``fits`` is the number of roots that fit the unchanged request.

        Raises: SearchDeadlineExceeded; ``ordered`` has the remedies found until then.
        """
        if not fits and self._request.nested:
            self._remedies += self._regrouped()
        self._remedies += self._helping(without_one(self._request), fits)
        if not fits:
            self._remedies += self._lowered(self._request)
            if not self._remedies:
                self._pairs()

    def _roots(self, request: CandidateRequest) -> int:
        return int(np.count_nonzero(self._fitting_roots.counted(SlottedRequest.of(request))))

    def _helping(
        self, changes: Iterable[tuple[T, CandidateRequest]], fits: int = 0
    ) -> Iterator[Remedy[T]]:
        """Yield the changes after which more roots fit, and that the microversion has."""
        for change, request in changes:
            query = query_of(request, self._version)
            if query and (roots := self._roots(request)) > fits:
                yield Remedy(change, roots, query)

    # --- the same amounts in other groups

    def _regrouped(self) -> Iterator[Remedy[Drop | Regrouping]]:
        """Yield requests for the same amounts in other groups, or with a trait of the root."""
        request, column = self._request, self._snapshot.column
        yield from self._helping(at_root(request))
        yield from self._helping(without_suffix(request))
        kinds = separated(request, lambda name: column(name).rows.tobytes())
        yield from islice(self._helping(kinds), 1)
        for group, alike in distinct_groups(request):
            for name, amount in group.resources.items():
                if self._has_together(name, amount):
                    yield from islice(self._helping(splits(request, group, name, alike)), 1)

    def _has_together(self, name: str, amount: int) -> bool:
        """Return whether providers of one tree have an amount that none of them has alone."""
        snapshot = self._snapshot
        if not snapshot.forest.is_nested:
            return False
        alone = roots_of(snapshot, snapshot.column(name).fitting(amount, snapshot.size))
        return bool((~alone & (free_in_trees(snapshot, name) >= amount)).any())

    # --- amounts

    def _lowered(self, request: CandidateRequest) -> Iterator[Remedy[Lower]]:
        """Yield the request with one amount lowered as little as possible for a root to fit."""
        for group, alike in distinct_groups(request):
            for name in group.resources:
                yield from self._lowered_amount(request, group, name, alike)

    def _lowered_amount(
        self, request: CandidateRequest, group: RequestGroup, name: str, alike: Suffixes
    ) -> Iterator[Remedy[Lower]]:
        if amount := self._largest(request, group, name):
            change = Lower(group.suffix, name, amount, alike=alike)
            yield from self._helping([(change, with_amount(request, group.suffix, name, amount))])

    def _largest(self, request: CandidateRequest, group: RequestGroup, name: str) -> int:
        """Return the largest amount below the requested amount for which a root fits, else 0.

        If a multiple of a step does not fit a root, larger multiples do not fit the root.
        """

        def is_too_large(amount: int) -> bool:
            return not self._roots(with_amount(request, group.suffix, name, amount))

        column = self._snapshot.column(name)
        best, largest = 0, int(column.allocatable.max(initial=0))
        below = min(group.resources[name] - 1, largest)
        for low, step in sorted(set(column.unit_rules)):
            first = -(-max(low, best + 1) // step) * step
            multiples = range(first, below + 1, step)
            if multiples and not is_too_large(multiples[0]):
                best = multiples[bisect_left(multiples, True, 1, key=is_too_large) - 1]
        return best

    # --- two changes

    def _pairs(self) -> None:
        """Find changes of two requirements that help together."""
        tried_pairs: set[frozenset[object]] = set()
        for remedy in chain(self._with_a_drop(), self._of_amounts()):
            key = frozenset({remedy.change.first.about, remedy.change.second.about})
            if key not in tried_pairs:
                tried_pairs.add(key)
                self._remedies.append(remedy)
            if len(self._remedies) == MOST_PAIRS:
                return

    def _with_a_drop(self) -> Iterator[Remedy[Both]]:
        for drop, request in without_one(self._request):
            seconds: Iterator[Remedy[Drop | Lower]]
            seconds = chain(self._helping(without_one(request)), self._lowered(request))
            for second in seconds:
                both = Both(drop, second.change)
                yield Remedy(both, second.roots, second.query)

    def _of_amounts(self) -> Iterator[Remedy[Both]]:
        """Yield pairs of lowered amounts.

        The second amount is the largest amount that fits with the smallest first amount; the first
        amount is the largest amount that fits with the second amount.
        """
        for group, alike, name, least in self._least_amounts():
            smallest = with_amount(self._request, group.suffix, name, least)
            for second in self._lowered(smallest):
                lower = second.change
                if (lower.group, lower.resource_class) != (group.suffix, name):
                    request = with_amount(
                        self._request, lower.group, lower.resource_class, lower.to
                    )
                    for first in self._lowered_amount(request, group, name, alike):
                        yield Remedy(Both(first.change, lower), first.roots, first.query)

    def _least_amounts(self) -> Iterator[tuple[RequestGroup, Suffixes, str, int]]:
        """Yield the smallest valid amounts of the units that are below the requested amounts."""
        for group, alike in distinct_groups(self._request):
            for name, amount in group.resources.items():
                for low, step in sorted(set(self._snapshot.column(name).unit_rules)):
                    least = -(-low // step) * step
                    if least < amount:
                        yield group, alike, name, least
