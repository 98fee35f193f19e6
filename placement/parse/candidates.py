"""Parses the query of GET /allocation_candidates.

The order of the checks is part of the API: for a query with two errors, every
implementation reports the same one.
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
_COMBINED = ("required", "member_of")
_MAX_LIMIT_DIGITS = 18


def candidate_request(pairs: query.QueryPairs, version: Version) -> CandidateRequest:
    """Return the request in a query string.

    Whether classes and traits exist is checked by the search.

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
    """Return the limit; None without a limit, or if it is larger than any possible result."""
    text = values.get("limit", [""])[0]
    return int(text) if 0 < len(text) <= _MAX_LIMIT_DIGITS else None


def _root_traits(values: query.Values) -> tuple[frozenset[str], frozenset[str]]:
    texts = values.get("root_required", ())
    if not texts:
        return frozenset(), frozenset()
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
    return required, forbidden


def _suffixes(value: str) -> frozenset[str]:
    """Return the suffixes in one ``same_subtree`` value."""
    suffixes = frozenset(piece.strip() for piece in value.split(","))
    if "" in suffixes:
        raise exception.BadQueryValue(
            "Empty string (unsuffixed group) can not be specified in `same_subtree`"
        )
    return suffixes


def _groups(pairs: query.QueryPairs, values: query.Values, version: Version) -> group_rules.Groups:
    """Return the request groups, in the order of their first parameter in the query."""
    groups: dict[str, RequestGroup] = {}
    complete: set[str] = set()
    for key, value in pairs:
        match = _GROUP_KEY.fullmatch(key)
        if match is None or key in complete:
            continue
        parameter, suffix = match.groups()
        if parameter in _COMBINED:
            complete.add(key)
            fields = _repeated(parameter, key, values[key], version)
        else:
            fields = _single(parameter, value)
        groups[suffix] = replace(groups.get(suffix, RequestGroup(suffix)), **fields)
    return groups


def _single(parameter: str, value: str) -> dict[str, Any]:
    """Return the group fields for one ``resources`` or ``in_tree`` parameter."""
    if parameter == "resources":
        return {"resources": group.resources(value)}
    return {"in_tree": group.tree(value)}


def _repeated(parameter: str, key: str, values: Sequence[str], version: Version) -> dict[str, Any]:
    """Return the group fields for all ``required`` or ``member_of`` parameters of one key."""
    if parameter == "required":
        required, forbidden = group.traits(values, version)
        return {"required": required, "forbidden": forbidden}
    member_of, not_member_of = group.aggregates(key, values, version)
    return {"member_of": member_of, "not_member_of": not_member_of}
