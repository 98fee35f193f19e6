"""A near miss names all unmet requirements, compared with a direct reading of the rules."""

from itertools import product

from hypothesis import given

from placement.core.insight.explain import NEAR_MISSES
from placement.core.request import CandidateRequest, RequestGroup
from placement.tests.oracle import Oracle
from placement.tests.property.explanations import explained
from placement.tests.property.searches import World
from placement.tests.property.strategies import requests, worlds

Lack = tuple[str, str]
TOGETHER = {"combined", "isolate", "same_subtree", "one_provider_per_tree"}


def one_of(names: frozenset[str]) -> str:
    listed = sorted(names)
    return listed[0] if len(listed) == 1 else "in:" + ",".join(listed)


class Part:
    """A suffixed group, or one class of the unsuffixed group."""

    def __init__(self, oracle: Oracle, group: RequestGroup, resources: dict[str, int]) -> None:
        self.oracle = oracle
        self.group = group
        self.resources = resources
        is_together = not group.suffix and len(group.resources) > 1
        self.required = () if is_together else group.required

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
        group, suffix, state = self.group, self.group.suffix, self.oracle.states[uuid]
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
            by_itself = self.oracle.in_all(uuid, group)
            if not by_itself and not (spans and self.oracle.in_all(anchor, group)):
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
            elif not (
                inventory.min_unit <= amount <= inventory.max_unit
                and amount % inventory.step_size == 0
            ):
                yield "unit", requirement
            elif not self.oracle.fits(uuid, name, amount):
                yield "capacity", requirement

    def fewest(self, anchor: str) -> set[frozenset[Lack]]:
        """The unmet requirements of the providers with the fewest of them."""
        lacking = {self.lacks(uuid, anchor) for uuid in self.considered(anchor)}
        least = min(map(len, lacking))
        return {lacks for lacks in lacking if len(lacks) == least}


def parts_of(oracle: Oracle, group: RequestGroup) -> list[Part]:
    if group.suffix:
        return [Part(oracle, group, dict(group.resources))]
    return [Part(oracle, group, {name: amount}) for name, amount in group.resources.items()]


def of_root(oracle: Oracle, request: CandidateRequest, anchor: str):
    state = oracle.states[anchor]
    for name in request.root_required - state.traits:
        yield "root_trait", f"root_required={name}"
    for name in request.root_forbidden & state.traits:
        yield "root_trait", f"root_required=!{name}"
    for group in request.groups:
        if not group.suffix and group.not_member_of & state.aggregates:
            yield "forbidden_aggregate", f"member_of=!{one_of(group.not_member_of)}"


def traits_together(oracle: Oracle, group: RequestGroup, parts: list[Part], anchor: str):
    if not group.suffix and len(parts) > 1:
        seen = {uuid for part in parts for uuid in part.considered(anchor)}
        for any_of in group.required:
            if not any(oracle.states[uuid].traits & any_of for uuid in seen):
                yield "trait", f"required={one_of(any_of)}"


def possible(oracle: Oracle, request: CandidateRequest, anchor: str) -> set[frozenset[Lack]]:
    """Every set of requirements that may be reported as unmet for the root."""
    always = set(of_root(oracle, request, anchor))
    choices = []
    for group in request.groups:
        parts = parts_of(oracle, group)
        always |= set(traits_together(oracle, group, parts, anchor))
        choices += [part.fewest(anchor) for part in parts]
    return {frozenset(always).union(*choice) for choice in product(*choices)}


@given(worlds(), requests())
def test_a_near_miss_lacks_exactly_what_is_listed(world: World, request: CandidateRequest):
    explanation = explained(world, request)
    oracle = Oracle(world)
    assert len(explanation.near_misses) == min(NEAR_MISSES, explanation.roots - explanation.fits)
    for miss in explanation.near_misses:
        root = miss.root.uuid
        assert not oracle.candidates(request, anchors=[root])
        listed = frozenset((each.code, each.requirement) for each in miss.unmet)
        assert len(listed) == len(miss.unmet) > 0
        if listed & {(code, req) for code, req in listed if code in TOGETHER}:
            assert len(listed) == 1
            assert frozenset() in possible(oracle, request, root)
        else:
            assert listed in possible(oracle, request, root)


@given(worlds(), requests())
def test_those_that_lack_least_come_first(world: World, request: CandidateRequest):
    numbers = [len(miss.unmet) for miss in explained(world, request).near_misses]
    assert numbers == sorted(numbers)


@given(worlds(), requests())
def test_the_amounts_are_those_of_the_provider(world: World, request: CandidateRequest):
    oracle = Oracle(world)
    for miss in explained(world, request).near_misses:
        for each in miss.unmet:
            if each.code in {"unit", "capacity"}:
                state = oracle.states[each.provider.uuid]
                inventory = state.inventories[each.amounts.resource_class]
                used = state.used.get(each.amounts.resource_class, 0)
                total = int((inventory.total - inventory.reserved) * inventory.allocation_ratio)
                assert each.amounts.capacity == total
                assert each.amounts.free == total - used
                assert (each.amounts.used, each.amounts.reserved) == (used, inventory.reserved)
                assert each.amounts.max_unit == inventory.max_unit
                assert each.code == "unit" or each.amounts.free < each.amounts.needed
