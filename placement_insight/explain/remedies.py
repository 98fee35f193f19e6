"""The changes of a request after which a root fits.

Each requests the same amounts in other groups, lowers one amount, or drops one requirement. Two
are tried only if no single change helps. Of equal groups, the first is changed.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate, chain, count, islice
from typing import TypeVar

import numpy as np

from placement.core.request import CandidateRequest, RequestGroup
from placement.core.requirement import (
    Amount,
    GroupsRequirement,
    RequiredTrait,
    Requirement,
    RootTrait,
    SameSubtree,
)
from placement.core.search.anchors import roots_of
from placement.core.search.fitting_roots import FittingRoots
from placement.core.search.slots import SlottedRequest, joint_requirements
from placement.core.snapshot.snapshot import Snapshot
from placement.microversion import Version
from placement_insight.explain.changes import (
    Both,
    Change,
    Drop,
    GroupParameters,
    Lower,
    Regrouping,
    Remedy,
    Separate,
    Split,
    Unsuffix,
    parameters_of_groups,
    query_of,
)
from placement_insight.explain.groups import sum_in_trees

MOST_PAIRS = 10
MOST_PARTS = 8
MOST_TREES = 20

T = TypeVar("T", bound=Change)

Suffixes = tuple[str, ...]

Relaxation = tuple[Drop, CandidateRequest]
"""A requirement or a group that is dropped, and the request without it."""


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
                if trees := self._having_together(name, amount):
                    divided = splits(request, group, name, alike, trees)
                    yield from islice(self._helping(divided), 1)

    def _having_together(self, name: str, amount: int) -> list[list[int]]:
        """Return the allocatable amounts of trees that have an amount on no provider alone.

        At most ``MOST_TREES``, those with the most free.
        """
        snapshot, column = self._snapshot, self._snapshot.column(name)
        alone = roots_of(snapshot, column.fitting(amount, snapshot.size))
        free = sum_in_trees(snapshot, column.rows, column.allocatable.clip(0))
        together = np.flatnonzero(~alone & (free >= amount))
        most = together[np.argsort(-free[together], kind="stable")][:MOST_TREES]
        tree_of = snapshot.forest.root[column.rows]
        return [column.allocatable[tree_of == root].tolist() for root in most]

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


# --- changed requests


def without_one(request: CandidateRequest) -> Iterator[Relaxation]:
    """Yield the request without one of its requirements; of equal groups, the first one's."""
    suffixes = {"": (), **{group.suffix: alike for group, alike in distinct_groups(request)}}
    for change, relaxed in every_relaxation(request):
        if change.group in suffixes:
            yield replace(change, alike=suffixes[change.group]), relaxed


def every_relaxation(request: CandidateRequest) -> Iterator[Relaxation]:
    """Yield the request without one of its requirements, for every requirement.

    The only requirement of a group cannot be dropped: the API has no empty groups. A whole group
    can be dropped if other groups with resources remain and no ``same_subtree`` names the group;
    a group without resources is dropped from its ``same_subtree`` as well.
    """
    for requirement in request.of_root:
        yield Drop(requirement), request.without(requirement)
    for group in request.groups:
        for dropped, relaxed in _group_without_one(group):
            if relaxed.resources or relaxed.requirements:
                yield Drop(dropped, group.suffix), request.with_group(relaxed)
    yield from _without_a_group(request)
    for condition in request.of_groups:
        if condition.parameter:
            yield _without_condition(request, condition)


def _without_condition(request: CandidateRequest, condition: GroupsRequirement) -> Relaxation:
    """Return the request without a requirement on several groups, and what the API then requires.

    A ``same_subtree`` has to name every group without resources. A ``same_subtree`` of a single
    group is no condition.
    """
    looser = _naming_all(request.without(condition))
    before = set(parameters_of_groups(request))
    instead = (each for each in parameters_of_groups(looser) if each not in before)
    return Drop(condition, instead=tuple(instead)), looser


def _naming_all(request: CandidateRequest) -> CandidateRequest:
    """Return the request in which a ``same_subtree`` names every group without resources."""
    named = frozenset[str]().union(*request.same_subtree)
    bare = (group.suffix for group in request.groups if not group.resources)
    alone = (SameSubtree(frozenset({suffix})) for suffix in bare if suffix not in named)
    return replace(request, requirements=(*request.requirements, *alone))


