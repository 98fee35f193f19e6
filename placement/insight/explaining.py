"""Explanations of requests for candidates, as documents.

A process imports this module for its first explanation: the import takes 25 ms.
"""

import json
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from placement.core.insight.explain import explain
from placement.core.insight.explanation import Explanation
from placement.core.snapshot.snapshot import Snapshot
from placement.core.timestamps import timestamp
from placement.insight.question import Question
from placement.render.explanation import Json, as_json
from placement.render.explanation_text import as_line

BUDGET_SECONDS: Final = 1.0
UNDETERMINED: Final = "undetermined"
"""The reason of an empty response that was not explained within the budget."""
NO_PROVIDERS: Final = "no_providers"
"""The reason of an empty response where there are no roots at all."""


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a request found nothing: a code, a line for the log, and the document in JSON."""

    code: str
    line: str
    document: str


def explanation(snapshot: Snapshot, question: Question, *, remedies: bool = False) -> bytes:
    """Return the explanation of the request on this snapshot, as JSON.

    Takes about ``BUDGET_SECONDS`` at most.
    Raises: UnknownTrait, UnknownResourceClass.
    """
    explanation = _explained(snapshot, question, remedies=remedies)
    return json.dumps(_document(explanation, question)).encode("ascii")


def reason(snapshot: Snapshot, question: Question) -> Reason:
    """Return why the request has no candidate on this snapshot.

    The code is that of the requirement at which the last root was lost.
    Takes about ``BUDGET_SECONDS`` at most.
    """
    explanation = _explained(snapshot, question)
    document = _document(explanation, question)
    if explanation.fits is None:
        line = f"not explained within {BUDGET_SECONDS:g} s"
    else:
        line = as_line(document)
    return Reason(_code(explanation), line, json.dumps(document))


def _code(explanation: Explanation) -> str:
    if explanation.fits is None:
        return UNDETERMINED
    return next((row.code for row in reversed(explanation.funnel) if row.lost), NO_PROVIDERS)


def _explained(snapshot: Snapshot, question: Question, *, remedies: bool = False) -> Explanation:
    return explain(
        snapshot,
        question.request,
        query=question.query,
        now=time.monotonic,
        budget_seconds=BUDGET_SECONDS,
        remedies=remedies,
    )


def _document(explanation: Explanation, question: Question) -> Json:
    at = timestamp(datetime.now(UTC))
    return as_json(explanation, microversion=question.microversion, at=at)
