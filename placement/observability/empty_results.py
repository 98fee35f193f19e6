"""Tells the operator why a request for candidates found none."""

import logging
import time

from placement import exception
from placement.core.insight.explanation import explain, summary
from placement.core.request import CandidateRequest
from placement.core.snapshot.snapshot import Snapshot

LOG = logging.getLogger(__name__)

BUDGET_SECONDS = 1.0


def log_why(snapshot: Snapshot, request: CandidateRequest, request_id: str | None) -> None:
    """Log what each requirement removed; in one line, with the id of the request.

    Costs about as much as the search did, and nothing if the line would not be
    written. The caller has its answer either way: an explanation that takes too
    long is given up.
    """
    if LOG.isEnabledFor(logging.INFO):
        LOG.info("No allocation candidates for %s: %s", request_id, _reasons(snapshot, request))


def _reasons(snapshot: Snapshot, request: CandidateRequest) -> str:
    try:
        found = explain(snapshot, request, now=time.monotonic, budget_seconds=BUDGET_SECONDS)
    except exception.SearchDeadlineExceeded:
        return f"not explained within {BUDGET_SECONDS:g} s"
    return summary(found)
