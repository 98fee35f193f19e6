"""An explanation finds the roots at which the oracle finds candidates."""

import time

from hypothesis import given

from placement.core.request import CandidateRequest
from placement.core.search.deadline import Deadline
from placement.core.search.fitting_roots import FittingRoots
from placement.core.search.slots import SlottedRequest
from placement.tests.property.searches import World, snapshot_of
from placement.tests.property.strategies import requests, worlds
from placement.tests.support.oracle import Oracle


@given(worlds(), requests())
def test_the_roots_are_those_with_candidates(world: World, request: CandidateRequest):
    snapshot, oracle = snapshot_of(world), Oracle(world)
    fitting = FittingRoots(snapshot, Deadline(60, time.monotonic)).of(SlottedRequest.of(request))
    for row, uuid in enumerate(snapshot.forest.uuids):
        is_root = bool(snapshot.forest.is_root[row])
        assert fitting[row] == (is_root and bool(oracle.candidates(request, anchors=[uuid])))
