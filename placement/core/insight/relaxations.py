"""A request without one of its requirements, each spelled as in the query."""

from collections.abc import Iterator
from dataclasses import replace

from placement.core.request import CandidateRequest, RequestGroup
from placement.core.search.filters import any_of_text


def without_one(request: CandidateRequest) -> Iterator[tuple[str, CandidateRequest]]:
    """Yield the request without each of its requirements.

    The only class of a group cannot be dropped, but a group with all it asks can, if others remain
    and no ``same_subtree`` names it.
    """
    for name in sorted(request.root_required):
        looser = replace(request, root_required=request.root_required - {name})
        yield f"root_required={name}", looser
    for name in sorted(request.root_forbidden):
        looser = replace(request, root_forbidden=request.root_forbidden - {name})
        yield f"root_required=!{name}", looser
    for group in request.groups:
        for requirement, relaxed in _group_without_one(group):
            yield requirement, with_group(request, relaxed)
    yield from _without_a_group(request)
    if request.isolate:
        yield "group_policy=isolate", replace(request, isolate=False)
    for suffixes in dict.fromkeys(request.same_subtree):
        others = tuple(other for other in request.same_subtree if other != suffixes)
        requirement = f"same_subtree={','.join(sorted(suffixes))}"
        yield requirement, replace(request, same_subtree=others)


def _without_a_group(request: CandidateRequest) -> Iterator[tuple[str, CandidateRequest]]:
    related = frozenset[str]().union(*request.same_subtree)
    for group in request.groups:
        others = tuple(other for other in request.groups if other.suffix != group.suffix)
        is_needed = group.suffix in related or not any(other.resources for other in others)
        if not is_needed:
            yield "&".join(spelled(group)), replace(request, groups=others)


def spelled(group: RequestGroup) -> Iterator[str]:
    """Yield the parameters of a group as the query spells them."""
    suffix = group.suffix
    if group.resources:
        amounts = ",".join(f"{name}:{amount}" for name, amount in group.resources.items())
        yield f"resources{suffix}={amounts}"
    if group.not_member_of:
        yield f"member_of{suffix}=!{any_of_text(group.not_member_of)}"
    for any_of in dict.fromkeys(group.member_of):
        yield f"member_of{suffix}={any_of_text(any_of)}"
    if group.in_tree is not None:
        yield f"in_tree{suffix}={group.in_tree}"
    for any_of in dict.fromkeys(group.required):
        yield f"required{suffix}={any_of_text(any_of)}"
    for name in sorted(group.forbidden):
        yield f"required{suffix}=!{name}"


def with_group(request: CandidateRequest, changed: RequestGroup) -> CandidateRequest:
    """Return the request with another group in place of that with its suffix."""
    groups = [changed if group.suffix == changed.suffix else group for group in request.groups]
    return replace(request, groups=tuple(groups))


def _group_without_one(group: RequestGroup) -> Iterator[tuple[str, RequestGroup]]:
    suffix = group.suffix
    for name, amount in group.resources.items() if len(group.resources) > 1 else ():
        others = {other: n for other, n in group.resources.items() if other != name}
        yield f"resources{suffix}={name}:{amount}", replace(group, resources=others)
    for any_of in group.required:
        lists = tuple(other for other in group.required if other != any_of)
        yield f"required{suffix}={any_of_text(any_of)}", replace(group, required=lists)
    for name in sorted(group.forbidden):
        fewer = replace(group, forbidden=group.forbidden - {name})
        yield f"required{suffix}=!{name}", fewer
    for any_of in group.member_of:
        lists = tuple(other for other in group.member_of if other != any_of)
        yield f"member_of{suffix}={any_of_text(any_of)}", replace(group, member_of=lists)
    if group.not_member_of:
        looser = replace(group, not_member_of=frozenset())
        yield f"member_of{suffix}=!{any_of_text(group.not_member_of)}", looser
    if group.in_tree is not None:
        yield f"in_tree{suffix}={group.in_tree}", replace(group, in_tree=None)
