"""The funnel: the roots that a request loses, requirement by requirement.

The order goes from the kind of host that is requested to its free capacity:

1. conditions on the root
2. for each group: aggregates, in_tree, traits
3. for each group and class: an inventory; min_unit, max_unit and step_size; enough free
4. the group as a whole: one provider meets all of it
5. groups together: amounts; ``group_policy=isolate``; every ``same_subtree``; below 1.29,
   one provider for each tree

Stage 2 narrows the providers of a part step by step. A root is lost if no provider remains for it.
Stage 3 checks every class separately among the remaining providers. If one provider lacks one
class and another provider lacks another class, the root is therefore lost in stage 4.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np

from placement.core.request import CandidateRequest
from placement.core.search.deadline import Deadline
from placement.core.search.filters import AmountCondition, any_of_text, root_conditions
from placement.core.search.slots import SearchPlan
from placement.core.snapshot.rows import Mask
from placement.core.snapshot.snapshot import Snapshot
from placement.insight.explanation import funnel_facts
from placement.insight.explanation.fitting_roots import FittingRoots
from placement.insight.explanation.groups import Group, Part, Providers, Reach
from placement.insight.explanation.model import FunnelRow
from placement.insight.explanation.near_miss_facts import LostTogether
from placement.insight.explanation.relaxations import spelled

Detail = Callable[[Mask], dict[str, object]]


@dataclass(frozen=True, slots=True)
class Stage:
    """One condition between the groups: its code, its spelling, and a plan that includes it."""

    code: str
    requirement: str
    plan: SearchPlan


class Funnel:
    """The remaining roots while the requirements are applied, and the rows so far.

    ``lost_at`` has, for every lost root, the number of the row of the funnel that removed it.
    """

    def __init__(self, snapshot: Snapshot, reach: Reach, deadline: Deadline) -> None:
        self._snapshot = snapshot
        self._reach = reach
        self._deadline = deadline
        self.left: Mask = snapshot.forest.is_root
        self.rows: list[FunnelRow] = []
        self.lost_at = np.zeros(snapshot.size, dtype=np.int32)
        self.lost_together: list[LostTogether] = []
        self._survivors: dict[int, Providers] = {}
        self._applied: set[int] = set()
        self._served: set[int] = set()

    def run(self, plan: SearchPlan, groups: Sequence[Group], fitting_roots: FittingRoots) -> None:
        """Apply all requirements.

        Raises: SearchDeadlineExceeded; ``rows`` has the rows until then.
        """
        self._deadline.check()
        self._conditions_on_root(plan)
        for group in groups:
            self._kinds(group)
        for group in groups:
            self._classes(group)
        for group in groups:
            self._as_a_whole(group, fitting_roots)
        for stage in stages(plan):
            self._together(stage, fitting_roots)

    def _charge(
        self,
        code: str,
        group: str,
        requirement: str,
        met: Mask,
        detail: Detail = funnel_facts.no_detail,
    ) -> None:
        lost = self.left & ~met
        count = int(np.count_nonzero(lost))
        if count:
            self.left = self.left & met
            left = int(np.count_nonzero(self.left))
            self.lost_at[lost] = len(self.rows)
            self.rows.append(FunnelRow(code, group, requirement, count, left, detail(lost)))

    # --- 1. the root

    def _conditions_on_root(self, plan: SearchPlan) -> None:
        for condition in root_conditions(self._snapshot, plan):
            self._charge(condition.code, "", condition.spelled(""), condition.local)

    # --- 2. the kind of provider

    def _kinds(self, group: Group) -> None:
        """Apply the conditions of a group.

        All parts of the group have the same conditions in the same order.
        """
        self._deadline.check()
        new_parts = [part for part in group.parts if id(part) not in self._survivors]
        self._survivors |= {id(part): part.considered for part in new_parts}
        are_traits_pending = bool(group.together)
        for number in range(len(new_parts[0].kinds) if new_parts else 0):
            condition = new_parts[0].kinds[number]
            if are_traits_pending and condition.code == "forbidden_trait":
                self._traits_together(group)
                are_traits_pending = False
            met = self._narrowed(new_parts, number)
            detail = funnel_facts.of_kind(self._snapshot, condition)
            self._charge(
                condition.code, group.suffix, condition.spelled(group.suffix), met, detail
            )
        if are_traits_pending:
            self._traits_together(group)

    def _narrowed(self, parts: Sequence[Part], number: int) -> Mask:
        """Narrow the providers of the parts by a condition.

        Return the roots that reach a remaining provider of every part.
        """
        met = self._snapshot.forest.is_root
        for part in parts:
            survivors = self._survivors[id(part)].meeting(part.kinds[number])
            self._survivors[id(part)] = survivors
            met = met & self._reach.roots(survivors)
        return met

    def _traits_together(self, group: Group) -> None:
        """Apply traits that any provider of the unsuffixed group may have."""
        for condition in group.together:
            met = reaching_any(self._reach, group, condition.local)
            detail = funnel_facts.of_kind(self._snapshot, condition)
            self._charge("trait", group.suffix, condition.spelled(group.suffix), met, detail)

    # --- 3. and 4. the amounts

    def _classes(self, group: Group) -> None:
        """Apply the amounts.  A part that equals a part of an earlier group is skipped."""
        self._deadline.check()
        for part in group.parts:
            if id(part) not in self._applied:
                self._applied.add(id(part))
                for conditions in part.classes:
                    self._class(group, part, conditions)

    def _class(self, group: Group, part: Part, conditions: AmountCondition) -> None:
        requirement = conditions.spelled(group.suffix)
        for code, mask in (
            ("no_inventory", conditions.present),
            ("unit", conditions.unit),
            ("capacity", conditions.enough),
        ):
            met = self._reaching(part, mask)
            detail = funnel_facts.of_class(
                self._snapshot, code, conditions, self._survivors[id(part)]
            )
            self._charge(code, group.suffix, requirement, met, detail)

    def _reaching(self, part: Part, mask: Mask) -> Mask:
        """Return the roots at which a remaining provider of the part meets a condition on a class.

        If a root reaches no provider with all classes, any provider with this class counts.
        """
        survivors = self._survivors[id(part)]
        met = self._reach.roots(survivors.only(mask))
        if len(part.classes) > 1 and (self.left & ~part.equipped).any():
            providers = self._reach.all_providers.only(mask)
            met = met | (self._reach.roots(providers) & ~part.equipped)
        return met

    def _as_a_whole(self, group: Group, fitting_roots: FittingRoots) -> None:
        self._deadline.check()
        for part in group.parts:
            if id(part) in self._served:
                continue
            self._served.add(id(part))
            met = self._reach.roots_with_option(fitting_roots.domain(part.need))
            self._charge("one_provider", group.suffix, "&".join(spelled(group.group)), met)

    # --- 5. groups together

    def _together(self, stage: Stage, fitting_roots: FittingRoots) -> None:
        if not self.left.any():
            return
        met = fitting_roots.of(stage.plan, self.left)
        requested = {name: sum(amounts.values()) for name, amounts in stage.plan.contended.items()}
        lost = LostTogether(stage.code, stage.requirement, self.left & ~met, requested)
        if lost.roots.any():
            self.lost_together.append(lost)
        detail = funnel_facts.of_stage(self._snapshot, stage.plan, stage.code)
        self._charge(stage.code, "", stage.requirement, met, detail)


def reaching_any(reach: Reach, group: Group, rows: Mask) -> Mask:
    """Return the roots that reach one of the rows as a considered provider of any part."""
    masks = [reach.roots(part.considered.only(rows)) for part in group.parts]
    return reduce(np.logical_or, masks)


def stages(plan: SearchPlan) -> Iterator[Stage]:
    """Yield plans of the request, from no condition between the slots to all conditions.

    Every stage adds one condition.
    """
    request = replace(plan.request, isolate=False, same_subtree=(), nested=True)
    loose = SearchPlan.of(request)
    if loose.any_of:
        requirement = "&".join(_unsuffixed(request))
        yield Stage("combined", requirement, replace(loose, contended={}))
    if loose.contended:
        yield Stage("combined", "&".join(resources_text(request)), loose)
    if plan.isolated:
        request = replace(request, isolate=True)
        yield Stage("isolate", "group_policy=isolate", SearchPlan.of(request))
    for suffixes in plan.request.same_subtree:
        if len(suffixes) > 1:
            request = replace(request, same_subtree=(*request.same_subtree, suffixes))
            requirement = f"same_subtree={','.join(sorted(suffixes))}"
            yield Stage("same_subtree", requirement, SearchPlan.of(request))
    if not plan.request.nested:
        yield Stage("one_provider_per_tree", "one provider per tree", plan)


def resources_text(request: CandidateRequest) -> Iterator[str]:
    """Yield the resources of every group as the query spells them."""
    for group in request.groups:
        if group.resources:
            amounts = ",".join(f"{name}:{amount}" for name, amount in group.resources.items())
            yield f"resources{group.suffix}={amounts}"


def _unsuffixed(request: CandidateRequest) -> Iterator[str]:
    for group in request.groups:
        if not group.suffix:
            yield from resources_text(replace(request, groups=(group,)))
            yield from (f"required={any_of_text(any_of)}" for any_of in group.required)
