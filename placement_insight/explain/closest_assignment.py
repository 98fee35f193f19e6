"""The requirements that the closest assignment of one root does not meet.

An *assignment* names a provider for every slot of the request: of the providers that fail the
fewest conditions, one each, found by the solver of the search. The root lacks the conditions that
they fail, and those between groups that are given up. These are then added to a copy of the world,
or dropped from the request if no provider can meet them: the list is complete if the root fits.
"""

from collections.abc import Collection, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import gcd
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from placement.core import capacity
from placement.core.model import MAX_INT, Inventory, ProviderState
from placement.core.request import CandidateRequest, RequestGroup, forbidden_names
from placement.core.requirement import (
    Amount,
    GroupsRequirement,
    HasInventory,
    ProviderRequirement,
    Requirement,
)
from placement.core.search.candidate_streams import first_assignments
from placement.core.search.deadline import Deadline
from placement.core.search.filters import Domain, root_conditions, sharing_by_aggregate
from placement.core.search.fitting_roots import FittingRoots
from placement.core.search.problems import ProblemBuilder
from placement.core.search.slots import SlottedRequest
from placement.core.snapshot.columns import MAX_FREE
from placement.core.snapshot.rows import mask_of, numbers
from placement.core.snapshot.snapshot import EMPTY, Snapshot
from placement.exception import SearchDeadlineExceeded
from placement_insight.explain.groups import (
    GroupNeed,
    Providers,
    joint_conditions,
    needs_of,
    with_only,
)
from placement_insight.explain.requirements import (
    PLACES,
    AmountTogether,
    JointCondition,
    TraitTogether,
)
from placement_insight.explain.unmet import Closest, Completeness, Lack

Scores: TypeAlias = NDArray[np.float32]
"""A number for each of the two uses of a provider, in the shape of ``Providers``."""

NO_PROVIDER = np.float32(np.inf)
UNLIKE_OTHERS = np.float32(10)  # more than amounts: devices are freed, but get no traits
OUTSIDE_NAMED_TREE = np.float32(1000)  # more than the conditions that a provider can fail
ROUNDS = 3  # an improved root may lack sums of amounts: these are listed in the next round
BY_SHORTFALL, BY_FAILURES = np.float32(0.5), np.float32(0)  # the weight of the shortfall


@dataclass(frozen=True, slots=True)
class Assignment:
    """The rows of the providers of the slots, and the violated conditions between slots."""

    rows: Sequence[int]
    given_up: Sequence[JointCondition]


def closest(
    snapshot: Snapshot, slotted: SlottedRequest, rows: Sequence[int], deadline: Deadline
) -> Closest:
    """Return the requirements that a root does not meet.

    ``rows`` has the row of the root first, then the rows of other providers that its candidates
    may use. If the deadline passes during the call, the conditions between groups may be missing,
    and the list is not complete.
    Raises: SearchDeadlineExceeded if the deadline passed before any requirement was found.
    """
    world = EMPTY.apply([snapshot.entries.state(row) for row in rows])
    first = root = _Root(world, slotted, snapshot.forest.uuids[rows[0]], deadline)
    shortest: Iterable[Lack] = ()
    lacks: dict[Lack, None] = {}
    completeness = Completeness.NOT_CONFIRMED
    try:
        for number in range(ROUNDS):
            assignment = root.closest_assignment()
            new_lacks = root.lacks(assignment)
            if not number:
                shortest = new_lacks
            elif any({*each.names} & {*lack.names} for lack in new_lacks for each in lacks):
                break  # a trait or aggregate that an earlier round added is forbidden elsewhere
            lacks |= dict.fromkeys(map(first.as_it_is, new_lacks))
            root = root.improved(new_lacks, assignment)
            if root.fits():
                completeness, shortest = Completeness.CONFIRMED, lacks
                break
    except SearchDeadlineExceeded:
        completeness = Completeness.CUT
        if not (shortest or first.lacks(first.nearest)):
            raise
    unmet = shortest or first.lacks(first.nearest)
    in_order = sorted(unmet, key=lambda lack: PLACES[type(lack.requirement)])
    usable = [world.entries.state(row) for row in first.usable_rows]
    return Closest(rows[0], in_order, usable, completeness, _distance(in_order, usable))


def _distance(lacks: Iterable[Lack], usable: Iterable[ProviderState]) -> int:
    unmet = {(lack.group, lack.requirement) for lack in lacks}
    classes = frozenset[str]().union(*(each.inventories for each in usable))
    absent = (
        isinstance(each, HasInventory) and each.resource_class not in classes for _, each in unmet
    )
    return len({(group, each.spelled(group)) for group, each in unmet}) + sum(absent)


