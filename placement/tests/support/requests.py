"""Requests as values: made from their parts, and read as parts by the oracle.

The oracle reads requirements by their class, and evaluates them by itself.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from placement.core.request import CandidateRequest, RequestGroup
from placement.core.requirement import (
    ForbiddenRootTrait,
    ForbiddenTrait,
    InTree,
    Isolate,
    MemberOf,
    NotMemberOf,
    OneProviderPerTree,
    ProviderRequirement,
    RequiredTrait,
    Requirement,
    RootTrait,
    SameSubtree,
    in_order,
)

Names = frozenset[str]


@dataclass(frozen=True)
class Parts:
    """What the requirements of a group say, by kind."""

    required: tuple[Names, ...] = ()
    forbidden: Names = frozenset()
    member_of: tuple[Names, ...] = ()
    not_member_of: Names = frozenset()
    in_tree: str | None = None


def of_kind(requirements: Iterable[Requirement], kind: type) -> list:
    return [each for each in requirements if isinstance(each, kind)]


def parts(group: RequestGroup) -> Parts:
    """Return the requirements of a group by kind; a kind that is not known is an error."""
    kinds = (RequiredTrait, ForbiddenTrait, MemberOf, NotMemberOf, InTree)
    assert all(isinstance(each, kinds) for each in group.requirements)
    required, forbidden, member_of, not_member_of, trees = (
        of_kind(group.requirements, kind) for kind in kinds
    )
    return Parts(
        required=tuple(each.any_of for each in required),
        forbidden=frozenset().union(*(each.any_of for each in forbidden)),
        member_of=tuple(each.any_of for each in member_of),
        not_member_of=frozenset().union(*(each.any_of for each in not_member_of)),
        in_tree=trees[0].uuid if trees else None,
    )


def group_of(
    suffix: str = "",
    resources: Mapping[str, int] | None = None,
    required: Iterable[Names] = (),
    *,
    forbidden: Iterable[str] = (),
    member_of: Iterable[Names] = (),
    not_member_of: Names = frozenset(),
    in_tree: str | None = None,
) -> RequestGroup:
    requirements = [
        *([NotMemberOf(not_member_of)] if not_member_of else []),
        *map(MemberOf, member_of),
        *([InTree(in_tree)] if in_tree else []),
        *map(RequiredTrait, required),
        *map(ForbiddenTrait.one, sorted(forbidden)),
    ]
    return RequestGroup(suffix, resources or {}, in_order(requirements))


def candidate_request_of(
    groups: Iterable[RequestGroup],
    *,
    isolate: bool = False,
    root_required: Iterable[str] = (),
    root_forbidden: Iterable[str] = (),
    same_subtree: Iterable[Names] = (),
    nested: bool = True,
    limit: int | None = None,
) -> CandidateRequest:
    requirements = (
        *map(RootTrait.one, sorted(root_required)),
        *map(ForbiddenRootTrait.one, sorted(root_forbidden)),
        *([Isolate()] if isolate else []),
        *map(SameSubtree, same_subtree),
        *([] if nested else [OneProviderPerTree()]),
    )
    return CandidateRequest(tuple(groups), requirements, limit)


def root_traits(request: CandidateRequest) -> tuple[Names, Names]:
    """Return the traits that the root must have, and those that it must not have."""
    required, forbidden = (
        frozenset().union(*(each.any_of for each in of_kind(request.requirements, kind)))
        for kind in (RootTrait, ForbiddenRootTrait)
    )
    return required, forbidden


def older(request: CandidateRequest, *, nested: bool) -> CandidateRequest:
    """Return the request below 1.29 unless ``nested``."""
    extra = () if nested else (OneProviderPerTree(),)
    without = request.without(OneProviderPerTree())
    return CandidateRequest(without.groups, (*without.requirements, *extra), without.limit)


def with_requirement(group: RequestGroup, requirement: ProviderRequirement) -> RequestGroup:
    """Return the group with one more requirement; a group has one tree at most."""
    is_second = isinstance(requirement, InTree) and parts(group).in_tree is not None
    more = () if is_second else (requirement,)
    return replace(group, requirements=in_order([*group.requirements, *more]))
