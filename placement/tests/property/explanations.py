"""Explain a request on a generated world."""

import time

from placement.core.request import CandidateRequest
from placement.core.search.deadline import Deadline
from placement.insight.explanation.explain import explain
from placement.insight.explanation.model import Explanation, Remedy
from placement.insight.explanation.query import Question
from placement.tests.property.searches import World, snapshot_of
from placement.tests.support.oracle import Oracle


def explained(world: World, request: CandidateRequest, *, remedies: bool = False) -> Explanation:
    question = Question(request, "", "", remedies)
    return explain(snapshot_of(world), question, Deadline(60, time.monotonic))


def requirements(remedy: Remedy) -> list[str]:
    """Return the requirement that a remedy drops, in each of the groups that are alike."""
    parts = remedy.requirement.split("&")
    return [remedy.requirement] + [
        "&".join(part.replace(f"{remedy.alike[0]}=", f"{suffix}=", 1) for part in parts)
        for suffix in remedy.alike[1:]
    ]


def roots_with_candidates(world: World, request: CandidateRequest) -> int:
    """Return the number of roots around which the oracle finds a candidate."""
    oracle = Oracle(world)
    roots = [uuid for uuid in oracle.states if oracle.root(uuid) == uuid]
    return sum(bool(oracle.candidates(request, anchors=[root])) for root in roots)
