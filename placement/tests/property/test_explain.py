"""An explanation agrees with the search, and its numbers add up."""

import time

from hypothesis import given

from placement.core.explain import explain
from placement.core.model import ProviderState
from placement.core.request import CandidateRequest
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
