"""Explanations of requests for candidates, as documents."""

import json
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from placement.core.insight.explain import explain
from placement.core.request import CandidateRequest
from placement.core.snapshot.snapshot import Snapshot
from placement.render import insight as render
from placement.render.explanation import as_json

BUDGET_SECONDS: Final = 1.0


@dataclass(frozen=True, slots=True)
class Question:
    """A request for candidates, with the query string and the microversion that it came in."""

    request: CandidateRequest
    query: str
    microversion: str


def explanation(snapshot: Snapshot, question: Question, *, remedies: bool = False) -> bytes:
    """Return the explanation of the request on this snapshot, as JSON.

    Takes about ``BUDGET_SECONDS`` at most.
    Raises: UnknownTrait, UnknownResourceClass.
    """
    found = explain(
        snapshot,
        question.request,
        query=question.query,
        now=time.monotonic,
        budget_seconds=BUDGET_SECONDS,
        remedies=remedies,
    )
    at = render.time(datetime.now(UTC))
    return json.dumps(as_json(found, microversion=question.microversion, at=at)).encode("ascii")
