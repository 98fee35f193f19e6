"""Parses the query of GET /allocation_candidates.

The order of the checks is part of the API: for a query with two errors, every implementation
reports the same one. The rules for the combination of groups come last, in the order of the API.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from placement import exception
from placement.core.request import CandidateRequest, RequestGroup
from placement.core.requirement import (
    ForbiddenRootTrait,
    ForbiddenTrait,
    Isolate,
    OneProviderPerTree,
    ProviderRequirement,
    RequiredTrait,
    Requirement,
    RootTrait,
    SameSubtree,
    in_order,
)
from placement.microversion import Version
from placement.parse import group, validation
from placement.schemas import queries

Groups = Mapping[str, RequestGroup]
"""Groups by suffix, in the order of the query."""

_VALIDATORS = validation.query_validators(queries.CANDIDATES_QUERY)
_GROUP_KEY = re.compile(r"(resources|required|member_of|in_tree)(.*)")
_MAX_LIMIT_DIGITS = 18


def candidate_request(
    pairs: validation.QueryPairs, version: Version, *, in_words: bool = False
) -> CandidateRequest:
    """Return the request in a query string.

    Whether classes and traits exist is checked by the search. ``in_words`` is that of ``check``.

    Raises: BadRequest, DuplicateQueryKey, BadQueryValue, MissingQueryValue.
    Source: API reference, "List allocation candidates".
    """
    validation.check(_VALIDATORS, pairs, version, in_words=in_words)
    values = validation.grouped(pairs)
    of_root = _of_root(values)
    subtrees = [SameSubtree(_suffixes(value)) for value in values.get("same_subtree", ())]
    groups = _groups(values, version)
    if version >= (1, 36):
        _check_resourceless(groups, frozenset().union(*(each.suffixes for each in subtrees)))
    else:
        _check_all_have_resources(groups)
    _check_conflicts(groups, version)
    _check_policy(groups, has_policy="group_policy" in values)
    policy = [Isolate()] if values.get("group_policy", [""])[0] == "isolate" else []
    older = [OneProviderPerTree()] if version < (1, 29) else []
    requirements = (*of_root, *policy, *subtrees, *older)
    return CandidateRequest(tuple(groups.values()), requirements, _limit(values))


def _limit(values: validation.Values) -> int | None:
    """Return the limit; None without a limit, or if it is larger than any possible result."""
    text = values.get("limit", [""])[0]
    return int(text) if 0 < len(text) <= _MAX_LIMIT_DIGITS else None


def _of_root(values: validation.Values) -> Sequence[Requirement]:
    texts = values.get("root_required", ())
    if not texts:
        return ()
    if len(texts) > 1:
        raise exception.DuplicateQueryKey(
            "Query parameter 'root_required' may be specified only once."
        )
    required, forbidden = group.root_traits(texts[0])
    if required & forbidden:
        raise exception.BadQueryValue(
            "Conflicting required and forbidden traits found in root_required: "
            + exception.listed(required & forbidden)
        )
    return [*map(RootTrait.one, sorted(required)), *map(ForbiddenRootTrait.one, sorted(forbidden))]


def _suffixes(value: str) -> frozenset[str]:
    """Return the suffixes in one ``same_subtree`` value."""
    suffixes = frozenset(piece.strip() for piece in value.split(","))
    if "" in suffixes:
        raise exception.BadQueryValue(
            "Empty string (unsuffixed group) can not be specified in `same_subtree`"
        )
    return suffixes


def _groups(values: validation.Values, version: Version) -> Groups:
    """Return the request groups, in the order of their first parameter in the query."""
    groups: dict[str, RequestGroup] = {}
    for key, texts in values.items():
        if match := _GROUP_KEY.fullmatch(key):
            parameter, suffix = match.groups()
            request_group = groups.get(suffix, RequestGroup(suffix))
            if parameter == "resources":
                amounts = [group.resources(text) for text in texts][-1]
                groups[suffix] = replace(request_group, resources=amounts)
            else:
                parsed = _requirements(parameter, key, texts, version)
                requirements = in_order([*request_group.requirements, *parsed])
                groups[suffix] = replace(request_group, requirements=requirements)
    return groups


def _requirements(
    parameter: str, key: str, texts: Sequence[str], version: Version
) -> Sequence[ProviderRequirement]:
    """Return the requirements in all values of one key."""
    if parameter == "in_tree":
        return [group.tree(text) for text in texts][-1:]
    if parameter == "required":
        return group.traits(texts, version)
    return group.aggregates(key, texts, version)


def _check_resourceless(groups: Groups, related: frozenset[str]) -> None:
    """Check that each group without resources is in ``same_subtree``."""
    if not any(request_group.resources for request_group in groups.values()):
        raise exception.MissingQueryValue(
            "There must be at least one resources or resources[$S] parameter."
        )
    orphans = [
        suffix
        for suffix, request_group in groups.items()
        if not request_group.resources and suffix not in related
    ]
    if orphans:
        raise exception.BadQueryValue(
            "Resourceless suffixed group request should be specified in `same_subtree` query "
            f"param: bad group(s) - {orphans}."
        )
    unknown = sorted(related - groups.keys())
    if unknown:
        raise exception.BadQueryValue(
            f"Real suffixes should be specified in `same_subtree`: {unknown} "
            f"not found in {list(groups)}."
        )


def _check_all_have_resources(groups: Groups) -> None:
    """Check that each group has resources."""
    without_resources = [each for each in groups.values() if not each.resources]
    traits = [
        f"required{each.suffix}"
        for each in without_resources
        if any(isinstance(requirement, RequiredTrait) for requirement in each.requirements)
    ]
    if traits:
        raise exception.BadRequest(
            "All traits parameters must be associated with resources.  "
            f"Found the following orphaned traits keys: {', '.join(traits)}"
        )
    aggregates = [
        f"member_of{each.suffix}" for each in without_resources if each.names("aggregates")
    ]
    if aggregates:
        raise exception.BadRequest(
            "All member_of parameters must be associated with resources. "
            f"Found the following orphaned member_of keys: {', '.join(aggregates)}"
        )
    if without_resources:
        raise exception.BadRequest("All request groups must specify resources.")
    if not groups:
        raise exception.BadRequest(
            "At least one request group (`resources` or `resources{$S}`) is required."
        )


def _check_conflicts(groups: Groups, version: Version) -> None:
    """Check that no group both requires and forbids a trait."""
    if version < (1, 22):
        return
    messages = sorted(
        f"required{suffix}: ({exception.listed(traits)})"
        for suffix, request_group in groups.items()
        if (traits := _conflicting_traits(request_group))
    )
    if messages:
        raise exception.BadRequest(
            "Conflicting required and forbidden traits found in the following traits keys: "
            + ", ".join(messages)
        )


def _conflicting_traits(request_group: RequestGroup) -> frozenset[str]:
    requirements = request_group.requirements
    forbidden = {
        name for each in requirements if isinstance(each, ForbiddenTrait) for name in each.any_of
    }
    required = (each.any_of for each in requirements if isinstance(each, RequiredTrait))
    return frozenset().union(*(names for names in required if names <= forbidden))


def _check_policy(groups: Groups, *, has_policy: bool) -> None:
    """Check that several suffixed groups come with a ``group_policy``."""
    if sum(map(bool, groups)) > 1 and not has_policy:
        raise exception.BadRequest(
            'The "group_policy" parameter is required when specifying more than one '
            '"resources{N}" parameter.'
        )
