"""What the groups of one candidate query must be together, apart from what each says.

Each rule raises; they are in the order in which the API reports them.
"""

from collections.abc import Mapping

from placement import exception
from placement.core.request import RequestGroup
from placement.microversion import Version

Groups = Mapping[str, RequestGroup]
"""Groups by suffix, in the order of the query."""
Subtrees = tuple[frozenset[str], ...]


def check_resources(groups: Groups, same_subtree: Subtrees, version: Version) -> None:
    """Refuse groups that ask for no resources where they must; 1.36 allows some."""
    if version >= (1, 36):
        _check_resourceless(groups, frozenset().union(*same_subtree))
    else:
        _check_all_have_resources(groups)


def _check_resourceless(groups: Groups, related: frozenset[str]) -> None:
    """Refuse a group without resources unless ``same_subtree`` relates it to another."""
    if not any(each.resources for each in groups.values()):
        raise exception.MissingQueryValue(
            "There must be at least one resources or resources[$S] parameter."
        )
    stray = [
        suffix for suffix, each in groups.items() if not each.resources and suffix not in related
    ]
    if stray:
        raise exception.BadQueryValue(
            "Resourceless suffixed group request should be specified in `same_subtree` query "
            f"param: bad group(s) - {stray}."
        )
    unreal = sorted(related - groups.keys())
    if unreal:
        raise exception.BadQueryValue(
            f"Real suffixes should be specified in `same_subtree`: {unreal} "
            f"not found in {list(groups)}."
        )


def _check_all_have_resources(groups: Groups) -> None:
    """Refuse any group without resources, saying what else it has."""
    bare = {suffix: each for suffix, each in groups.items() if not each.resources}
    traits = [f"required{suffix}" for suffix, each in bare.items() if each.required]
    if traits:
        raise exception.BadRequest(
            "All traits parameters must be associated with resources.  "
            f"Found the following orphaned traits keys: {', '.join(traits)}"
        )
    aggregates = [
        f"member_of{suffix}"
        for suffix, each in bare.items()
        if each.member_of or each.not_member_of
    ]
    if aggregates:
        raise exception.BadRequest(
            "All member_of parameters must be associated with resources. "
            f"Found the following orphaned member_of keys: {', '.join(aggregates)}"
        )
    if bare:
        raise exception.BadRequest("All request groups must specify resources.")
    if not groups:
        raise exception.BadRequest(
            "At least one request group (`resources` or `resources{$S}`) is required."
        )


def check_conflicts(groups: Groups, version: Version) -> None:
    """Refuse groups that want one of several traits, and forbid them all."""
    if version < (1, 22):
        return
    conflicts = {suffix: _contradicted(each) for suffix, each in groups.items()}
    found = sorted(
        f"required{suffix}: ({exception.listed(traits)})"
        for suffix, traits in conflicts.items()
        if traits
    )
    if found:
        raise exception.BadRequest(
            "Conflicting required and forbidden traits found in the following traits keys: "
            + ", ".join(found)
        )


def _contradicted(each: RequestGroup) -> frozenset[str]:
    return frozenset().union(*(wanted for wanted in each.required if wanted <= each.forbidden))


def check_policy(groups: Groups, *, has_policy: bool) -> None:
    """Refuse two or more suffixed groups that are not said how to combine."""
    if sum(map(bool, groups)) > 1 and not has_policy:
        raise exception.BadRequest(
            'The "group_policy" parameter is required when specifying more than one '
            '"resources{N}" parameter.'
        )
