"""Explain a request on a generated world."""

import time

from placement.core.request import CandidateRequest
from placement.core.search.deadline import Deadline
from placement.microversion import MAX_VERSION
from placement.tests.property.searches import World, snapshot_of
from placement.tests.support.oracle import Oracle
from placement_insight.explain.changes import (
    Drop,
)
from placement_insight.explain.explain import Explanation, Question, explain


def explained(world: World, request: CandidateRequest, *, remedies: bool = False) -> Explanation:
    question = Question(request, "", MAX_VERSION, remedies)
    return explain(snapshot_of(world), question, Deadline(60, time.monotonic))


def text_of(drop: Drop) -> str:
    """Return the parameters that a change drops."""
    return drop.parameters.spelled(drop.group)


def dropped(drop: Drop) -> list[str]:
    """Return the parameters that a change drops, in each of the groups that are alike."""
    return [drop.parameters.spelled(suffix) for suffix in drop.alike or (drop.group,)]


def roots_with_candidates(world: World, request: CandidateRequest) -> int:
    """Return the number of hosts around which the oracle finds a candidate.

    If there is none, the number of sharing providers without children.
    """
    oracle = Oracle(world)
    roots = [uuid for uuid in oracle.states if oracle.root(uuid) == uuid]
    fitting = [root for root in roots if oracle.candidates(request, anchors=[root])]
    parents = {state.provider.parent_uuid for state in oracle.states.values()}
    hosts = [
        root for root in fitting if root in parents or SHARING not in oracle.states[root].traits
    ]
    return len(hosts or fitting)


SHARING = "MISC_SHARES_VIA_AGGREGATE"
