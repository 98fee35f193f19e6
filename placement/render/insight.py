"""Documents of the operator surface as JSON."""

import json
from collections.abc import Sequence

from placement.core.insight.document import document
from placement.core.insight.recorded import RecordedRequest
from placement.core.timestamps import timestamp


def recorded_requests(requests: Sequence[RecordedRequest], limit: int | None = None) -> bytes:
    """Return the body of recorded requests.

    ``next`` is the marker of the next page if there may be one: of a full page of ``limit``.
    """
    is_full = limit is not None and len(requests) == limit
    return document(
        requests=[_recorded(each) for each in requests],
        next=str(requests[-1].id) if is_full else None,
    )


def _recorded(record: RecordedRequest) -> dict[str, object]:
    what = {"query": record.query} if record.claim is None else {"claim": json.loads(record.claim)}
    return {
        "request_id": record.request_id,
        "global_request_id": record.global_request_id,
        "at": timestamp(record.at),
        "kind": record.kind,
        "project_id": record.project_id,
        "user_id": record.user_id,
        "microversion": record.microversion,
        **what,
        "reason": record.reason,
        "explanation": json.loads(record.explanation),
    }
