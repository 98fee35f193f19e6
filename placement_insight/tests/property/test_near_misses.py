"""A near miss names all unmet requirements, compared with a direct reading of the rules.

What it says is applied to a copy of the world, or to the request if no provider can have it: then
a candidate is found around that root.
"""

from collections.abc import Container, Iterator
from dataclasses import replace
from itertools import product
from math import gcd

import pytest
from hypothesis import given
from hypothesis import strategies as st

from placement.core.model import SHARING_TRAIT, Inventory, ProviderState
from placement.core.request import CandidateRequest, RequestGroup
from placement.core.requirement import (
    ForbiddenRootTrait,
    ForbiddenTrait,
    HasInventory,
    InEach,
    InTree,
    InUnits,
    IsFree,
    Isolate,
    MemberOf,
    NotMemberOf,
    OneProviderPerTree,
    RequiredTrait,
    RootTrait,
    SameSubtree,
)
from placement.tests.property.searches import World
from placement.tests.property.strategies import (
    AGGREGATES,
    device_requests,
    device_worlds,
    requests,
    worlds,
)
from placement.tests.support.oracle import Oracle
from placement.tests.support.requests import parts, root_traits
from placement_insight.explain.closest_assignment import without_in
from placement_insight.explain.explain import NEAR_MISSES
from placement_insight.explain.requirements import AmountTogether
from placement_insight.explain.unmet import Completeness, NearMiss, Unmet
from placement_insight.tests.property.explanations import explained

Lack = tuple[str, str]
OF_REQUEST = (InTree, Isolate, SameSubtree, OneProviderPerTree)
TOGETHER = (AmountTogether, Isolate, SameSubtree, OneProviderPerTree)


def one_of(names: frozenset[str]) -> str:
    listed = sorted(names)
    return listed[0] if len(listed) == 1 else "in:" + ",".join(listed)


def capacity_of(inventory: Inventory) -> int:
    return int((inventory.total - inventory.reserved) * inventory.allocation_ratio)


class Part:
    """A suffixed group, or one class of the unsuffixed group."""

    def __init__(self, oracle: Oracle, group: RequestGroup, resources: dict[str, int]) -> None:
        self.oracle = oracle
        self.group = group
        self.resources = resources
        is_together = not group.suffix and len(group.resources) > 1
        self.parts = parts(group)
        self.required = () if is_together else self.parts.required

    def considered(self, anchor: str) -> list[str]:
        """The usable providers with all classes, else all of the tree."""
        able = [
            uuid
            for uuid, state in self.oracle.states.items()
            if self.oracle.usable(uuid, anchor)
            and state.inventories.keys() >= self.resources.keys()
        ]
        return able or [uuid for uuid in self.oracle.states if self.oracle.root(uuid) == anchor]

    def lacks(self, uuid: str, anchor: str) -> frozenset[Lack]:
        return frozenset([*self.kinds(uuid, anchor), *self.amounts(uuid)])

    def kinds(self, uuid: str, anchor: str):
        group, suffix, state = self.parts, self.group.suffix, self.oracle.states[uuid]
        is_local = self.oracle.root(uuid) == anchor
        spans = not suffix and is_local
        if state.aggregates & group.not_member_of:
            yield "forbidden_aggregate", f"member_of{suffix}=!{one_of(group.not_member_of)}"
        above = self.oracle.states[anchor].aggregates if spans else frozenset()
        failed = [
            any_of
            for any_of in group.member_of
            if not state.aggregates & any_of and not above & any_of
        ]
        for any_of in failed:
            yield "aggregate", f"member_of{suffix}={one_of(any_of)}"
        if group.member_of and not failed:
            by_itself = self.oracle.in_all(uuid, self.group)
            if not by_itself and not (spans and self.oracle.in_all(anchor, self.group)):
                yield (
                    "aggregate",
                    "member_of=" + "&member_of=".join(map(one_of, dict.fromkeys(group.member_of))),
                )
        if group.in_tree is not None:
            tree = self.oracle.tree(group.in_tree)
            if self.oracle.root(uuid) != tree or (not suffix and not is_local):
                yield "in_tree", f"in_tree{suffix}={group.in_tree}"
        for any_of in self.required:
            if not state.traits & any_of:
                yield "trait", f"required{suffix}={one_of(any_of)}"
        for name in group.forbidden & state.traits:
            yield "forbidden_trait", f"required{suffix}=!{name}"

    def amounts(self, uuid: str):
        for name, amount in self.resources.items():
            inventory = self.oracle.states[uuid].inventories.get(name)
            requirement = f"resources{self.group.suffix}={name}:{amount}"
            if inventory is None:
                yield "no_inventory", requirement
                continue
            if not (
                inventory.min_unit <= amount <= inventory.max_unit
                and amount % inventory.step_size == 0
            ):
                yield "unit", requirement
            if capacity_of(inventory) < self.oracle.states[uuid].used.get(name, 0) + amount:
                yield "capacity", requirement

    def fewest(self, anchor: str) -> set[frozenset[Lack]]:
        """The unmet requirements of the providers with the fewest of them."""
        lacking = {self.lacks(uuid, anchor) for uuid in self.considered(anchor)}
        least = min(map(len, lacking))
        return {lacks for lacks in lacking if len(lacks) == least}


