"""Why a request has the candidates that it has, or none.

    explain(snapshot, request, *, query, now, budget_seconds=1.0, remedies=False) -> Explanation

``query`` is the text that the request was read from; it is only repeated. ``now`` is a monotonic
clock in seconds. ``insight.explanation.text`` has ``as_json``, ``as_text`` and ``as_line``.

Theory of operation.  The search decides by masks over all providers and by problems of single
trees. An explanation looks at the same masks requirement by requirement (``conditions``,
``groups``), counts the roots that each removes (``funnel``), looks for the roots that lack
least (``near_misses``) and, if asked to, changes the request (``remedies``). Everything but the
conditions between groups is array operations; these are solved for the roots that are left
(``feasibility``).

Explanations of requests for candidates, as documents.

A process imports this module for its first explanation: the import takes 25 ms.
"""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

import numpy as np

from placement.core.request import CandidateRequest
from placement.core.search.deadline import Deadline
from placement.core.search.search import check_names
from placement.core.search.slots import SearchPlan
from placement.core.snapshot.snapshot import Snapshot
from placement.core.text import timestamp
from placement.exception import SearchDeadlineExceeded
from placement.insight.explanation.conditions import GroupsBuilder, Reach
from placement.insight.explanation.feasibility import Feasibility
from placement.insight.explanation.funnel import Funnel
from placement.insight.explanation.model import Explanation
from placement.insight.explanation.near_misses import NearMisses
from placement.insight.explanation.query import Question
from placement.insight.explanation.remedies import Remedies
from placement.insight.explanation.text import Json, as_json, as_line

NEAR_MISSES = 5


def explain(  # noqa: PLR0913 - a query, a clock and its budget are not one thing
    snapshot: Snapshot,
    request: CandidateRequest,
    *,
    query: str,
    now: Callable[[], float],
    budget_seconds: float = 1.0,
    remedies: bool = False,
) -> Explanation:
    """Return what each requirement removes, and what comes closest.

    ``request.limit`` does not matter. What does not finish within the budget is listed in
    ``undetermined``.

    Raises: UnknownTrait, UnknownResourceClass.
    """
    check_names(snapshot, request)
    deadline = Deadline(budget_seconds, now)
    plan = SearchPlan.of(request)
    reach = Reach(snapshot)
    feasibility = Feasibility(snapshot, deadline)
    funnel = Funnel(snapshot, reach, deadline)
    undetermined: list[str] = []
    with _listed("funnel", undetermined):
        groups = list(GroupsBuilder(snapshot, reach, deadline).groups(plan))
        funnel.run(plan, groups, feasibility)
    fits = None if undetermined else int(np.count_nonzero(funnel.left))
    closest = NearMisses(snapshot, reach, deadline)
    if not undetermined:
        with _listed("near_misses", undetermined):
            closest.run(plan, groups, funnel, NEAR_MISSES)
    tried = Remedies(snapshot, request, feasibility)
    if remedies:
        with _listed("remedies", undetermined):
            tried.run(fits or 0)
    return Explanation(
        query=query,
        roots=int(np.count_nonzero(snapshot.forest.is_root)),
        fits=fits,
        funnel=tuple(funnel.rows),
        near_misses=closest.best(NEAR_MISSES),
        remedies=tried.ordered,
        undetermined=tuple(undetermined),
    )


@contextmanager
def _listed(part: str, undetermined: list[str]) -> Iterator[None]:
    """Add a part of the explanation to the list if the deadline ends it."""
    try:
        yield
    except SearchDeadlineExceeded:
        undetermined.append(part)


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