def failures(need: GroupNeed, waived: Container[str] = ()) -> Scores:
    """Return the number of requirements of a need that every provider fails.

    A class, trait or aggregate that the provider does not have counts more than the amounts
    of a group: no smaller amount would fit either. A provider outside a tree that the request
    names is the last. The number is ``NO_PROVIDER`` for providers that are not considered.
    Amounts of ``waived`` classes do not count.
    """
    number: Scores = np.where(need.considered, np.float32(0), NO_PROVIDER)
    for condition in need.conditions:
        is_named = condition.requirement.named_provider is not None
        number += (OUTSIDE_NAMED_TREE if is_named else UNLIKE_OTHERS) * ~condition.met
    for amount in need.amounts:
        number += (UNLIKE_OTHERS - 1) * ~amount.present
        number += ~(amount.present if amount.resource_class in waived else amount.enough)
    return number


def shortfall(need: GroupNeed) -> NDArray[np.float32]:
    """Return for every row the largest missing fraction of an amount that it has at all."""
    short = np.zeros(len(need.equipped), dtype=np.float32)
    for condition in need.amounts:
        column = condition.column
        missing = np.zeros(len(short), dtype=np.float32)
        free = column.allocatable.clip(0).astype(np.float32)
        missing[column.rows] = 1 - free / np.float32(min(condition.amount, MAX_FREE))
        missing[column.rows[missing[column.rows] <= 0]] = 1  # enough is free, but in another unit
        missing[condition.enough] = 0
        np.maximum(short, missing, out=short)
    return short