def slots_of(oracle: Oracle, group: RequestGroup) -> list[Part]:
    if group.suffix:
        return [Part(oracle, group, dict(group.resources))]
    return [Part(oracle, group, {name: amount}) for name, amount in group.resources.items()]


def of_root(oracle: Oracle, request: CandidateRequest, anchor: str):
    state = oracle.states[anchor]
    required, forbidden = root_traits(request)
    for name in required - state.traits:
        yield "root_trait", f"root_required={name}"
    for name in forbidden & state.traits:
        yield "root_trait", f"root_required=!{name}"
    for group in request.groups:
        unwanted = parts(group).not_member_of
        if not group.suffix and unwanted & state.aggregates:
            yield "forbidden_aggregate", f"member_of=!{one_of(unwanted)}"


def fewest(oracle: Oracle, request: CandidateRequest, anchor: str, summed: Container[str]) -> int:
    """The number of requirements that no choice of providers can meet, groups taken one by one.

    Of ``summed`` classes, the sum is missing, which has the amounts of the groups.
    """
    always = set(of_root(oracle, request, anchor))
    choices = [part.fewest(anchor) for group in request.groups for part in slots_of(oracle, group)]
    return min(
        number_of(
            frozenset(
                (code, requirement)
                for code, requirement in always.union(*choice)
                if code != "capacity" or requirement.split("=")[1].split(":")[0] not in summed
            )
        )
        for choice in product(*choices)
    )


def number_of(lacks: frozenset[Lack]) -> int:
    """The number of requirements; an aggregate that the root lacks can be all that parts lack.

    A part that meets each list of aggregates, but not in one place, lacks what another part may.
    """
    together = {lack for lack in lacks if "&member_of=" in lack[1]}
    is_listed = any(
        lack[1].startswith("member_of=") for lack in lacks - together if lack[0] == "aggregate"
    )
    return len(lacks - together) + (bool(together) and not is_listed)


# --- what is listed, applied ----------------------------------------------------------------


def raised(state: ProviderState, name: str, amount: int) -> ProviderState:
    """The provider with as much free, in one allocation; nothing that fits before does not."""
    used, inventory = state.used.get(name, 0), state.inventories.get(name, Inventory(0))
    larger = Inventory(
        max(capacity_of(inventory), used + amount),
        min_unit=min(inventory.min_unit, amount),
        max_unit=max(inventory.max_unit, amount),
        step_size=gcd(inventory.step_size, amount),
    )
    return replace(state, inventories={**state.inventories, name: larger})


