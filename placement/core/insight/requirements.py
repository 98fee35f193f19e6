"""A request, requirement by requirement."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from placement.core.request import CandidateRequest, RequestGroup
from placement.core.search.filters import one_of


@dataclass(frozen=True, slots=True)
class Requirement:
    """One thing that is asked, as the query spells it: ``required_C=!CUSTOM_SLOW``."""

    parameter: str
    value: str

    def __str__(self) -> str:
        return f"{self.parameter}={self.value}" if self.value else self.parameter


def without_one(request: CandidateRequest) -> Iterator[tuple[Requirement, CandidateRequest]]:
    """Yield the request without each of its requirements.

    The only class of a group cannot be dropped.
    """
    for name in sorted(request.root_required):
        looser = replace(request, root_required=request.root_required - {name})
        yield Requirement("root_required", name), looser
    for name in sorted(request.root_forbidden):
        looser = replace(request, root_forbidden=request.root_forbidden - {name})
        yield Requirement("root_required", f"!{name}"), looser
    for number, group in enumerate(request.groups):
        before, after = request.groups[:number], request.groups[number + 1 :]
        for requirement, relaxed in _group_without_one(group):
            yield requirement, replace(request, groups=(*before, relaxed, *after))
    if request.isolate:
        yield Requirement("group_policy", "isolate"), replace(request, isolate=False)
    for suffixes in request.same_subtree:
        others = tuple(other for other in request.same_subtree if other != suffixes)
        value = ",".join(sorted(suffixes))
        yield Requirement("same_subtree", value), replace(request, same_subtree=others)


def _group_without_one(group: RequestGroup) -> Iterator[tuple[Requirement, RequestGroup]]:
    for name, amount in group.resources.items() if len(group.resources) > 1 else ():
        others = {other: n for other, n in group.resources.items() if other != name}
        requirement = Requirement(f"resources{group.suffix}", f"{name}:{amount}")
        yield requirement, replace(group, resources=others)
    for either in group.required:
        lists = tuple(other for other in group.required if other != either)
        yield (
            Requirement(f"required{group.suffix}", one_of(either)),
            replace(group, required=lists),
        )
    for name in sorted(group.forbidden):
        fewer = replace(group, forbidden=group.forbidden - {name})
        yield Requirement(f"required{group.suffix}", f"!{name}"), fewer
    for either in group.member_of:
        lists = tuple(other for other in group.member_of if other != either)
        yield (
            Requirement(f"member_of{group.suffix}", one_of(either)),
            replace(group, member_of=lists),
        )
    if group.not_member_of:
        value = f"!{one_of(group.not_member_of)}"
        yield (
            Requirement(f"member_of{group.suffix}", value),
            replace(group, not_member_of=frozenset()),
        )
    if group.in_tree is not None:
        yield Requirement(f"in_tree{group.suffix}", group.in_tree), replace(group, in_tree=None)
