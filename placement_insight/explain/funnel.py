"""The funnel: the roots that a request loses, requirement by requirement.

The order goes from the kind of host that is requested to its free capacity:

0. ``in_tree`` of the unsuffixed group: the host that the request names
1. conditions on the root
2. for each group: aggregates, in_tree, traits
3. for each group and class: an inventory; min_unit, max_unit and step_size; enough free
4. the group as a whole: one provider meets all of it
5. groups together: amounts; ``group_policy=isolate``; every ``same_subtree``; below 1.29,
   one provider for each tree

Stage 3 checks every class separately among the providers that stage 2 leaves: a root whose
providers lack different classes is lost in stage 4.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial, reduce

import numpy as np

from placement.core.requirement import Requirement
from placement.core.search.filters import root_conditions
from placement.core.search.fitting_roots import FittingRoots
from placement.core.snapshot.rows import Mask
from placement.core.snapshot.snapshot import Snapshot
from placement_insight.explain import provider_facts
from placement_insight.explain.facts import Facts, FunnelRow
from placement_insight.explain.groups import (
    Group,
    GroupCondition,
    GroupNeed,
    Providers,
    Scene,
    all_providers,
    reached_roots,
    stages,
)
from placement_insight.explain.requirements import AmountTogether, OneProvider


class Funnel:
    """The remaining roots while the requirements are applied, and the rows so far.

    ``roots`` has the hosts, and the sharing providers that the request names, or fits on if it
    fits on no host. ``lost_at`` has the number of the row that removed a root, -1 if none did.
    ``named`` are the roots that the caller may mean: those that reach as many as possible of the
    trees that the groups name.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self.roots: Mask = snapshot.hosts
        self.left = self.named = self.roots
        self.lost_at = np.full(snapshot.size, -1, dtype=np.int32)
        self._rows: list[tuple[FunnelRow, Callable[[Mask], Facts]]] = []
        self._survivors: dict[GroupNeed, Providers] = {}

    @property
    def rows(self) -> tuple[FunnelRow, ...]:
        """The rows so far, with the facts about the lost roots."""
        rows = enumerate(self._rows)
        return tuple(replace(row, facts=facts(self.lost_at == at)) for at, (row, facts) in rows)

    def run(self, scene: Scene, fitting_roots: FittingRoots) -> None:
        """Apply all requirements.

        Raises: SearchDeadlineExceeded; ``rows`` has the rows until then.
        """
        scene.deadline.check()
        able = all_providers(self._snapshot)
        trees = [
            (group, condition, reached_roots(self._snapshot, able & condition.met))
            for group in scene.groups
            for condition in group.conditions
            if condition.requirement.named_provider is not None
        ]
        named = [each for each in trees if not each[0].requested.suffix]
        sharing = self._snapshot.forest.is_root & ~self.roots
        if sharing.any():
            is_named = reduce(
                np.logical_or, (met for *_, met in named), fitting_roots.counted(scene.slotted)
            )
            self.left = self.roots = self.roots | (sharing & is_named)
        if trees:
            number = self.roots * np.sum([met for *_, met in trees], axis=0)
            self.named = (number > 0) & (number == number.max())
        else:
            self.named = self.roots
        for group, condition, met in named:
            self._charge_condition(group, condition, met)
        for root in root_conditions(self._snapshot, scene.slotted):
            facts = partial(provider_facts.of_root_condition, self._snapshot, root)
            self._charge(root.requirement, "", root.local, facts)
        first_with: dict[tuple[GroupNeed, ...], Group] = {}
        for group in scene.groups:  # a group that equals an earlier one removes no root
            first_with.setdefault(group.needs, group)
        for apply in (self._conditions, self._amounts, self._as_a_whole):
            for group in first_with.values():
                scene.deadline.check()
                apply(group)
        self._together(scene, fitting_roots)

    def _charge(
        self,
        requirement: Requirement,
        group: str,
        met: Mask,
        facts: Callable[[Mask], Facts] = lambda _lost: Facts(),
    ) -> None:
        """Remove the roots that do not meet a requirement; ``facts`` are those of lost roots."""
        lost = self.left & ~met
        count = int(np.count_nonzero(lost))
        if count:
            self.left = self.left & met
            left = int(np.count_nonzero(self.left))
            self.lost_at[lost] = len(self._rows)
            self._rows.append((FunnelRow(requirement, group, count, left, Facts()), facts))

    # --- 2. the conditions without an amount

    def _conditions(self, group: Group) -> None:
        self._survivors |= {need: need.considered for need in group.needs}
        for condition in group.conditions:
            if condition.is_joint:
                met = group.roots_meeting(self._snapshot, condition)
            else:
                met = self._narrowed(group, condition)
            self._charge_condition(group, condition, met)

    def _charge_condition(self, group: Group, condition: GroupCondition, met: Mask) -> None:
        facts = partial(provider_facts.of_condition, self._snapshot, group, condition)
        self._charge(condition.requirement, group.requested.suffix, met, facts)

    def _narrowed(self, group: Group, condition: GroupCondition) -> Mask:
        """Narrow the providers of the needs of a group by a condition.

        Return the roots that reach a remaining provider of every need.
        """
        for need in group.needs:
            self._survivors[need] = self._survivors[need] & condition.met
        reaching = [reached_roots(self._snapshot, self._survivors[need]) for need in group.needs]
        return reduce(np.logical_and, reaching)

    # --- 3. and 4. the amounts

    def _amounts(self, group: Group) -> None:
        for need in group.needs:
            for condition in need.amounts:
                masks = (condition.present, condition.unit, condition.enough)
                of = provider_facts.OfClass(self._snapshot, need, condition, self._survivors[need])
                facts_of = (of.inventory, of.units, of.free)
                for amount, mask, facts in zip(
                    condition.requirements, masks, facts_of, strict=True
                ):
                    self._charge(amount, group.requested.suffix, self._reaching(need, mask), facts)

    def _reaching(self, need: GroupNeed, mask: Mask) -> Mask:
        """Return the roots at which a remaining provider of the need meets a condition on a class.

        If a root reaches no provider with all classes, any provider with this class counts.
        """
        met = reached_roots(self._snapshot, self._survivors[need] & mask)
        if len(need.amounts) > 1 and (self.left & ~need.equipped).any():
            providers = all_providers(self._snapshot) & mask
            met = met | (reached_roots(self._snapshot, providers) & ~need.equipped)
        return met

    def _as_a_whole(self, group: Group) -> None:
        for need in group.needs:
            enough = [condition.enough for condition in need.amounts]
            able = reduce(np.logical_and, enough, self._survivors[need])
            met = reached_roots(self._snapshot, able)
            self._charge(OneProvider(group.requested), group.requested.suffix, met)

    # --- 5. groups together

    def _together(self, scene: Scene, fitting_roots: FittingRoots) -> None:
        """Apply the conditions between slots, one requirement after the other."""
        for joint, stage in stages(scene.slotted):
            if not self.left.any():
                return
            contended = stage.contended if isinstance(joint, AmountTogether) else {}
            facts = partial(provider_facts.of_stage, scene, stage, list(contended))
            self._charge(joint, "", fitting_roots.of(stage, self.left), facts)
