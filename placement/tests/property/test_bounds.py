"""The results of counting are results of the solver, too."""

import time

import numpy as np
from hypothesis import given

from placement.core.request import CandidateRequest
from placement.core.search.anchors import possible_anchors
from placement.core.search.deadline import Deadline
from placement.core.search.filters import find_domains
from placement.core.search.slots import SearchPlan
from placement.insight.explanation.feasibility import Bounds, Feasibility
from placement.tests.oracle import Oracle
from placement.tests.property.searches import World, snapshot_of
from placement.tests.property.strategies import requests, worlds


@given(worlds(), requests())
def test_counting_agrees_with_the_oracle(world: World, request: CandidateRequest):
    snapshot, plan, oracle = snapshot_of(world), SearchPlan.of(request), Oracle(world)
    deadline = Deadline(60, time.monotonic)
    domains = find_domains(snapshot, plan, deadline)
    bounds = Bounds(snapshot, plan, domains)
    for row in np.flatnonzero(possible_anchors(snapshot, plan, domains, deadline)).tolist():
        fits = bool(oracle.candidates(request, anchors=[snapshot.forest.uuids[row]]))
        assert not (bounds.feasible[row] and not fits)
        assert not (bounds.infeasible[row] and fits)


@given(worlds(), requests())
def test_the_roots_are_those_with_candidates(world: World, request: CandidateRequest):
    snapshot, oracle = snapshot_of(world), Oracle(world)
    fitting = Feasibility(snapshot, Deadline(60, time.monotonic)).roots(SearchPlan.of(request))
    for row, uuid in enumerate(snapshot.forest.uuids):
        is_root = bool(snapshot.forest.is_root[row])
        assert fitting[row] == (is_root and bool(oracle.candidates(request, anchors=[uuid])))
