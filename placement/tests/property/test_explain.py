"""An explanation agrees with the search, and its numbers add up."""

import time
from dataclasses import replace

from hypothesis import given

from placement.core.insight.explanation import explain
from placement.core.insight.requirements import without_one
from placement.core.model import ProviderState
from placement.core.request import CandidateRequest, RequestGroup
from placement.tests.oracle import Oracle
from placement.tests.property.strategies import requests, worlds
from placement.tests.property.test_search import snapshot_of


def roots_with_candidates(world: list[ProviderState], request: CandidateRequest) -> int:
    """Count the roots around which the oracle finds something."""
    oracle = Oracle(world)
    roots = [uuid for uuid in oracle.states if oracle.root(uuid) == uuid]
    return sum(bool(oracle.candidates(request, anchors=[root])) for root in roots)


@given(worlds(), requests())
def test_what_remains_are_the_roots_with_candidates(
    world: list[ProviderState], request: CandidateRequest
):
    told = explain(snapshot_of(world), request, now=time.monotonic, relaxed=True)
    assert told.remaining == roots_with_candidates(world, request)
    assert told.roots - sum(loss.count for loss in told.losses) == told.remaining
    for tally in told.slots:
        lost = sum(loss.count for loss in tally.losses)
        assert tally.considered - lost == tally.remaining
    for each in (*told.losses, *(loss for tally in told.slots for loss in tally.losses)):
        assert each.count >= 0
    assert all(relaxation.roots > told.remaining for relaxation in told.relaxations)


@given(worlds(), requests())
def test_dropping_a_requirement_lets_the_roots_fit_that_the_oracle_finds(
    world: list[ProviderState], request: CandidateRequest
):
    told = explain(snapshot_of(world), request, now=time.monotonic, relaxed=True)
    fitting = {
        requirement: roots_with_candidates(world, looser)
        for requirement, looser in without_one(request)
    }
    assert {relaxation.requirement: relaxation.roots for relaxation in told.relaxations} == {
        requirement: roots for requirement, roots in fitting.items() if roots > told.remaining
    }


@given(worlds(), requests())
def test_a_suffixed_group_is_left_the_providers_that_serve_it(
    world: list[ProviderState], request: CandidateRequest
):
    oracle = Oracle(world)
    told = explain(snapshot_of(world), request, now=time.monotonic)
    tallies = {tally.suffix: tally for tally in told.slots}
    for group in request.groups:
        if not group.suffix:
            continue
        tally = tallies[group.suffix]
        assert tally.remaining == sum(oracle.serves(uuid, group) for uuid in oracle.states)
        for name, largest in tally.largest.items():
            served = {amount for amount in range(1, 40) if serving(oracle, group, name, amount)}
            assert largest == max(served, default=0)


def serving(oracle: Oracle, group: RequestGroup, name: str, amount: int) -> bool:
    """Tell whether some provider serves the group if it wants that much of one class."""
    asked = replace(group, resources={**group.resources, name: amount})
    return any(oracle.serves(uuid, asked) for uuid in oracle.states)
