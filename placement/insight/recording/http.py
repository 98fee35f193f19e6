"""``/insight/requests``: requests without candidates, and refused claims."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime

import webob

from placement.core.text import timestamp
from placement.http.request import Request, accepts_json
from placement.http.response import json_response
from placement.insight import queries
from placement.insight.documents import document
from placement.insight.explanation import unknown_names
from placement.insight.explanation.model import (
    CODES,
    NO_PROVIDERS,
    UNDETERMINED,
)
from placement.insight.recording import refusals, sql, summary
from placement.insight.recording.model import LARGEST_ID, RecordedFilter, RecordedRequest
from placement.parse import validation
from placement.policies import rules as policies
from placement.schemas.base import NAME, Schema, always, closed

REASONS = tuple(
    dict.fromkeys((*CODES, NO_PROVIDERS, UNDETERMINED, *unknown_names.CODES, *refusals.CODES))
)
"""The codes of recorded requests."""

_FILTER: Schema = {
    "since": queries.TIME,
    "project_id": NAME,
    "reason": {"type": "string", "enum": list(REASONS)},
}
_PAGE: Schema = {
    "limit": queries.described("a number from 1 to 1000", "^([1-9][0-9]{0,2}|1000)$"),
    "marker": queries.described("the field next of a page", "^[0-9]{1,19}$"),
}
REQUESTS_QUERY = always(closed({**_FILTER, **_PAGE}))
SUMMARY_QUERY = always(closed(_FILTER))

_REQUESTS = validation.query_validators(REQUESTS_QUERY)
_SUMMARY = validation.query_validators(SUMMARY_QUERY)
_LIMIT = 100


def recorded_filter(values: Mapping[str, str]) -> RecordedFilter:
    """Return the filter of a query for recorded requests.  Raises: BadRequest."""
    return RecordedFilter(
        since=queries.time("since", values["since"]) if "since" in values else None,
        project_id=values.get("project_id"),
        reason=values.get("reason"),
        before=min(int(values["marker"]), LARGEST_ID) if "marker" in values else None,
        limit=int(values.get("limit", _LIMIT)),
    )


def recorded_requests(requests: Sequence[RecordedRequest], limit: int | None = None) -> bytes:
    """Return the body of recorded requests.

    ``next`` is the marker of the next page. It is None if this page has fewer than ``limit``
    requests.
    """
    is_full = limit is not None and len(requests) == limit
    return document(
        requests=[_recorded(record) for record in requests],
        next=str(requests[-1].id) if is_full else None,
    )


def _recorded(record: RecordedRequest) -> dict[str, object]:
    explanation = json.loads(record.explanation)
    subject: dict[str, object] = {"query": record.query}
    if record.claim is not None:
        claim = json.loads(record.claim)
        subject = {"claim": claim}
        if sentence := refusals.sentence(explanation, claim):
            explanation["sentence"] = sentence
    return {
        "request_id": record.request_id,
        "global_request_id": record.global_request_id,
        "at": timestamp(record.created_at),
        "kind": record.kind,
        "project_id": record.project_id,
        "user_id": record.user_id,
        "microversion": record.microversion,
        **subject,
        "reason": record.reason,
        "explanation": explanation,
    }


@accepts_json
def list_requests(request: Request) -> webob.Response:
    """Return the recorded requests that the query describes, the newest first."""
    request.can(policies.LIST_REQUESTS)
    criteria = recorded_filter(queries.values(request, _REQUESTS))
    recorded = sql.find(request.services.store, criteria)
    return json_response(request, recorded_requests(recorded, criteria.limit))


@accepts_json
def summarize_requests(request: Request) -> webob.Response:
    """Return the number of recorded requests in each hour, by what they lacked."""
    request.can(policies.LIST_REQUESTS)
    criteria = recorded_filter(queries.values(request, _SUMMARY))
    now = datetime.now(UTC)
    since = summary.beginning(criteria.since, now)
    records = sql.hourly(request.services.store, replace(criteria, since=since))
    return json_response(request, document(**summary.summary(records, since, now)))


@accepts_json
def show_request(request: Request) -> webob.Response:
    """Return the recorded requests with a request id or a global request id."""
    request.can(policies.SHOW_REQUEST)
    queries.nothing(request)
    recorded = sql.of_request(request.services.store, request.route["request_id"])
    return json_response(request, recorded_requests(recorded))
