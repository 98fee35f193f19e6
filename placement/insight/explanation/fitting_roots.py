"""The conditions between the slots of a plan, and the roots at which a plan has a solution.

The conditions are one list for the funnel and for near misses. The funnel adds them to the request
stage by stage. The closest assignment of a root gives up those that it cannot meet.

This module uses the filters, anchors and problems of the search. The problems of a remaining root
are solved until one has a solution.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial

from placement.core.request import CandidateRequest, RequestGroup
from placement.core.search.anchors import anchors_by_kind, possible_anchors
from placement.core.search.candidate_streams import first_assignments
from placement.core.search.deadline import Deadline
from placement.core.search.filters import Domain, find_domain
from placement.core.search.problems import ProblemBuilder
from placement.core.search.slots import SearchPlan
from placement.core.snapshot.rows import Mask, mask_of
from placement.core.snapshot.snapshot import Snapshot
from placement.insight.explanation.relaxations import same_subtree_text, spelled


class FittingRoots:
    """Finds the fitting roots of one snapshot, within one deadline."""

    def __init__(self, snapshot: Snapshot, deadline: Deadline) -> None:
        self._snapshot = snapshot
        self._deadline = deadline
        self._domain = cache(partial(find_domain, snapshot))  # similar plans share most needs

    def of(self, plan: SearchPlan, among: Mask | None = None) -> Mask:
        """Return the roots around which the plan has a solution, within ``among`` if it is set.

        Raises: SearchDeadlineExceeded.
        """
        domains = []
        for need in plan.needs:
            self._deadline.check()
            domains.append(self._domain(need))
        possible = possible_anchors(self._snapshot, plan, domains, self._deadline)
        if among is not None:
            possible = possible & among
        if plan.are_slots_independent or not possible.any():
            return possible
        return self._solvable(plan, domains, possible)

    def _solvable(self, plan: SearchPlan, domains: Sequence[Domain], possible: Mask) -> Mask:
        """Return a mask of the roots that have a solution, from the problem of every tree."""
        anchors = anchors_by_kind(self._snapshot, plan, domains, possible)
        fitting = mask_of(anchors.standalone, self._snapshot.size)
        problems = ProblemBuilder(self._snapshot, plan, domains)
        for anchor, _ in first_assignments(problems, anchors.others, self._deadline):
            fitting[anchor] = True
        return fitting


@dataclass(frozen=True, slots=True)
class JointCondition:
    """A condition between slots: its code, and the requirement as the query spells it.

    It has the alternative ``traits`` of a list, the class whose sum is limited, or the suffixes of
    a ``same_subtree``. Several trait lists, or several classes, are one requirement.
    """

    code: str
    requirement: str
    traits: frozenset[str] = frozenset()
    resource_class: str = ""
    suffixes: frozenset[str] = frozenset()


def joint_conditions(plan: SearchPlan) -> Iterator[JointCondition]:
    """Yield the conditions between the slots, in the order of the funnel."""
    request = plan.request
    for any_of in dict.fromkeys(plan.any_of):
        yield JointCondition("trait", _unsuffixed_text(request), traits=any_of)
    for name in SearchPlan.of(replace(request, isolate=False)).contended:
        yield JointCondition("combined", _resources_text(request), resource_class=name)
    if plan.isolated:
        yield JointCondition("isolate", "group_policy=isolate")
    for suffixes in dict.fromkeys(request.same_subtree):
        if len(suffixes) > 1:
            yield JointCondition("same_subtree", same_subtree_text(suffixes), suffixes=suffixes)
    if not request.nested:
        yield JointCondition("one_provider_per_tree", "one provider per tree")


def with_only(plan: SearchPlan, conditions: Collection[JointCondition]) -> SearchPlan:
    """Return the plan with only these of the conditions between its slots."""
    codes = {condition.code for condition in conditions}
    subtrees = {condition.suffixes for condition in conditions}
    trait_lists = {condition.traits for condition in conditions}
    classes = {condition.resource_class for condition in conditions}
    request = replace(
        plan.request,
        isolate="isolate" in codes,
        same_subtree=tuple(names for names in plan.request.same_subtree if names in subtrees),
        nested="one_provider_per_tree" not in codes,
    )
    loose = SearchPlan.of(request)
    contended = {name: loose.contended[name] for name in loose.contended if name in classes}
    any_of = tuple(names for names in loose.any_of if names in trait_lists)
    return replace(loose, any_of=any_of, contended=contended)


def _unsuffixed_text(request: CandidateRequest) -> str:
    """Return the resources and traits of the unsuffixed group as the query spells them."""
    (group,) = (group for group in request.groups if not group.suffix)
    shown = RequestGroup(resources=group.resources, required=group.required)
    return "&".join(spelled(shown))


def _resources_text(request: CandidateRequest) -> str:
    """Return the resources of every group as the query spells them."""
    shown = [RequestGroup(group.suffix, group.resources) for group in request.groups]
    return "&".join(text for group in shown for text in spelled(group))
