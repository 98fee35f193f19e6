"""Rules for the combination of groups in one candidates query.

Each rule raises an exception; the API reports them in this order.
"""

from collections.abc import Mapping

from placement import exception
from placement.core.request import RequestGroup
from placement.microversion import Version

Groups = Mapping[str, RequestGroup]
"""Groups by suffix, in the order of the query."""
Subtrees = tuple[frozenset[str], ...]


def check_resources(groups: Groups, same_subtree: Subtrees, version: Version) -> None:
    """Check that groups have resources; since 1.36 some need none."""
    if version >= (1, 36):
        _check_resourceless(groups, frozenset().union(*same_subtree))
    else:
        _check_all_have_resources(groups)


def _check_resourceless(groups: Groups, related: frozenset[str]) -> None:
    """Check that each group without resources is in ``same_subtree``."""
    if not any(each.resources for each in groups.values()):
        raise exception.MissingQueryValue(
            "There must be at least one resources or resources[$S] parameter."
        )
    orphans = [
        suffix for suffix, each in groups.items() if not each.resources and suffix not in related
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
    without_resources = {suffix: each for suffix, each in groups.items() if not each.resources}
    traits = [f"required{suffix}" for suffix, each in without_resources.items() if each.required]
    if traits:
        raise exception.BadRequest(
            "All traits parameters must be associated with resources.  "
            f"Found the following orphaned traits keys: {', '.join(traits)}"
        )
    aggregates = [
        f"member_of{suffix}"
        for suffix, each in without_resources.items()
        if each.member_of or each.not_member_of
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


def check_conflicts(groups: Groups, version: Version) -> None:
    """Check that no group both requires and forbids a trait."""
    if version < (1, 22):
        return
    conflicts = {suffix: _conflicting_traits(each) for suffix, each in groups.items()}
    messages = sorted(
        f"required{suffix}: ({exception.listed(traits)})"
        for suffix, traits in conflicts.items()
        if traits
    )
    if messages:
        raise exception.BadRequest(
            "Conflicting required and forbidden traits found in the following traits keys: "
            + ", ".join(messages)
        )


def _conflicting_traits(each: RequestGroup) -> frozenset[str]:
    return frozenset().union(*(names for names in each.required if names <= each.forbidden))


def check_policy(groups: Groups, *, has_policy: bool) -> None:
    """Check that several suffixed groups come with a ``group_policy``."""
    if sum(map(bool, groups)) > 1 and not has_policy:
        raise exception.BadRequest(
            'The "group_policy" parameter is required when specifying more than one '
            '"resources{N}" parameter.'
        )
