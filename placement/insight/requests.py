"""Recorded requests, as operators ask for them."""

from collections.abc import Sequence
from typing import Final

from placement import exception
from placement.core.insight.recorded import RecordedFilter, RecordedRequest
from placement.db.sqlalchemy.insight_requests import InsightRequests
from placement.db.store import Store

MOST_OF_ONE_ID: Final = 1000


def find(store: Store, criteria: RecordedFilter) -> Sequence[RecordedRequest]:
    """Return the recorded requests that the filter describes, the newest first."""
    with store.read() as tx:
        recorded: Sequence[RecordedRequest] = InsightRequests(tx.connection).find(criteria)
    return recorded


def of_request(store: Store, request_id: str) -> Sequence[RecordedRequest]:
    """Return what is recorded with this request id or global request id, the newest first.

    Raises: RequestNotRecorded.
    """
    with store.read() as tx:
        recorded: Sequence[RecordedRequest] = InsightRequests(tx.connection).of_request(
            request_id, MOST_OF_ONE_ID
        )
    if not recorded:
        raise exception.RequestNotRecorded(request_id)
    return recorded