class _Root:
    """One root, in a world that has only the providers that the root can use."""

    def __init__(
        self, world: Snapshot, slotted: SlottedRequest, uuid: str, deadline: Deadline
    ) -> None:
        deadline.check()
        self._world = world
        self._root = world.forest.row_of[uuid]
        self._slotted = slotted
        self._deadline = deadline
        self._needs = list(needs_of(world, slotted, deadline))
        groups = {group.suffix: group for group in slotted.request.groups}
        self._slots = [(groups[slot.suffix], self._needs[slot.need]) for slot in slotted.slots]
        self._usable = self._usable_providers()
        self.usable_rows: list[int] = np.flatnonzero(self._usable.any(axis=0)).tolist()
        self._joints = tuple(joint_conditions(slotted))
        domains = self._domains(BY_SHORTFALL)
        first = [[*np.flatnonzero(each.local).tolist(), *each.shared][0] for each in domains]
        self.nearest = Assignment([first[slot.need] for slot in slotted.slots], ())

    def _usable_providers(self) -> Providers:
        """Return the providers of the tree, and the providers that other trees share with it."""
        world, trees = self._world, self._world.tree_aggregates
        local = world.forest.root == self._root
        aggregates = trees.aggregates[trees.number.item(self._root)]
        sharing = world.sharing.numbers.tolist()
        shared = [row for row in sharing if aggregates & world.entries.state(row).aggregates]
        return np.stack([local, mask_of(numbers(shared), world.size) & ~local])

    # --- the options of slots

    def _domains(self, weight: np.float32, waived: Collection[str] = ()) -> list[Domain]:
        """Return the options of the slots by need: the providers with the fewest failures.

        The missing fraction of an amount counts with the weight. Amounts of ``waived`` classes
        do not count if a provider meets all conditions.
        """
        scores = (
            self._failures(need, waived if self._is_served(need) else ())
            + weight * shortfall(need)
            for need in self._needs
        )
        return list(map(self._best, scores))

    def _best(self, scores: Scores) -> Domain:
        self._deadline.tick()
        local, shared = scores == scores.min()
        rows = np.flatnonzero(shared).tolist()
        return Domain(local, tuple(rows), sharing_by_aggregate(self._world, rows))

    def _is_served(self, need: GroupNeed) -> bool:
        return not self._failures(need, ()).all()

    def _failures(self, need: GroupNeed, waived: Collection[str]) -> Scores:
        """Return the number of failures of every provider that the root can use."""
        return np.where(self._usable, failures(need, waived), NO_PROVIDER)

    # --- the assignment

    def closest_assignment(self) -> Assignment:
        """Return the closest assignment.  Raises: SearchDeadlineExceeded."""
        if not self._joints:
            return self.nearest
        rows = self._solution(self._joints, ())
        return Assignment(rows, ()) if rows else self._least_violating()

    def _least_violating(self) -> Assignment:
        """Return an assignment that meets conditions in order.

        A condition that conflicts with the conditions met before it is given up.
        """
        met_joints: list[JointCondition] = []
        given_up: list[JointCondition] = []
        rows = self.nearest.rows
        for joint in self._joints:
            solution = self._solution([*met_joints, joint], given_up)
            (met_joints if solution else given_up).append(joint)
            rows = solution or rows
        return Assignment(rows, given_up)

    def _solution(
        self, joints: Collection[JointCondition], given_up: Collection[JointCondition]
    ) -> list[int] | None:
        """Return the rows of an assignment that meets these conditions between slots."""
        slotted = with_only(self._slotted, joints)
        for domains in self._choices(joints, _waived(given_up)):
            self._deadline.check()
            problems = ProblemBuilder(self._with_amounts(domains), slotted, domains)
            for _, rows in first_assignments(problems, [self._root], self._deadline):
                return rows
        return None

    def _choices(
        self, joints: Collection[JointCondition], waived: Collection[str]
    ) -> Iterator[list[Domain]]:
        """Yield options: the closest; any of suffixed groups; any; last, with a joint trait."""
        own = {self._slotted.slots[at].need for at in self._slotted.unsuffixed}
        domains, any_of = (self._domains(weight, waived) for weight in (BY_SHORTFALL, BY_FAILURES))
        yield domains
        yield [domains[at] if at in own else any_of[at] for at in range(len(domains))]
        yield any_of
        for joint in joints:
            if isinstance(joint, TraitTogether):
                having = joint.requirement.providers(self._world)
                for number, need in enumerate(self._needs):
                    scores = np.where(having, self._failures(need, waived), NO_PROVIDER)
                    if scores.min() < NO_PROVIDER:
                        yield [*domains[:number], self._best(scores), *domains[number + 1 :]]

    def _with_amounts(self, domains: Sequence[Domain]) -> Snapshot:
        """Return the world in which the options of every slot have the requested amounts."""
        changed: dict[int, ProviderState] = {}
        for need, domain in zip(self._needs, domains, strict=True):
            options = domain.local | mask_of(numbers(domain.shared), self._world.size)
            for condition in need.amounts:
                for row in np.flatnonzero(options & ~condition.enough).tolist():
                    state = changed.get(row, self._world.entries.state(row))
                    changed[row] = _with_amount(state, condition.resource_class, condition.amount)
        return self._world.apply(changed.values()) if changed else self._world

    # --- unmet requirements

    def lacks(self, assignment: Assignment) -> tuple[Lack, ...]:
        """Return the conditions that the providers of an assignment fail, or that it violates."""
        conditions = root_conditions(self._world, self._slotted)
        unmet = [each.requirement for each in conditions if not each.local[self._root]]
        at_root = self._at(unmet, RequestGroup(), self._root)
        violated = (self._violated(joint, assignment) for joint in assignment.given_up)
        return tuple(dict.fromkeys((*at_root, *self._failed(assignment), *violated)))

    def _at(
        self, unmet: Iterable[ProviderRequirement], group: RequestGroup, row: int
    ) -> Iterator[Lack]:
        """Yield what a provider lacks of requirements, of alternatives what the group allows."""
        state = self._world.entries.state(row)
        for each in unmet:
            names = each.lacking(state, group.unwanted)
            yield Lack(each, group.suffix, state.provider.uuid, names)

    def _failed(self, assignment: Assignment) -> Iterator[Lack]:
        """Yield the conditions that providers fail, except amounts that are missing in a sum."""
        waived, uuids = _waived(assignment.given_up), self._world.forest.uuids
        for (group, need), row in zip(self._slots, assignment.rows, strict=True):
            if waived and self._is_served(need):
                continue  # another provider meets the conditions: only the sum is missing
            own = self._usable.item(0, row)
            failed = [
                each.requirement for each in need.conditions if not each.met[int(not own), row]
            ]
            if group.suffix or not own:
                yield from self._at(failed, group, row)
            else:
                yield from self._at_root_or(failed, group, row)
            for amount in need.amounts:
                # a missing sum has the amounts of all groups
                present, is_summed = amount.present, amount.resource_class in waived
                fails = (~present, present & ~amount.unit, present & ~amount.free & ~is_summed)
                for requirement, is_failed in zip(amount.requirements, fails, strict=True):
                    if is_failed[row]:
                        yield Lack(requirement, group.suffix, uuids[row])

    def _at_root_or(
        self, failed: Sequence[ProviderRequirement], group: RequestGroup, row: int
    ) -> Iterator[Lack]:
        """Yield requirements that a provider of the tree fails, at the root if it is as close."""
        if any(each.spans_tree for each in failed):
            # that span a tree, and that the root, or the provider, does not meet itself
            spanning = [each for each in group.requirements if each.spans_tree]
            missing = {
                at: [each for each in spanning if not each.providers(self._world)[at]]
                for at in (self._root, row)
            }
            at = min(missing, key=lambda at: len(missing[at]))
            yield from self._at(missing[at], group, at)
        for at, granted in ((self._root, False), (row, True)):
            others = (each for each in failed if each.can_be_granted is granted)
            yield from self._at((each for each in others if not each.spans_tree), group, at)

    def _violated(self, joint: JointCondition, assignment: Assignment) -> Lack:
        if isinstance(joint, TraitTogether):
            row = assignment.rows[self._slotted.unsuffixed[0]]
            return next(self._at([joint.requirement], joint.group, row))
        return Lack(joint, "", self._world.forest.uuids[self._root])

    def as_it_is(self, lack: Lack) -> Lack:
        """Return what this world lacks for the lack of another world.

        The other world may have an inventory that was added for another lack.
        """
        match lack.requirement:
            case Amount(name, needed) if name not in self._state(lack).inventories:
                return replace(lack, requirement=HasInventory(name, needed))
        return lack

    def _state(self, lack: Lack) -> ProviderState:
        return self._world.entries.state(self._world.forest.row_of[lack.provider])

    def improved(self, lacks: Sequence[Lack], assignment: Assignment) -> "_Root":
        """Return the root in a world in which these requirements are met."""
        request = self._slotted.request
        for joint in assignment.given_up:
            request = request.without(joint) if isinstance(joint, GroupsRequirement) else request
        asked, changed = self._slotted.request, dict[str, ProviderState]()
        unwanted = forbidden_names(asked.of_root).union(*(each.unwanted for each in asked.groups))
        for lack in lacks:
            requirement = lack.requirement
            if isinstance(requirement, ProviderRequirement) and not requirement.can_be_granted:
                request = without_in(request, lack.group, requirement)
            states = [self._state(lack)]
            if isinstance(requirement, AmountTogether):
                states = [self._world.entries.state(row) for row in self.usable_rows]
            for state in states:
                uuid = state.provider.uuid
                changed[uuid] = _with(changed.get(uuid, state), lack, unwanted)
        world, uuid = self._world.apply(changed.values()), self._world.forest.uuids[self._root]
        return _Root(world, SlottedRequest.of(request), uuid, self._deadline)

    def fits(self) -> bool:
        """Return whether the search has a candidate.  Raises: SearchDeadlineExceeded."""
        only_root = mask_of(numbers([self._root]), self._world.size)
        fitting = FittingRoots(self._world, self._deadline).of(self._slotted, only_root)
        return bool(fitting[self._root])


