"""The changes of a request after which a root fits.

A change requests the same amounts in other groups, lowers one amount to the largest amount for
which a root fits, or drops one requirement. The rest of the request is unchanged. Changes of two
requirements are tried only if no single change helps. A change in one of several equal groups is
tried in the first of them.
"""

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from placement.core.model import MAX_INT
from placement.core.request import CandidateRequest, RequestGroup
from placement.core.search.anchors import roots_of
from placement.core.search.slots import SearchPlan
from placement.core.snapshot.rows import Mask
from placement.core.snapshot.snapshot import Snapshot
from placement.insight.explanation.fitting_roots import FittingRoots
from placement.insight.explanation.funnel_facts import free_in_trees
from placement.insight.explanation.model import Remedy
from placement.insight.explanation.relaxations import (
    Relaxation,
    Suffixes,
    distinct_groups,
    distinct_relaxations,
    interchangeable,
    query_of,
    split,
    with_group,
    without_suffix,
)

MOST_PAIRS = 10
MOST_PARTS = 8

Lowered = tuple[Remedy, CandidateRequest]


class Remedies:
    """Tries changes of one request."""

    def __init__(
        self, snapshot: Snapshot, request: CandidateRequest, fitting_roots: FittingRoots
    ) -> None:
        self._snapshot = snapshot
        self._request = request
        self._fitting_roots = fitting_roots
        self._remedies: list[Remedy] = []

    @property
    def ordered(self) -> tuple[Remedy, ...]:
        """The remedies so far: the least changes first, then by the number of roots that fit."""
        return tuple(sorted(self._remedies, key=lambda remedy: (_size(remedy), -remedy.roots)))

    def run(self, fits: int) -> None:
        """Find remedies; ``fits`` is the number of roots that fit the unchanged request.

        Raises: SearchDeadlineExceeded; ``ordered`` has the remedies found until then.
        """
        if not fits and self._request.nested:
            self._remedies += self._regrouped()
        for relaxation, alike in distinct_relaxations(self._request):
            roots = self._roots(relaxation.request)
            if roots > fits:
                self._remedies.append(_drop(relaxation, alike, roots))
        if not fits:
            for remedy, _ in self._lowered(self._request):
                self._remedies.append(remedy)
        if not self._remedies and not fits:
            self._pairs()

    def _roots(self, request: CandidateRequest) -> int:
        return int(np.count_nonzero(self._fitting_roots.of(SearchPlan.of(request))))

    # --- the same amounts in other groups

    def _regrouped(self) -> Iterator[Remedy]:
        """Yield requests for the same amounts in more groups, or in the unsuffixed group."""
        for relaxation in without_suffix(self._request):
            if roots := self._roots(relaxation.request):
                yield replace(_drop(relaxation, (), roots), change="unsuffix")
        for group, alike in distinct_groups(self._request):
            for name in group.resources:
                yield from self._split(group, name, alike)

    def _split(self, group: RequestGroup, name: str, alike: Suffixes) -> Iterator[Remedy]:
        """Yield the request with an amount in the fewest groups for which a root fits."""
        amount = group.resources[name]
        if not self._has_together(name, amount):
            return
        for parts in range(2, min(amount, MOST_PARTS) + 1):
            changed = split(self._request, group, name, parts)
            if roots := self._roots(changed):
                yield Remedy(
                    change="split",
                    roots=roots,
                    query=query_of(changed),
                    group=group.suffix,
                    resource_class=name,
                    to=-(-amount // parts),
                    parts=parts,
                    alike=alike,
                )
                return

    def _has_together(self, name: str, amount: int) -> bool:
        """Return whether providers of one tree have an amount that none of them has alone."""
        column, forest = self._snapshot.columns.get(name), self._snapshot.forest
        if column is None or not forest.is_nested:
            return False
        alone = roots_of(self._snapshot, column.fitting(amount, self._snapshot.size))
        return bool((~alone & (free_in_trees(self._snapshot, name) >= amount)).any())

    # --- amounts

    def _lowered(self, request: CandidateRequest) -> Iterator[Lowered]:
        """Yield the request with one amount lowered as little as possible for a root to fit."""
        for group, alike in distinct_groups(request):
            for name in group.resources:
                amount = self._largest(request, group, name)
                if amount:
                    lowered = _with_amount(request, group, name, amount)
                    remedy = Remedy(
                        "amount",
                        self._roots(lowered),
                        query_of(lowered),
                        group=group.suffix,
                        resource_class=name,
                        to=amount,
                        alike=alike,
                    )
                    yield remedy, lowered

    def _largest(self, request: CandidateRequest, group: RequestGroup, name: str) -> int:
        """Return the largest amount below the requested amount for which a root fits, else 0."""
        column = self._snapshot.columns.get(name)
        best, below = 0, min(group.resources[name] - 1, MAX_INT)  # no inventory is larger
        for low, step in sorted(set(column.unit_rules)) if column else ():
            first, last = -(-max(low, best + 1) // step), below // step
            best = max(best, self._search(request, group, name, range(first, last + 1), step))
        return best

    def _search(
        self,
        request: CandidateRequest,
        group: RequestGroup,
        name: str,
        multiples: range,
        step: int,
    ) -> int:
        """Return the largest multiple of a step for which a root fits, else 0.

        If a multiple of the step does not fit a root, larger multiples do not fit the root.
        """

        def fitting(multiple: int) -> Mask:
            changed = _with_amount(request, group, name, multiple * step)
            return self._fitting_roots.of(SearchPlan.of(changed))

        if not multiples or not (with_least := fitting(multiples[0])).any():
            return 0
        high = min(multiples[-1], self._bound(name, with_least) // step)
        if fitting(high).any():
            return high * step
        too_large = bisect_left(
            range(high), True, multiples[0] + 1, key=lambda multiple: not fitting(multiple).any()
        )
        return (too_large - 1) * step

    def _bound(self, name: str, roots: Mask) -> int:
        """Return an upper bound of the amounts of the roots' providers and sharing providers."""
        column = self._snapshot.columns[name]
        reachable = roots[self._snapshot.forest.root[column.rows]]
        reachable |= self._snapshot.sharing.mask(self._snapshot.size)[column.rows]
        return int(column.allocatable[reachable].max(initial=0))

    # --- two changes

    def _pairs(self) -> None:
        """Find changes of two requirements that help together."""
        tried_pairs: set[frozenset[object]] = set()
        for pair in (*self._with_a_drop(), *self._of_amounts()):
            key = frozenset(map(_name, pair.changes))
            if key not in tried_pairs and len(self._remedies) < MOST_PAIRS:
                tried_pairs.add(key)
                self._remedies.append(pair)

    def _with_a_drop(self) -> Iterator[Remedy]:
        for relaxation, alike in distinct_relaxations(self._request):
            first = _drop(relaxation, alike)
            for both, others_alike in distinct_relaxations(relaxation.request):
                roots = self._roots(both.request)
                if roots:
                    yield _both(first, _drop(both, others_alike), roots, both.request)
            for lowered, request in self._lowered(relaxation.request):
                yield _both(first, lowered, lowered.roots, request)

    def _of_amounts(self) -> Iterator[Remedy]:
        """Yield pairs of lowered amounts.

        The second amount is the largest amount that fits with the smallest first amount.
        """
        for group, name, least in self._least_amounts():
            for second, _ in self._lowered(_with_amount(self._request, group, name, least)):
                if (second.group, second.resource_class) != (group.suffix, name):
                    yield from self._both_lowered(group, name, second)

    def _least_amounts(self) -> Iterator[tuple[RequestGroup, str, int]]:
        """Yield the smallest valid amounts of the units that are below the requested amounts."""
        for group, _ in distinct_groups(self._request):
            for name, amount in group.resources.items():
                column = self._snapshot.columns.get(name)
                for low, step in sorted(set(column.unit_rules)) if column else ():
                    least = -(-low // step) * step
                    if least < amount:
                        yield group, name, least

    def _both_lowered(self, group: RequestGroup, name: str, second: Remedy) -> Iterator[Remedy]:
        """Yield the pair with the largest first amount that fits with the second amount."""
        second_group = next(
            other for other in self._request.groups if other.suffix == second.group
        )
        request = _with_amount(self._request, second_group, second.resource_class, second.to)
        first_group = next(other for other in request.groups if other.suffix == group.suffix)
        amount = self._largest(request, first_group, name)
        if amount:
            both = _with_amount(request, first_group, name, amount)
            alike = interchangeable(self._request).get(group.suffix, ())
            first = Remedy(
                "amount", 0, group=group.suffix, resource_class=name, to=amount, alike=alike
            )
            yield _both(first, second, self._roots(both), both)


def _drop(relaxation: Relaxation, alike: Suffixes, roots: int = 0) -> Remedy:
    return Remedy(
        change="drop",
        roots=roots,
        query=query_of(relaxation.request),
        requirement=relaxation.requirement,
        instead=relaxation.instead,
        alike=alike,
    )


def _size(remedy: Remedy) -> int:
    """Return how much a remedy changes: other groups, a condition or an amount, or a resource."""
    if remedy.change in ("split", "unsuffix"):
        return 0
    return 2 if remedy.requirement.startswith("resources") else 1


def _both(first: Remedy, second: Remedy, roots: int, request: CandidateRequest) -> Remedy:
    """Return two changes together, without the roots and the query of the single changes."""
    changes = tuple(replace(change, roots=0, query="") for change in (first, second))
    return Remedy("both", roots, query_of(request), changes=changes)


def _name(remedy: Remedy) -> object:
    return remedy.requirement or (remedy.group, remedy.resource_class)


def _with_amount(
    request: CandidateRequest, group: RequestGroup, name: str, amount: int
) -> CandidateRequest:
    changed = replace(group, resources={**group.resources, name: amount})
    return with_group(request, changed)
