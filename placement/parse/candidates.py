"""The query of GET /allocation_candidates.

The checks run in the order that the API promises: a client that makes two
mistakes is told of the same one by every implementation.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from placement import exception
from placement.core.request import CandidateRequest, RequestGroup
from placement.microversion import Version
from placement.parse import group, group_rules, query
from placement.schemas import allocation_candidate

_VALIDATORS = query.validators(allocation_candidate.LIST_QUERY)
_GROUP_KEY = re.compile(r"(resources|required|member_of|in_tree)(.*)")
_READ_AT_ONCE = ("required", "member_of")
_LONGEST_LIMIT = 18


def candidate_request(pairs: query.QueryPairs, version: Version) -> CandidateRequest:
    """Return what a query string asks of the search.

    Whether classes and traits exist is for the search to say.

    Raises: BadRequest, DuplicateQueryKey, BadQueryValue, MissingQueryValue.
    Source: API reference, "List allocation candidates".
    """
    query.check(_VALIDATORS, pairs, version)
    values = query.grouped(pairs)
    root_required, root_forbidden = _root_traits(values)
    same_subtree = tuple(map(_suffixes, values.get("same_subtree", ())))
    groups = _groups(pairs, values, version)
    group_rules.check_resources(groups, same_subtree, version)
    group_rules.check_conflicts(groups, version)
    group_rules.check_policy(groups, has_policy="group_policy" in values)
    return CandidateRequest(
        groups=tuple(groups.values()),
        isolate=values.get("group_policy", [""])[0] == "isolate",
        limit=_limit(values),
        root_required=root_required,
        root_forbidden=root_forbidden,
        same_subtree=same_subtree,
        nested=version >= (1, 29),
    )


def _limit(values: query.Values) -> int | None:
    """Return the limit; one of more digits than providers can be counted in is none."""
    text = values.get("limit", [""])[0]
    return int(text) if 0 < len(text) <= _LONGEST_LIMIT else None


def _root_traits(values: query.Values) -> tuple[frozenset[str], frozenset[str]]:
    given = values.get("root_required", ())
    if not given:
        return frozenset(), frozenset()
    if len(given) > 1:
        raise exception.DuplicateQueryKey(
            "Query parameter 'root_required' may be specified only once."
        )
    required, forbidden = group.root_traits(given[0])
    if required & forbidden:
        raise exception.BadQueryValue(
            "Conflicting required and forbidden traits found in root_required: "
            + exception.listed(required & forbidden)
        )
    return required, forbidden


def _suffixes(value: str) -> frozenset[str]:
    """Return the suffixes that one ``same_subtree`` names."""
    suffixes = frozenset(piece.strip() for piece in value.split(","))
    if "" in suffixes:
        raise exception.BadQueryValue(
            "Empty string (unsuffixed group) can not be specified in `same_subtree`"
        )
    return suffixes


def _groups(pairs: query.QueryPairs, values: query.Values, version: Version) -> group_rules.Groups:
    """Return the groups that the suffixable parameters make, walking through the query once."""
    groups: dict[str, RequestGroup] = {}
    complete: set[str] = set()
    for key, value in pairs:
        match = _GROUP_KEY.fullmatch(key)
        if match is None or key in complete:
            continue
        parameter, suffix = match.groups()
        if parameter in _READ_AT_ONCE:
            complete.add(key)
            read = _repeated(parameter, key, values[key], version)
        else:
            read = _single(parameter, value)
        groups[suffix] = replace(groups.get(suffix, RequestGroup(suffix)), **read)
    return groups


def _single(parameter: str, value: str) -> dict[str, Any]:
    """Return the fields of a group that one ``resources`` or ``in_tree`` sets."""
    if parameter == "resources":
        return {"resources": group.resources(value)}
    return {"in_tree": group.tree(value)}


def _repeated(parameter: str, key: str, values: Sequence[str], version: Version) -> dict[str, Any]:
    """Return the fields of a group that all of one ``required`` or ``member_of`` set."""
    if parameter == "required":
        required, forbidden = group.traits(values, version)
        return {"required": required, "forbidden": forbidden}
    member_of, not_member_of = group.aggregates(key, values, version)
    return {"member_of": member_of, "not_member_of": not_member_of}
