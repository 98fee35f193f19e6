"""The search equals the oracle, and its candidates can be claimed."""

import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from placement.core.capacity import allocatable
from placement.core.model import SHARING_TRAIT
from placement.core.request import (
    CandidateRequest,
    ProviderFilter,
    RequestGroup,
    SearchSettings,
)
from placement.core.requirement import ForbiddenTrait, InTree, RequiredTrait
from placement.core.search import subproblems
from placement.core.search.provider_filter import filter_providers
from placement.tests.property.searches import World, found_in, once, search_in, snapshot_of
from placement.tests.property.strategies import (
    AGGREGATES,
    CLASSES,
    TRAITS,
    device_requests,
    device_worlds,
    filters,
    requests,
    several_requests,
    with_free_host,
    worlds,
)
from placement.tests.support.oracle import Oracle
from placement.tests.support.queries import allocations_of, mappings_of, request_of
from placement.tests.support.requests import group_of, with_requirement
from placement.tests.support.worlds import world as world_of


@given(worlds().map(with_free_host), several_requests)
def test_search_finds_what_the_oracle_finds(world: World, queries: Sequence[CandidateRequest]):
    snapshot, oracle = snapshot_of(world), Oracle(world)
    for query in queries:
        assert once(found_in(snapshot, query)) == oracle.candidates(query)


@given(device_worlds(), device_requests())
def test_hosts_that_are_not_alike_have_the_candidates_of_the_oracle(
    world: World, request: CandidateRequest
):
    everything = Oracle(world).candidates(request)
    snapshot = snapshot_of(world)
    assert once(found_in(snapshot, request)) == everything
    assert once(found_in(snapshot, request, SearchSettings(randomize=True))) == everything


@given(device_worlds(), device_requests(), st.sampled_from((0, 4, 9)))
def test_trees_that_are_too_large_to_divide_have_the_candidates_of_the_oracle(
    world: World, request: CandidateRequest, most: int
):
    with mock.patch.object(subproblems, "_MAX_DIVIDED", most):
        assert once(found_in(snapshot_of(world), request)) == Oracle(world).candidates(request)


@given(device_worlds(), device_requests())
def test_hosts_that_are_not_alike_take_turns(world: World, request: CandidateRequest):
    snapshot = snapshot_of(world)
    everything = Oracle(world).candidates(request)
    limits = [found_in(snapshot, replace(request, limit=limit)) for limit in range(1, 6)]
    for limit, candidates in enumerate(limits, start=1):
        assert once(candidates) <= everything
        assert len(candidates) == min(limit, len(everything))
        assert candidates == limits[-1][:limit]


@given(device_worlds(), device_requests(), st.randoms())
def test_rows_in_any_order_have_the_same_candidates(
    world: World, request: CandidateRequest, rng: random.Random
):
    snapshot = snapshot_of([])
    remaining = list(world)
    while remaining:
        waiting = {state.provider.uuid for state in remaining}
        ready = [state for state in remaining if state.provider.parent_uuid not in waiting]
        added = rng.choice(ready)
        remaining.remove(added)
        snapshot = snapshot.apply([added])
    assert once(found_in(snapshot, request)) == Oracle(world).candidates(request)


@given(worlds(), st.sampled_from(CLASSES), st.sampled_from(AGGREGATES), st.booleans())
def test_the_root_spans_its_tree_as_the_oracle_says(
    world: World, name: str, aggregate: str, wanted: bool
):
    member_of = (frozenset({aggregate}),) if wanted else ()
    shut_out = frozenset() if wanted else frozenset({aggregate})
    group = group_of(resources={name: 1}, member_of=member_of, not_member_of=shut_out)
    request = CandidateRequest((group,))
    assert once(found_in(snapshot_of(world), request)) == Oracle(world).candidates(request)


@pytest.mark.parametrize("shared_with", ["@x", "@y", "@x @y"])
def test_equal_trees_use_the_sharing_providers_of_their_aggregates(shared_with: str):
    """Two trees have sharing providers of their own, which the other trees may use, too."""
    queries = (
        "resources=VCPU:1,DISK_GB:1",
        "resources1=VCPU:1&resources2=DISK_GB:2&group_policy=none",
    )
    for members in product(["", "@x", "@y"], repeat=3):
        trees = [
            f"cn{n} VCPU=4 {aggregates}\n"
            f"  cn{n}a DISK_GB=2 {f'+{SHARING_TRAIT} {shared_with}' if n != 1 else ''}\n"
            f"  cn{n}b DISK_GB=2\n"
            for n, aggregates in enumerate(members)
        ]
        states = world_of("".join(trees) + f"nfs DISK_GB=4 +{SHARING_TRAIT} @y")
        snapshot, oracle = snapshot_of(states), Oracle(states)
        for query in map(request_of, queries):
            assert once(found_in(snapshot, query)) == oracle.candidates(query), members


@given(
    st.lists(st.integers(2, 6), min_size=2, max_size=3),
    st.lists(st.integers(1, 4), min_size=3, max_size=6),
)
def test_packing_is_decided_as_the_oracle_does(sizes: list[int], amounts: list[int]):
    children = "\n".join(f"  dev{n} VCPU={size}" for n, size in enumerate(sizes))
    states = world_of(f"host\n{children}")
    groups = [RequestGroup(f"_{n}", {"VCPU": amount}) for n, amount in enumerate(amounts)]
    request = CandidateRequest(tuple(groups))
    assert once(found_in(snapshot_of(states), request)) == Oracle(states).candidates(request)


