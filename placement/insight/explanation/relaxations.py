"""Changed requests: without one of the requirements, and for the same amounts in other groups.

Requirements are spelled as in the query. The API accepts all of these requests: every group has a
requirement, and a ``same_subtree`` names every group without resources.

Several providers of a host can have an amount that none of them has alone, or the classes of a
group that one provider must serve. Groups that a request cannot tell apart are changed once.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import count, islice
from typing import NamedTuple

from placement.core.request import CandidateRequest, RequestGroup
from placement.core.search.filters import any_of_text

Suffixes = tuple[str, ...]


class Relaxation(NamedTuple):
    """A requirement, and the request without it.

    ``instead`` is the parameter that replaces the requirement in the query, if any. ``group`` is
    the suffix of the group with the requirement; ``alike`` are the suffixes of all groups that
    differ in nothing but the suffix.
    """

    requirement: str
    request: CandidateRequest
    instead: str = ""
    group: str = ""
    alike: Suffixes = ()


def without_one(request: CandidateRequest) -> Iterator[Relaxation]:
    """Yield the request without one of its requirements; of interchangeable groups, the first."""
    suffixes = interchangeable(request)
    for relaxation in every_relaxation(request):
        alike = suffixes.get(relaxation.group, ())
        if relaxation.group not in alike[1:]:
            yield relaxation._replace(alike=alike)


def every_relaxation(request: CandidateRequest) -> Iterator[Relaxation]:
    """Yield the request without one of its requirements, for every requirement.

    The only requirement of a group cannot be dropped: the API has no empty groups. A whole group
    can be dropped if other groups with resources remain and no ``same_subtree`` names the group.
    """
    for name in sorted(request.root_required):
        looser = replace(request, root_required=request.root_required - {name})
        yield Relaxation(f"root_required={name}", looser)
    for name in sorted(request.root_forbidden):
        looser = replace(request, root_forbidden=request.root_forbidden - {name})
        yield Relaxation(f"root_required=!{name}", looser)
    for group in request.groups:
        for requirement, relaxed in _group_without_one(group):
            if any(spelled(relaxed)):
                yield Relaxation(requirement, with_group(request, relaxed), group=group.suffix)
    yield from _without_a_group(request)
    if request.isolate:
        looser = replace(request, isolate=False)
        yield Relaxation("group_policy=isolate", looser, _group_policy(looser))
    for suffixes in dict.fromkeys(request.same_subtree):
        if len(suffixes) > 1:
            yield _without_subtree(request, suffixes)


def _without_subtree(request: CandidateRequest, suffixes: frozenset[str]) -> Relaxation:
    """Return the request without a ``same_subtree``.

    A ``same_subtree`` has to name every group without resources. A ``same_subtree`` of a single
    group is no condition.
    """
    subtrees = tuple(subtree for subtree in request.same_subtree if subtree != suffixes)
    alone = tuple(
        frozenset({group.suffix})
        for group in request.groups
        if not group.resources and group.suffix not in frozenset().union(*subtrees)
    )
    looser = replace(request, same_subtree=(*subtrees, *alone))
    return Relaxation(same_subtree_text(suffixes), looser, "&".join(map(same_subtree_text, alone)))


def query_of(request: CandidateRequest) -> str:
    """Return a request as a query that is valid at every microversion that can express it."""
    parameters = [parameter for group in request.groups for parameter in _parameters(group)]
    root = [
        *sorted(request.root_required),
        *(f"!{name}" for name in sorted(request.root_forbidden)),
    ]
    if root:
        parameters.append(f"root_required={','.join(root)}")
    parameters += [_group_policy(request), *map(same_subtree_text, request.same_subtree)]
    if request.limit is not None:
        parameters.append(f"limit={request.limit}")
    return "&".join(filter(None, parameters))


def _parameters(group: RequestGroup) -> Iterator[str]:
    """Yield the parameters of a group.

    All single traits are in one parameter: below 1.39, ``required`` cannot be repeated.
    """
    traits = [name for any_of in group.required if len(any_of) == 1 for name in any_of]
    traits += [f"!{name}" for name in sorted(group.forbidden)]
    alternatives = tuple(any_of for any_of in group.required if len(any_of) > 1)
    yield from spelled(replace(group, required=alternatives, forbidden=frozenset()))
    if traits:
        yield f"required{group.suffix}={','.join(dict.fromkeys(traits))}"


def _group_policy(request: CandidateRequest) -> str:
    """Return the parameter ``group_policy``, which several groups with a suffix require."""
    if sum(bool(group.suffix) for group in request.groups) < 2:
        return ""
    return f"group_policy={'isolate' if request.isolate else 'none'}"


def same_subtree_text(suffixes: frozenset[str]) -> str:
    """Return a same_subtree as the query spells it."""
    return f"same_subtree={','.join(sorted(suffixes))}"


def _without_a_group(request: CandidateRequest) -> Iterator[Relaxation]:
    related = frozenset[str]().union(*request.same_subtree)
    for group in request.groups:
        groups = tuple(other for other in request.groups if other.suffix != group.suffix)
        is_needed = group.suffix in related or not any(other.resources for other in groups)
        if not is_needed:
            relaxed = replace(request, groups=groups)
            yield Relaxation("&".join(spelled(group)), relaxed, group=group.suffix)


def spelled(group: RequestGroup) -> Iterator[str]:
    """Yield the parameters of a group as the query spells them."""
    if group.resources:
        amounts = ",".join(f"{name}:{amount}" for name, amount in group.resources.items())
        yield f"resources{group.suffix}={amounts}"
    for requirement, _ in _requirements(group):
        yield requirement


def _requirements(group: RequestGroup) -> Iterator[tuple[str, RequestGroup]]:
    """Yield the parameters without amounts, each with the group without this requirement."""
    suffix = group.suffix
    if group.not_member_of:
        looser = replace(group, not_member_of=frozenset())
        yield f"member_of{suffix}=!{any_of_text(group.not_member_of)}", looser
    for any_of in dict.fromkeys(group.member_of):
        lists = tuple(other for other in group.member_of if other != any_of)
        yield f"member_of{suffix}={any_of_text(any_of)}", replace(group, member_of=lists)
    if group.in_tree is not None:
        yield f"in_tree{suffix}={group.in_tree}", replace(group, in_tree=None)
    for any_of in dict.fromkeys(group.required):
        lists = tuple(other for other in group.required if other != any_of)
        yield f"required{suffix}={any_of_text(any_of)}", replace(group, required=lists)
    for name in sorted(group.forbidden):
        fewer = replace(group, forbidden=group.forbidden - {name})
        yield f"required{suffix}=!{name}", fewer


def with_group(request: CandidateRequest, changed: RequestGroup) -> CandidateRequest:
    """Return the request with the changed group in place of the group with the same suffix."""
    groups = [changed if group.suffix == changed.suffix else group for group in request.groups]
    return replace(request, groups=tuple(groups))


def _group_without_one(group: RequestGroup) -> Iterator[tuple[str, RequestGroup]]:
    for name, amount in group.resources.items() if len(group.resources) > 1 else ():
        resources = {other: n for other, n in group.resources.items() if other != name}
        yield f"resources{group.suffix}={name}:{amount}", replace(group, resources=resources)
    yield from _requirements(group)


def with_amount(
    request: CandidateRequest, suffix: str, name: str, amount: int
) -> CandidateRequest:
    """Return the request with this amount of a class in the group with this suffix."""
    (group,) = (group for group in request.groups if group.suffix == suffix)
    return with_group(request, replace(group, resources={**group.resources, name: amount}))


# --- other groups


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
