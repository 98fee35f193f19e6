"""Records of refused requests, as the recorder writes them."""

from datetime import UTC, datetime

from placement_insight.explain.records.model import Occurrence, RecordedRequest, new_id


def record(number=0):
    now = datetime.now(UTC)
    at = now.replace(tzinfo=None)
    return RecordedRequest(
        id=new_id(now),
        created_at=at,
        kind="no_candidates",
        reason="capacity",
        request_id=f"req-{number}",
        global_request_id=None,
        project_id="p",
        user_id="u",
        microversion="1.39",
        query="resources=VCPU:1",
        claim=None,
        explanation="{}",
        equal_key=f"{number:04}",
        last_at=at,
        latest=(Occurrence(at, f"req-{number}", None),),
    )


def at_once(seconds, flush):
    """Stand for the timer of a recorder: write the records as if a moment had passed."""
    if seconds < 1:
        flush()
