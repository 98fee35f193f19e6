"""Explanations of requests for candidates, as documents."""

import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from placement.core.insight.explanation import Explanation, Loss, explain
from placement.core.request import CandidateRequest
from placement.core.snapshot.snapshot import Snapshot
from placement.render import insight as render

BUDGET_SECONDS: Final = 1.0

_CODES = {
    "root_required": "root_trait",
    "member_of": "aggregate",
    "in_tree": "in_tree",
    "required": "trait",
    "group_policy": "isolate",
    "same_subtree": "same_subtree",
}


@dataclass(frozen=True, slots=True)
class Question:
    """A request for candidates, with the query string and the microversion that it came in."""

    request: CandidateRequest
    query: str
    microversion: str


def explanation(snapshot: Snapshot, question: Question, *, remedies: bool = False) -> bytes:
    """Return the explanation of the request on this snapshot, as JSON.

    Takes about ``BUDGET_SECONDS`` at most.
    Raises: UnknownTrait, UnknownResourceClass, SearchDeadlineExceeded.
    """
    found = explain(
        snapshot,
        question.request,
        now=time.monotonic,
        budget_seconds=BUDGET_SECONDS,
        relaxed=remedies,
    )
    return render.document(
        query=question.query,
        microversion=question.microversion,
        at=render.time(datetime.now(UTC)),
        roots=found.roots,
        fits=found.remaining,
        funnel=_funnel(found),
        near_misses=[],
        remedies=[
            {"change": "drop", "requirement": str(each.requirement), "roots": each.roots}
            for each in found.relaxations
        ],
        undetermined=[],
    )


def _funnel(found: Explanation) -> list[dict[str, object]]:
    left = found.roots
    rows: list[dict[str, object]] = []
    for loss in found.losses:
        left -= loss.count
        row = {"code": _code(loss), "group": "", "requirement": str(loss.requirement)}
        rows.append({**row, "lost": loss.count, "left": left})
    return rows


def _code(loss: Loss) -> str:
    parameter = loss.requirement.parameter
    return next((code for name, code in _CODES.items() if parameter.startswith(name)), "capacity")
