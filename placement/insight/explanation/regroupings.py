"""Requests for the same amounts in other groups, and groups that a request cannot tell apart.

Several providers of a host can have an amount that none of them has alone, or the classes of a
group that one provider must serve.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import count, islice

from placement.core.request import CandidateRequest, RequestGroup
from placement.insight.explanation.relaxations import Relaxation, spelled, with_group, without_one

Suffixes = tuple[str, ...]


def interchangeable(request: CandidateRequest) -> Mapping[str, Suffixes]:
    """Return, by suffix, the suffixes of all groups that differ in nothing but the suffix.

    Groups with a suffix only; a group that no other equals is not in the result.
    """
    alike: defaultdict[object, list[str]] = defaultdict(list)
    for group in request.groups:
        if group.suffix:
            subtrees = (group.suffix in suffixes for suffixes in request.same_subtree)
            key = (
                *(frozenset(group.resources.items()), group.required, group.forbidden),
                *(group.member_of, group.not_member_of, group.in_tree, *subtrees),
            )
            alike[key].append(group.suffix)
    return {
        suffix: tuple(suffixes)
        for suffixes in alike.values()
        for suffix in suffixes
        if len(suffixes) > 1
    }


def distinct_groups(request: CandidateRequest) -> Iterator[tuple[RequestGroup, Suffixes]]:
    """Yield the groups, of interchangeable groups the first one with the suffixes of all."""
    suffixes = interchangeable(request)
    for group in request.groups:
        alike = suffixes.get(group.suffix, ())
        if group.suffix not in alike[1:]:
            yield group, alike


def distinct_relaxations(request: CandidateRequest) -> Iterator[tuple[Relaxation, Suffixes]]:
    """Yield the request without one of its requirements, of interchangeable groups the first."""
    suffixes = interchangeable(request)
    for relaxation in without_one(request):
        alike = suffixes.get(relaxation.group, ())
        if relaxation.group not in alike[1:]:
            yield relaxation, alike


def split(
    request: CandidateRequest, group: RequestGroup, name: str, number: int
) -> CandidateRequest:
    """Return the request with the amount of a class divided among this number of groups.

    The first amount remains in the group. The conditions of a suffixed group apply to all of the
    amounts. The unsuffixed group spans a tree: its aggregates, and its traits if it has several
    classes, remain conditions on the group alone.
    """
    amount, rest = divmod(group.resources[name], number)
    amounts = [amount + (part < rest) for part in range(number)]
    conditions = group
    if not group.suffix:
        required = group.required if len(group.resources) == 1 else ()
        conditions = replace(group, member_of=(), required=required)
    used = {other.suffix for other in request.groups}
    suffixes = (text for text in map(str, count(1)) if text not in used)
    others = tuple(
        replace(conditions, suffix=suffix, resources={name: part})
        for suffix, part in zip(islice(suffixes, number - 1), amounts[1:], strict=True)
    )
    first = replace(group, resources={**group.resources, name: amounts[0]})
    changed = with_group(request, first)
    return replace(changed, groups=(*changed.groups, *others))


def without_suffix(request: CandidateRequest) -> Iterator[Relaxation]:
    """Yield the request with a suffixed group of several classes as the unsuffixed group.

    A request that has an unsuffixed group, or names the suffix in a ``same_subtree``, is left out.
    """
    named = frozenset[str]().union(*request.same_subtree)
    if all(group.suffix for group in request.groups):
        for group in request.groups:
            if len(group.resources) > 1 and group.suffix not in named:
                unsuffixed = replace(group, suffix="")
                others = [other for other in request.groups if other is not group]
                yield Relaxation(
                    requirement="&".join(spelled(group)),
                    request=replace(request, groups=(unsuffixed, *others)),
                    instead="&".join(spelled(unsuffixed)),
                    group=group.suffix,
                )