def _without_a_group(request: CandidateRequest) -> Iterator[Relaxation]:
    related = frozenset[str]().union(*request.named_groups)
    for group in request.groups:
        others = tuple(other for other in request.groups if other is not group)
        of_subtrees = sum(group.suffix in suffixes for suffixes in request.same_subtree)
        of_all = sum(group.suffix in suffixes for suffixes in request.named_groups)
        if not group.resources and 0 < of_subtrees == of_all:
            yield _without_bare_group(replace(request, groups=others), group)
        elif group.suffix not in related and any(other.resources for other in others):
            relaxed = replace(request, groups=others)
            yield Drop(GroupParameters(group), group.suffix), relaxed


def _without_bare_group(request: CandidateRequest, group: RequestGroup) -> Relaxation:
    """Return the request in which no ``same_subtree`` names a removed group without resources."""
    naming = [each for each in request.subtrees if group.suffix in each.suffixes]
    fewer = (SameSubtree(each.suffixes - {group.suffix}) for each in naming)
    instead = tuple(dict.fromkeys(each for each in fewer if each.can_fail))
    for subtree in naming:
        request = request.without(subtree)
    request = replace(request, requirements=(*request.requirements, *instead))
    parameters = GroupParameters(group, tuple(dict.fromkeys(naming)))
    return Drop(parameters, group.suffix, instead), _naming_all(request)


def _group_without_one(group: RequestGroup) -> Iterator[tuple[Requirement, RequestGroup]]:
    for name, amount in group.resources.items() if len(group.resources) > 1 else ():
        resources = {other: n for other, n in group.resources.items() if other != name}
        yield Amount(name, amount), replace(group, resources=resources)
    for requirement in group.requirements:
        yield requirement, group.without(requirement)


def with_amount(
    request: CandidateRequest, suffix: str, name: str, amount: int
) -> CandidateRequest:
    """Return the request with this amount of a class in the group with this suffix."""
    (group,) = (group for group in request.groups if group.suffix == suffix)
    return request.with_group(replace(group, resources={**group.resources, name: amount}))


# --- other groups


def distinct_groups(request: CandidateRequest) -> Iterator[tuple[RequestGroup, Suffixes]]:
    """Yield the groups; of those that differ in nothing but the suffix, the first.

    With it, the suffixes of all of them; none with a group that no other equals.
    """
    equal: defaultdict[object, list[RequestGroup]] = defaultdict(list)
    for group in request.groups:
        subtrees = (group.suffix in suffixes for suffixes in request.named_groups)
        amounts = frozenset(group.resources.items())
        equal[bool(group.suffix), amounts, group.requirements, *subtrees].append(group)
    for first, *others in equal.values():
        yield first, tuple(each.suffix for each in (first, *others)) if others else ()