def improved(state: ProviderState, lack: Unmet, alternative: str) -> ProviderState:
    """The provider with what it lacks, one of the alternatives."""
    match lack.requirement:
        case ForbiddenTrait() | ForbiddenRootTrait():
            return replace(state, traits=state.traits - set(lack.names))
        case NotMemberOf():
            return replace(state, aggregates=state.aggregates - set(lack.names))
        case RequiredTrait() | RootTrait():
            return replace(state, traits=state.traits | {alternative})
        case MemberOf() | InEach():
            return replace(state, aggregates=state.aggregates | {alternative})
    amounts = lack.facts.amounts
    return raised(state, amounts.resource_class, amounts.needed)


def with_all(world: World, lacks: tuple[Unmet, ...]) -> Iterator[World]:
    """The worlds in which each provider has what it lacks, for each choice of alternatives."""
    for choice in product(*(sorted(lack.names) or ("",) for lack in lacks)):
        yield with_each(world, dict(zip(lacks, choice, strict=True)))


def with_each(world: World, lacks: dict[Unmet, str]) -> World:
    states = {state.provider.uuid: state for state in world}
    for lack, alternative in lacks.items():
        if isinstance(lack.requirement, AmountTogether):
            name = lack.requirement.resource_class
            for uuid, state in states.items():
                if name in state.inventories:
                    states[uuid] = raised(state, name, lack.facts.amounts.needed)
        elif not isinstance(lack.requirement, OF_REQUEST):
            state = states[lack.provider.uuid]
            states[lack.provider.uuid] = improved(state, lack, alternative)
    return list(states.values())


def without(request: CandidateRequest, lacks: tuple[Unmet, ...]) -> CandidateRequest:
    """The request without the requirements that no change of a provider can meet."""
    for lack in lacks:
        if isinstance(lack.requirement, InTree):
            request = without_in(request, lack.group, lack.requirement)
        elif isinstance(lack.requirement, OF_REQUEST):
            request = request.without(lack.requirement)
    return request


def is_contradictory(request: CandidateRequest) -> bool:
    """Whether a group wants what another one, or the root, must not have, or shares by."""
    groups = [parts(group) for group in request.groups]
    wanted, unwanted = root_traits(request)
    for group in groups:
        wanted = wanted.union(*group.required, *group.member_of)
        unwanted |= group.forbidden | group.not_member_of
    return bool(wanted & unwanted) or bool(unwanted & {SHARING_TRAIT, *AGGREGATES})


def missing(world: World, request: CandidateRequest) -> set[str]:
    """The hosts that do not fit; of trees that groups name, those that can use most of them."""
    oracle = Oracle(world)
    trees = {group.suffix: parts(group).in_tree for group in request.groups}
    trees = {suffix: oracle.tree(uuid) for suffix, uuid in trees.items() if uuid}
    used = {
        root: sum(uses(oracle, root, tree, suffix) for suffix, tree in trees.items())
        for root in oracle.states
        if oracle.root(root) == root
        and (is_host(oracle, root) or trees.get("") == root or oracle.candidates(request, [root]))
    }
    most = max(used.values(), default=0)
    return {
        root
        for root, number in used.items()
        if number == most
        and not oracle.candidates(request, anchors=[root])
        and (number or not trees)
    }


def uses(oracle: Oracle, root: str, tree: str | None, suffix: str) -> bool:
    """Whether a group can have providers of a tree; the unsuffixed group, of its own only."""
    of_tree = [uuid for uuid in oracle.states if oracle.root(uuid) == tree]
    return any(oracle.usable(uuid, root) for uuid in of_tree if suffix or tree == root)


def is_host(oracle: Oracle, root: str) -> bool:
    """Whether the root is no sharing provider, or has children."""
    is_parent = any(state.provider.parent_uuid == root for state in oracle.states.values())
    return is_parent or SHARING_TRAIT not in oracle.states[root].traits


