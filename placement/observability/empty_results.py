"""Logs why a candidates request returned no candidates."""

import logging
import time

from placement import exception
from placement.core.insight.explanation import explain, summary
from placement.core.request import CandidateRequest
from placement.core.snapshot.snapshot import Snapshot

LOG = logging.getLogger(__name__)

BUDGET_SECONDS = 1.0


def log_empty_result(
    snapshot: Snapshot, request: CandidateRequest, request_id: str | None
) -> None:
    """Log the providers that each requirement removed, in one line with the request id.

    Cost: about that of the search; nothing if INFO is not logged. An explanation
    that exceeds its time is abandoned; the response does not depend on it.
    """
    if LOG.isEnabledFor(logging.INFO):
        LOG.info("No allocation candidates for %s: %s", request_id, _reasons(snapshot, request))


def _reasons(snapshot: Snapshot, request: CandidateRequest) -> str:
    try:
        explanation = explain(snapshot, request, now=time.monotonic, budget_seconds=BUDGET_SECONDS)
    except exception.SearchDeadlineExceeded:
        return f"not explained within {BUDGET_SECONDS:g} s"
    return summary(explanation)