@given(worlds(), filters)
def test_providers_match_as_the_oracle_says(world: World, criteria: ProviderFilter):
    listed = filter_providers(snapshot_of(world), criteria)
    assert sorted(e.state.provider.uuid for e in listed) == Oracle(world).providers(criteria)


@given(worlds(), requests(), st.integers(1, 5), st.booleans(), st.booleans())
def test_a_limit_gives_that_many_of_them(
    world: World, request: CandidateRequest, limit: int, randomize: bool, bounded: bool
):
    everything = Oracle(world).candidates(request)
    settings = SearchSettings(randomize=randomize, max_candidates=limit if bounded else None)
    limited = request if bounded else replace(request, limit=limit)
    offered = once(found_in(snapshot_of(world), limited, settings))
    assert offered <= everything
    assert len(offered) == min(limit, len(everything))


@given(worlds(), requests())
def test_random_order_loses_nothing(world: World, request: CandidateRequest):
    snapshot = snapshot_of(world)
    shuffled = found_in(snapshot, request, SearchSettings(randomize=True))
    assert once(shuffled) == once(found_in(snapshot, request))


@given(worlds(), requests())
def test_breadth_and_depth_find_the_same(world: World, request: CandidateRequest):
    snapshot = snapshot_of(world)
    wide = SearchSettings(max_candidates=10**6, breadth_first=True)
    deep = SearchSettings(max_candidates=10**6, breadth_first=False)
    assert once(found_in(snapshot, request, wide)) == once(found_in(snapshot, request, deep))


@given(worlds(), requests())
def test_a_longer_limit_begins_like_a_shorter(world: World, request: CandidateRequest):
    snapshot, in_order = snapshot_of(world), SearchSettings(rotate=False)
    longer = found_in(snapshot, replace(request, limit=4), in_order)
    assert found_in(snapshot, replace(request, limit=3), in_order) == longer[:3]


@given(device_worlds() | worlds(), device_requests() | requests(), st.integers(1, 3))
def test_turns_have_a_candidate_of_each_root_and_an_uncut_response_its_order(
    world: World, request: CandidateRequest, limit: int
):
    snapshot = snapshot_of(world)
    limited, of_one = replace(request, limit=limit), replace(request, limit=1)
    in_order = found_in(snapshot, limited, SearchSettings(rotate=False))
    everything = once(found_in(snapshot, request))
    found: set[object] = set()
    firsts: set[object] = set()
    for turn in range(3 * len(world)):
        candidates = found_in(snapshot, limited, turn=turn)
        assert len(once(candidates)) == min(limit, len(everything))
        if not search_in(snapshot, limited, SearchSettings(), turn).left_out:
            assert candidates == in_order
            return
        found.update(candidates)
        firsts.update(found_in(snapshot, of_one, turn=turn))
    assert firsts <= found <= everything
    if not any("MISC_SHARES_VIA_AGGREGATE" in state.traits for state in world):
        root_of = {state.provider.uuid: state.provider.root_uuid for state in world}
        assert _roots(firsts, root_of) == _roots(found, root_of) == _roots(everything, root_of)


def _roots(candidates: Iterable[Any], root_of: Mapping[str, str]) -> set[str]:
    return {root_of[uuid] for amounts, _ in candidates for uuid, _, _ in amounts}


@given(worlds(), requests())
def test_every_candidate_can_be_claimed_as_it_stands(world: World, request: CandidateRequest):
    state_of = {state.provider.uuid: state for state in world}
    for allocations, _ in found_in(snapshot_of(world), request):
        for uuid, name, amount in allocations:
            state = state_of[uuid]
            assert amount <= allocatable(state.inventories[name], state.used.get(name, 0))


@given(worlds(), requests())
def test_summaries_show_the_trees_that_are_used(world: World, request: CandidateRequest):
    snapshot = snapshot_of(world)
    response = search_in(snapshot, request, SearchSettings())
    used = {uuid for candidate in response.candidates for uuid in allocations_of(candidate)}
    root_of = {state.provider.uuid: state.provider.root_uuid for state in world}
    if request.nested:
        roots = {root_of[uuid] for uuid in used}
        used = {uuid for uuid, root in root_of.items() if root in roots}
    shown = Counter(entry.state.provider.uuid for entry in response.summaries)
    assert shown == Counter(used)


@given(worlds(), requests(), st.data())
def test_one_more_requirement_adds_no_candidate(
    world: World, request: CandidateRequest, data: st.DataObject
):
    snapshot = snapshot_of(world)
    number = data.draw(st.integers(0, len(request.groups) - 1))
    trait = data.draw(st.sampled_from(TRAITS))
    group = request.groups[number]
    stricter = data.draw(
        st.sampled_from(
            (
                with_requirement(group, RequiredTrait.one(trait)),
                with_requirement(group, ForbiddenTrait.one(trait)),
                with_requirement(group, InTree(world[0].provider.uuid)),
            )
        )
    )
    groups = (*request.groups[:number], stricter, *request.groups[number + 1 :])
    fewer = once(found_in(snapshot, replace(request, groups=groups)))
    assert fewer <= once(found_in(snapshot, request))


@given(worlds(), requests())
def test_equal_requests_get_equal_answers(world: World, request: CandidateRequest):
    snapshot = snapshot_of(world)
    limited = replace(request, limit=3)
    first, second = (search_in(snapshot, limited, SearchSettings()) for _ in range(2))
    assert [c.providers for c in first.candidates] == [c.providers for c in second.candidates]
    assert list(map(mappings_of, first.candidates)) == list(map(mappings_of, second.candidates))