def divisions(amount: int, trees: Iterable[Iterable[int]]) -> list[tuple[int, ...]]:
    """Return divisions of an amount, those into the fewest parts first.

    Into equal parts, and into as much as each provider of a tree has.

    >>> divisions(5, [[1, 4]])[:3]
    [(3, 2), (4, 1), (2, 2, 1)]
    """
    divided = set[tuple[int, ...]]()
    equal = ([-(-amount // parts)] * parts for parts in range(2, MOST_PARTS + 1))
    for each in chain(equal, trees):
        most = sorted(each, reverse=True)
        left = (amount - before for before in accumulate(most, initial=0))
        filled = (min(pair) for pair in zip(most, left, strict=False))
        divided.add(tuple(part for part in filled if part > 0))
    few = (each for each in divided if 1 < len(each) <= MOST_PARTS)
    return sorted(few, key=lambda parts: (len(parts), parts))


def splits(
    request: CandidateRequest,
    group: RequestGroup,
    name: str,
    alike: Suffixes,
    trees: Iterable[Iterable[int]],
) -> Iterator[tuple[Split, CandidateRequest]]:
    """Yield the request with the amount of a class divided among two and more groups.

    ``trees`` are the allocatable amounts of trees that may have it. The first amount remains in
    the group. The conditions of a suffixed group apply to all of the amounts. The unsuffixed group
    spans a tree: its aggregates, and its traits if it has several classes, remain conditions on
    the group alone.
    """
    conditions = group
    if not group.suffix:
        of_group = joint_requirements(group)
        kept = (each for each in group.requirements if not each.spans_tree)
        requirements = tuple(each for each in kept if each not in of_group)
        conditions = replace(group, requirements=requirements)
    for parts in divisions(group.resources[name], trees):
        first, *amounts = parts
        changed = request.with_group(replace(group, resources={**group.resources, name: first}))
        others = tuple(
            replace(conditions, suffix=suffix, resources={name: part})
            for suffix, part in zip(_unused_suffixes(request), amounts, strict=False)
        )
        change = Split(group.suffix, name, parts, alike=alike)
        yield change, replace(changed, groups=(*changed.groups, *others))


def at_root(request: CandidateRequest) -> Iterator[Relaxation]:
    """Yield the request with a trait that a group requires as one of the root (1.35)."""
    for group in request.groups:
        for trait in group.requirements if group.resources else ():
            if isinstance(trait, RequiredTrait) and len(trait.any_of) == 1:
                required = RootTrait(trait.any_of)
                changed = request.with_group(group.without(trait))
                changed = replace(changed, requirements=(*changed.requirements, required))
                yield Drop(trait, group.suffix, instead=(required,)), changed


def separated(
    request: CandidateRequest, kind_of: Callable[[str], object]
) -> Iterator[tuple[Separate, CandidateRequest]]:
    """Yield the request whose suffixed groups have classes of one kind each, if there are more.

    The classes of one kind stay in the group. The others have its requirements; or none of the
    traits that it requires, which the classes of any one kind then keep.
    """
    kinds = [_by_kind(group, kind_of) for group in request.groups]
    choices = range(max(map(len, kinds), default=1))
    for stays in (None, *choices):
        unused = _unused_suffixes(request)
        groups, moved, loses_traits = list[RequestGroup](), list[tuple[str, Amount]](), False
        dropped = () if stays is None else (RequiredTrait,)
        for group, (*others,) in zip(request.groups, kinds, strict=True):
            groups.append(replace(group, resources=others.pop((stays or 0) % len(others))))
            kept = tuple(each for each in group.requirements if not isinstance(each, dropped))
            groups += (RequestGroup(next(unused), other, kept) for other in others)
            moved += ((group.suffix, Amount(*item)) for other in others for item in other.items())
            loses_traits |= bool(others) and kept != group.requirements
        if moved:
            added = len(groups) - len(request.groups)
            change = Separate(tuple(moved), added, loses_traits=loses_traits)
            yield change, replace(request, groups=tuple(groups))


def _by_kind(group: RequestGroup, kind_of: Callable[[str], object]) -> Sequence[Mapping[str, int]]:
    """Return the amounts of a suffixed group by the kind of the class; others are of one kind."""
    kinds: defaultdict[object, dict[str, int]] = defaultdict(dict)
    for name, amount in group.resources.items():
        kinds[kind_of(name) if group.suffix else ""][name] = amount
    return [*kinds.values()] or [{}]


def _unused_suffixes(request: CandidateRequest) -> Iterator[str]:
    used = {group.suffix for group in request.groups}
    return (text for text in map(str, count(1)) if text not in used)


def without_suffix(request: CandidateRequest) -> Iterator[tuple[Unsuffix, CandidateRequest]]:
    """Yield the request in which a suffixed group is unsuffixed.

    It has several classes, or the root can be in its aggregates. A request that has an unsuffixed
    group, or names the suffix in another parameter, is left out.
    """
    named = frozenset[str]().union(*request.named_groups)
    if all(group.suffix for group in request.groups):
        for group in request.groups:
            spans = len(group.resources) > 1 or any(each.spans_tree for each in group.requirements)
            if group.resources and spans and group.suffix not in named:
                others = [other for other in request.groups if other is not group]
                changed = replace(request, groups=(replace(group, suffix=""), *others))
                parameters = GroupParameters(group)
                yield Unsuffix(parameters, group.suffix, (parameters,)), changed
