"""The conditions between the slots of a plan: one list for the funnel and for near misses.

The funnel adds them to the request stage by stage. The closest assignment of a root gives up
those that it cannot meet.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace

from placement.core.request import CandidateRequest, RequestGroup
from placement.core.search.slots import SearchPlan
from placement.insight.explanation.relaxations import same_subtree_text, spelled


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
    request = replace(
        plan.request,
        isolate="isolate" in codes,
        same_subtree=tuple(
            suffixes
            for suffixes in plan.request.same_subtree
            if suffixes in {condition.suffixes for condition in conditions}
        ),
        nested="one_provider_per_tree" not in codes,
    )
    loose = SearchPlan.of(request)
    return replace(
        loose,
        any_of=tuple(
            any_of
            for any_of in loose.any_of
            if any_of in {condition.traits for condition in conditions}
        ),
        contended={
            name: amounts
            for name, amounts in loose.contended.items()
            if name in {condition.resource_class for condition in conditions}
        },
    )


def _unsuffixed_text(request: CandidateRequest) -> str:
    """Return the resources and traits of the unsuffixed group as the query spells them."""
    (group,) = (group for group in request.groups if not group.suffix)
    shown = RequestGroup(resources=group.resources, required=group.required)
    return "&".join(spelled(shown))


def _resources_text(request: CandidateRequest) -> str:
    """Return the resources of every group as the query spells them."""
    shown = [RequestGroup(group.suffix, group.resources) for group in request.groups]
    return "&".join(text for group in shown for text in spelled(group))
