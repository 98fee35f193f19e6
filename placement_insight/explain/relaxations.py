"""Changed requests: without one of the requirements, and for the same amounts in other groups.

Requirements are spelled as in the query. The API accepts all of these requests: every group has a
requirement, and a ``same_subtree`` names every group without resources.

Several providers of a host can have an amount that none of them has alone, or the classes of a
group that one provider must serve. Groups that a request cannot tell apart are changed once.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import count

from placement.core.request import CandidateRequest, RequestGroup, amounts_text
from placement.core.requirement import (
    Amount,
    GroupsRequirement,
    RequiredTrait,
    Requirement,
    RootTrait,
    SameSubtree,
)
from placement.core.search.slots import joint_requirements
from placement.microversion import Version
from placement.parse import validation
from placement.schemas.queries import CANDIDATES_QUERY
from placement_insight import queries
from placement_insight.explain.changes import (
    Drop,
    GroupParameters,
    Policy,
    Separate,
    Split,
    Unsuffix,
)

MOST_PARTS = 8
_VALIDATORS = validation.query_validators(CANDIDATES_QUERY)

Suffixes = tuple[str, ...]

Relaxation = tuple[Drop, CandidateRequest]
"""A requirement or a group that is dropped, and the request without it."""


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
    before = set(_parameters_of_groups(request))
    instead = (each for each in _parameters_of_groups(looser) if each not in before)
    return Drop(condition, instead=tuple(instead)), looser


def _naming_all(request: CandidateRequest) -> CandidateRequest:
    """Return the request in which a ``same_subtree`` names every group without resources."""
    named = frozenset[str]().union(*request.same_subtree)
    bare = (group.suffix for group in request.groups if not group.resources)
    alone = (SameSubtree(frozenset({suffix})) for suffix in bare if suffix not in named)
    return replace(request, requirements=(*request.requirements, *alone))


def query_of(request: CandidateRequest, version: Version) -> str | None:
    """Return a request as a query; None if the microversion does not have all parameters."""
    pairs = [*_pairs(request)]
    has_all = validation.error_message(_VALIDATORS, dict(pairs), version) is None
    return queries.text(pairs) if has_all else None


def _pairs(request: CandidateRequest) -> Iterator[tuple[str, str]]:
    """Yield the parameters of a request."""
    for group in request.groups:
        if group.resources:
            yield f"resources{group.suffix}", amounts_text(group.resources)
        yield from _joined(group.requirements, group.suffix)
    yield from _joined(request.of_root, "")
    for each in _parameters_of_groups(request):
        yield each.parameter, each.value()
    if request.limit is not None:
        yield "limit", f"{request.limit}"


def _joined(requirements: Iterable[Requirement], suffix: str) -> Iterator[tuple[str, str]]:
    """Yield the parameters of requirements.

    All single traits are in one parameter: below 1.39, ``required`` cannot be repeated.
    """
    values: defaultdict[str, list[str]] = defaultdict(list)
    for requirement in requirements:
        if requirement.shares_parameter:
            values[requirement.parameter].append(requirement.value())
        else:
            yield f"{requirement.parameter}{suffix}", requirement.value()
    for parameter, shared in values.items():
        yield f"{parameter}{suffix}", ",".join(shared)


def _parameters_of_groups(request: CandidateRequest) -> Iterator[Requirement]:
    """Yield ``group_policy``, which several groups with a suffix require, and the others."""
    if sum(bool(group.suffix) for group in request.groups) > 1:
        yield Policy(request.isolate)
    for requirement in request.requirements:
        if isinstance(requirement, GroupsRequirement) and requirement.has_own_parameter:
            yield requirement


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


def splits(
    request: CandidateRequest, group: RequestGroup, name: str, alike: Suffixes
) -> Iterator[tuple[Split, CandidateRequest]]:
    """Yield the request with the amount of a class divided among two and more groups.

    The first amount remains in the group. The conditions of a suffixed group apply to all of the
    amounts. The unsuffixed group spans a tree: its aggregates, and its traits if it has several
    classes, remain conditions on the group alone.
    """
    conditions = group
    if not group.suffix:
        of_group = joint_requirements(group)
        kept = (each for each in group.requirements if not each.spans_tree)
        requirements = tuple(each for each in kept if each not in of_group)
        conditions = replace(group, requirements=requirements)
    for parts in range(2, min(group.resources[name], MOST_PARTS) + 1):
        amount, rest = divmod(group.resources[name], parts)
        first, *amounts = (amount + (part < rest) for part in range(parts))
        changed = request.with_group(replace(group, resources={**group.resources, name: first}))
        others = tuple(
            replace(conditions, suffix=suffix, resources={name: part})
            for suffix, part in zip(_unused_suffixes(request), amounts, strict=False)
        )
        change = Split(group.suffix, name, first, parts, alike=alike)
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

    The classes of the first kind stay in the group. The others have its requirements, then those
    without required traits.
    """
    for traits in ((), RequiredTrait):
        unused = _unused_suffixes(request)
        groups: list[RequestGroup] = []
        moved: list[tuple[str, Amount]] = []
        for group in request.groups:
            kinds: defaultdict[object, dict[str, int]] = defaultdict(dict)
            for name, amount in group.resources.items():
                kinds[kind_of(name) if group.suffix else ""][name] = amount
            first, *others = kinds.values() or [{}]
            groups.append(replace(group, resources=first))
            kept = tuple(each for each in group.requirements if not isinstance(each, traits))
            groups += (RequestGroup(next(unused), other, kept) for other in others)
            moved += ((group.suffix, Amount(*item)) for other in others for item in other.items())
        if moved:
            yield Separate(tuple(moved)), replace(request, groups=tuple(groups))


def _unused_suffixes(request: CandidateRequest) -> Iterator[str]:
    used = {group.suffix for group in request.groups}
    return (text for text in map(str, count(1)) if text not in used)


def without_suffix(request: CandidateRequest) -> Iterator[tuple[Unsuffix, CandidateRequest]]:
    """Yield the request in which a suffixed group of several classes is unsuffixed.

    A request that has an unsuffixed group, or names the suffix in another parameter, is left out.
    """
    named = frozenset[str]().union(*request.named_groups)
    if all(group.suffix for group in request.groups):
        for group in request.groups:
            if len(group.resources) > 1 and group.suffix not in named:
                others = [other for other in request.groups if other is not group]
                changed = replace(request, groups=(replace(group, suffix=""), *others))
                yield Unsuffix(group), changed
