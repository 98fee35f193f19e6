"""An explanation agrees with the search, and its numbers add up."""

from hypothesis import given

from placement.core.request import CandidateRequest
from placement.tests.property.searches import World
from placement.tests.property.strategies import requests, worlds
from placement_insight.explain.changes import (
    Drop,
    Unsuffix,
)
from placement_insight.explain.remedies import every_relaxation
from placement_insight.explain.requirements import CODES
from placement_insight.tests.property.explanations import (
    dropped,
    explained,
    roots_with_candidates,
    text_of,
)


@given(worlds(), requests())
def test_the_losses_and_the_roots_that_fit_add_up(world: World, request: CandidateRequest):
    explanation = explained(world, request)
    assert explanation.fits == roots_with_candidates(world, request)
    assert sum(row.lost for row in explanation.funnel) + explanation.fits == explanation.roots
    left = explanation.roots
    for row in explanation.funnel:
        assert row.requirement.code in CODES
        assert row.lost > 0
        left -= row.lost
        assert row.left == left
    assert explanation.undetermined == ()


@given(worlds(), requests())
def test_the_dropped_requirements_are_those_that_help(world: World, request: CandidateRequest):
    explanation = explained(world, request, remedies=True)
    fitting = {
        text_of(drop): roots_with_candidates(world, relaxed)
        for drop, relaxed in every_relaxation(request)
    }
    helping = {
        requirement: remedy.roots
        for remedy in explanation.remedies
        if isinstance(remedy.change, Drop) and not isinstance(remedy.change, Unsuffix)
        for requirement in dropped(remedy.change)
    }
    assert helping == {
        requirement: roots for requirement, roots in fitting.items() if roots > explanation.fits
    }