def without_in(
    request: CandidateRequest, suffix: str, requirement: Requirement
) -> CandidateRequest:
    """Return the request without a requirement of the group with a suffix."""
    (group,) = (group for group in request.groups if group.suffix == suffix)
    return request.with_group(group.without(requirement))


def _waived(given_up: Collection[JointCondition]) -> set[str]:
    """Return the classes whose sum over the slots is missing."""
    return {joint.resource_class for joint in given_up if isinstance(joint, AmountTogether)}


def _with(state: ProviderState, lack: Lack, unwanted: frozenset[str]) -> ProviderState:
    """Return the provider with the missing names or amount, or without the forbidden names.

    Of alternatives, ``unwanted`` names are not given, unless all are unwanted.
    """
    match lack.requirement:
        case ProviderRequirement() as requirement if lack.names:
            names = frozenset(lack.names)
            present: frozenset[str] = getattr(state, requirement.subject)
            given = present | (names - unwanted or names)
            changed: Any = {
                requirement.subject: present - names if requirement.is_forbidding else given
            }
            return replace(state, **changed)
        case Amount(name, amount):
            return _with_amount(state, name, amount)
        case AmountTogether(name) as joint if name in state.inventories:
            return _with_amount(state, name, joint.needed)
    return state


def _with_amount(state: ProviderState, name: str, amount: int) -> ProviderState:
    """Return a provider that fits the amount, and all amounts that fitted before."""
    amount = min(amount, MAX_INT)
    used, before = state.used.get(name, 0), state.inventories.get(name)
    if before is None:
        return replace(state, inventories={**state.inventories, name: Inventory(used + amount)})
    after = Inventory(
        total=max(capacity.integer_capacity(before), used + amount),
        min_unit=min(before.min_unit, amount),
        max_unit=max(before.max_unit, amount),
        step_size=gcd(before.step_size, amount),
    )
    return replace(state, inventories={**state.inventories, name: after})
