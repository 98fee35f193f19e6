"""An explanation agrees with the search, and its numbers add up."""

import time

from hypothesis import given

from placement.core.insight.explain import explain
from placement.core.insight.explanation import CODES, Explanation
from placement.core.insight.relaxations import without_one
from placement.core.model import ProviderState
from placement.core.request import CandidateRequest
from placement.tests.oracle import Oracle
from placement.tests.property.strategies import requests, worlds
from placement.tests.property.test_search import snapshot_of

World = list[ProviderState]


def explained(world: World, request: CandidateRequest, *, remedies: bool = False) -> Explanation:
    return explain(
        snapshot_of(world),
        request,
        query="",
        now=time.monotonic,
        budget_seconds=60,
        remedies=remedies,
    )


def roots_with_candidates(world: World, request: CandidateRequest) -> int:
    """Count the roots around which the oracle finds something."""
    oracle = Oracle(world)
    roots = [uuid for uuid in oracle.states if oracle.root(uuid) == uuid]
    return sum(bool(oracle.candidates(request, anchors=[root])) for root in roots)


@given(worlds(), requests())
def test_the_losses_and_the_roots_that_fit_add_up(world: World, request: CandidateRequest):
    found = explained(world, request)
    assert found.fits == roots_with_candidates(world, request)
    assert sum(row.lost for row in found.funnel) + found.fits == found.roots
    left = found.roots
    for row in found.funnel:
        assert row.code in CODES
        assert row.lost > 0
        left -= row.lost
        assert row.left == left
    assert found.undetermined == ()


@given(worlds(), requests())
def test_the_dropped_requirements_are_those_that_help(world: World, request: CandidateRequest):
    found = explained(world, request, remedies=True)
    fitting = {
        requirement: roots_with_candidates(world, looser)
        for requirement, looser in without_one(request)
    }
    dropped = {
        remedy.requirement: remedy.roots for remedy in found.remedies if remedy.change == "drop"
    }
    assert dropped == {
        requirement: roots for requirement, roots in fitting.items() if roots > found.fits
    }
