"""Logs why a candidates request returned no candidates."""

import logging
import time

from placement.core.insight.explain import explain
from placement.core.insight.explanation import Explanation
from placement.core.request import CandidateRequest
from placement.core.snapshot.snapshot import Snapshot
from placement.render.explanation import as_json
from placement.render.explanation_text import as_line

LOG = logging.getLogger(__name__)

BUDGET_SECONDS = 1.0


def log_empty_result(
    snapshot: Snapshot, request: CandidateRequest, request_id: str | None, query: str = ""
) -> None:
    """Log the cause, then what the other requirements removed, in one line with the request id.

    Cost: about that of the search; nothing if INFO is not logged. An explanation
    that exceeds its time is abandoned; the response does not depend on it.
    """
    if LOG.isEnabledFor(logging.INFO):
        found = explain(
            snapshot, request, query=query, now=time.monotonic, budget_seconds=BUDGET_SECONDS
        )
        LOG.info("No allocation candidates for %s: %s", request_id, reason(found))


def reason(explanation: Explanation) -> str:
    """Return an explanation in one line."""
    if explanation.fits is None and not explanation.funnel:
        return f"not explained within {BUDGET_SECONDS:g} s"
    return as_line(as_json(explanation))