@pytest.mark.parametrize("make", ["any", "devices"])
@given(data=st.data())
def test_a_root_fits_with_all_that_it_lacks(make: str, data: st.DataObject):
    world = data.draw(worlds() if make == "any" else device_worlds())
    request = data.draw(requests() if make == "any" else device_requests())
    explanation = explained(world, request)
    roots = missing(world, request)
    assert len(explanation.near_misses) == min(NEAR_MISSES, len(roots))
    assert {miss.root.uuid for miss in explanation.near_misses} <= roots
    for miss in explanation.near_misses:
        assert not Oracle(world).candidates(request, anchors=[miss.root.uuid])
        assert miss.unmet
        assert len(set(miss.unmet)) == len(miss.unmet)
        relaxed = without(request, miss.unmet)
        fits = any(
            Oracle(after).candidates(relaxed, anchors=[miss.root.uuid])
            for after in with_all(world, miss.unmet)
        )
        is_complete = miss.completeness is Completeness.CONFIRMED
        assert fits or not is_complete
        assert is_complete or is_contradictory(request)


@given(worlds(), requests())
def test_a_near_miss_lacks_what_is_listed(world: World, request: CandidateRequest):
    """Each entry is true of the provider that it names."""
    oracle = Oracle(world)
    for miss in explained(world, request).near_misses:
        anchor = miss.root.uuid
        failed = set(of_root(oracle, request, anchor))
        for group in request.groups:
            for part in slots_of(oracle, group):
                for uuid in {each.provider.uuid for each in miss.unmet}:
                    failed |= part.lacks(uuid, anchor)
        for each in miss.unmet:
            requirement = each.requirement
            of_parts = isinstance(requirement, RequiredTrait) and not each.group
            is_joint = isinstance(requirement, TOGETHER) or of_parts
            assert is_joint or (requirement.code, requirement.spelled(each.group)) in failed


def distance(oracle: Oracle, miss: NearMiss) -> int:
    """The number of unmet requirements; a class that the host cannot use counts twice."""
    usable = [
        state for uuid, state in oracle.states.items() if oracle.usable(uuid, miss.root.uuid)
    ]
    classes = {name for state in usable for name in state.inventories}
    unmet = {(each.group, each.requirement) for each in miss.unmet}
    spelled = {(group, requirement.spelled()) for group, requirement in unmet}
    absent = (
        isinstance(each, HasInventory) and each.resource_class not in classes for _, each in unmet
    )
    return len(spelled) + sum(absent)


@given(worlds(), requests())
def test_those_that_lack_least_come_first(world: World, request: CandidateRequest):
    oracle = Oracle(world)
    ranks = [distance(oracle, miss) for miss in explained(world, request).near_misses]
    assert ranks == sorted(ranks)


@given(worlds(), requests())
def test_a_near_miss_does_not_lack_more_than_is_listed_of_the_groups(world, request):
    """Without conditions between groups nothing that is listed can be left out."""
    oracle = Oracle(world)
    for miss in explained(world, request).near_misses:
        listed = {(each.group, each.requirement) for each in miss.unmet}
        summed = {
            requirement.resource_class
            for _, requirement in listed
            if isinstance(requirement, AmountTogether)
        }
        assert len(listed) >= fewest(oracle, request, miss.root.uuid, summed)


@given(worlds(), requests())
def test_the_amounts_are_those_of_the_provider(world: World, request: CandidateRequest):
    oracle = Oracle(world)
    for miss in explained(world, request).near_misses:
        for each in miss.unmet:
            if isinstance(each.requirement, InUnits | IsFree):
                amounts = each.facts.amounts
                state = oracle.states[each.provider.uuid]
                inventory = state.inventories[amounts.resource_class]
                used = state.used.get(amounts.resource_class, 0)
                total = capacity_of(inventory)
                assert amounts.capacity == total
                assert amounts.free == total - used
                assert (amounts.used, amounts.reserved) == (used, inventory.reserved)
                assert amounts.max_unit == inventory.max_unit
                assert isinstance(each.requirement, InUnits) or amounts.free < amounts.needed
