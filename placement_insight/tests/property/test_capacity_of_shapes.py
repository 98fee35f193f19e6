"""Capacity against claims that are made one after another, in any order."""

import random
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from placement.core.request import SearchSettings
from placement.core.search.deadline import Deadline
from placement.core.search.search import search
from placement.core.snapshot.rows import numbers
from placement.tests.property.searches import snapshot_of
from placement.tests.property.strategies import requests, worlds
from placement.tests.support.oracle import Oracle
from placement.tests.support.queries import Offers, allocations_of
from placement_insight.plan.capacity.model import CapacityOfRoots

MOST = 200


def never():
    return 0.0


def candidates(snapshot, request):
    found = search(snapshot, request, SearchSettings(), Deadline(1, never))
    return Offers.of(found).candidates


def after(snapshot, candidate):
    """Return the snapshot after a claim of the candidate."""
    changed = []
    for uuid, amounts in allocations_of(candidate).items():
        state = snapshot.state(uuid)
        used = {name: state.used.get(name, 0) + amount for name, amount in amounts.items()}
        changed.append(replace(state, used={**state.used, **used}))
    return snapshot.apply(changed)


def claimed(snapshot, request, choose):
    """Return the number of claims after which there are no candidates."""
    count = 0
    while offered := candidates(snapshot, request):
        snapshot = after(snapshot, choose(offered))
        count += 1
    return count


@given(worlds(), requests(), st.randoms(use_true_random=False))
def test_no_order_of_claims_makes_more_than_the_bound(world, request, rng):
    request, snapshot = replace(request, limit=None), snapshot_of(world)
    capacity = CapacityOfRoots(snapshot, request, Deadline(1, never))
    total = capacity.of(capacity.rows)
    assert total.claims <= total.at_most
    assert (total.claims > 0) == bool(candidates(snapshot, request))
    assert claimed(snapshot, request, rng.choice) <= total.at_most


@given(worlds(), requests())
def test_standalone_roots_are_exact_in_any_order(world, request):
    request = replace(request, limit=None)
    flat = [
        replace(
            state,
            provider=replace(state.provider, parent_uuid=None, root_uuid=state.provider.uuid),
            traits=state.traits - {"MISC_SHARES_VIA_AGGREGATE"},
        )
        for state in world
    ]
    snapshot = snapshot_of(flat)
    capacity = CapacityOfRoots(snapshot, request, Deadline(1, never))
    total = capacity.of(capacity.rows)
    assert total.exact
    assert total.claims == claimed(snapshot, request, random.Random(0).choice)


@given(worlds(), requests())
def test_the_roots_are_those_that_have_candidates(world, request):
    request, snapshot = replace(request, limit=None), snapshot_of(world)
    capacity = CapacityOfRoots(snapshot, request, Deadline(1, never))
    oracle = Oracle(world)
    fitting = {
        snapshot.forest.uuids[row] for row in capacity.rows if capacity.of(numbers([row])).roots
    }
    roots = [state.provider.uuid for state in world if state.provider.parent_uuid is None]
    assert fitting == {root for root in roots if oracle.candidates(request, [root])}
