"""``/insight/requests``: requests without candidates, refused writes and lost races."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime

import webob

from placement.core.text import timestamp
from placement.http.request import Request, accepts_json
from placement.http.response import json_response
from placement.parse import validation
from placement.schemas.base import NAME, Schema, always, closed
from placement_insight import policies, queries
from placement_insight.documents import Json, document
from placement_insight.explain import unknown_names
from placement_insight.explain.records import refusals, sql, summary
from placement_insight.explain.records.model import (
    LARGEST_ID,
    NOT_EXPLAINED,
    OF_WRITES,
    RecordedFilter,
    RecordedRequest,
)
from placement_insight.explain.records.reports import reports_of
from placement_insight.explain.requirements import CODES, NO_PROVIDERS, UNDETERMINED

_OF_EMPTY = (*CODES, NO_PROVIDERS, UNDETERMINED, NOT_EXPLAINED)
_OF_WRITES = (*refusals.CODES, *refusals.RACES)
REASONS = tuple(dict.fromkeys((*_OF_EMPTY, *unknown_names.CODES, *_OF_WRITES)))
"""The codes of recorded requests."""

_FILTER: Schema = {
    "since": queries.TIME,
    "project_id": NAME,
    "reason": {"type": "string", "enum": list(REASONS)},
}
REQUESTS_QUERY = always(closed({**_FILTER, **queries.PAGE}))
SUMMARY_QUERY = always(closed(_FILTER))

_REQUESTS = validation.query_validators(REQUESTS_QUERY)
_SUMMARY = validation.query_validators(SUMMARY_QUERY)
_LIMIT = 100
_MOST_LISTED = 10  # of the latest requests of a record


def recorded_filter(values: Mapping[str, str]) -> RecordedFilter:
    """Return the filter of a query for recorded requests.  Raises: BadRequest."""
    return RecordedFilter(
        since=queries.since(values),
        project_id=values.get("project_id"),
        reason=values.get("reason"),
        before=min(int(values["marker"]), LARGEST_ID) if "marker" in values else None,
        limit=int(values.get("limit", _LIMIT)),
    )


def recorded_requests(
    requests: Sequence[RecordedRequest],
    limit: int | None = None,
    request_id: str = "",
    *,
    shows_changes: bool,
) -> Json:
    """Return the document of recorded requests, with the changes that explain them or without.

    If they are the records of a ``request_id``, their ids and times are those of its requests.
    ``next`` is the marker of the next page. It is None if this page has fewer than ``limit``
    requests.
    """
    is_full = limit is not None and len(requests) == limit
    return document(
        requests=[
            recorded_request(record, request_id, shows_changes=shows_changes)
            for record in requests
        ],
        next=str(requests[-1].id) if is_full else None,
    )


def recorded_request(record: RecordedRequest, request_id: str, *, shows_changes: bool) -> Json:
    """Return the document of a recorded request."""
    explanation = json.loads(record.explanation)
    if not shows_changes:
        misses = explanation.get("near_misses", ())
        unmet = (each for miss in misses for each in miss["unmet"])
        for explained in (explanation, *explanation.get("funnel", ()), *unmet):
            explained.pop("change", None)
    is_claim = record.kind in OF_WRITES
    claim = json.loads(record.claim) if is_claim and record.claim else None
    if claim is not None and (sentence := refusals.sentence(explanation, claim)):
        explanation["sentence"] = sentence
    of_id = record.of(request_id)
    return {
        "request_id": of_id.request_id if of_id else record.request_id,
        "global_request_id": of_id.global_request_id if of_id else record.global_request_id,
        "at": timestamp(of_id.at if of_id else record.created_at),
        "kind": record.kind,
        "project_id": record.project_id,
        "user_id": record.user_id,
        "microversion": record.microversion,
        **({"claim": claim} if is_claim else {"query": record.query}),
        "reason": record.reason,
        "count": record.requests,
        "first_at": timestamp(record.created_at),
        "last_at": timestamp(record.last_at),
        "latest": [
            {
                "at": timestamp(each.at),
                "request_id": each.request_id,
                "global_request_id": each.global_request_id,
                "is_superseded": each.superseded,
            }
            for each in record.latest[:_MOST_LISTED]
        ],
        "superseded": record.superseded,
        "is_superseded": of_id.superseded if of_id else record.is_superseded,
        "explanation": explanation,
    }


@accepts_json
def list_requests(request: Request) -> webob.Response:
    """Return the recorded requests that the query describes, the newest first."""
    request.can(policies.LIST_REQUESTS)
    criteria = recorded_filter(queries.values(request, _REQUESTS))
    reports_of(request).write_counts()
    recorded = sql.find(request.services.store, criteria)
    shows_changes = request.may(policies.CHANGES)
    body = recorded_requests(recorded, criteria.limit, shows_changes=shows_changes)
    return json_response(request, body)


@accepts_json
def summarize_requests(request: Request) -> webob.Response:
    """Return the number of recorded requests in each hour, by what they lacked."""
    request.can(policies.LIST_REQUESTS)
    criteria = recorded_filter(queries.values(request, _SUMMARY))
    reports_of(request).write_counts()
    now = datetime.now(UTC)
    since = summary.beginning(criteria.since, now)
    records = sql.hourly(request.services.store, replace(criteria, since=since))
    return json_response(request, summary.summary(records, since, now))


@accepts_json
def show_request(request: Request) -> webob.Response:
    """Return the recorded requests with a request id or a global request id."""
    request.can(policies.SHOW_REQUEST)
    queries.nothing(request)
    reports_of(request).write_counts()
    request_id = request.route["request_id"]
    recorded = sql.of_request(request.services.store, request_id)
    shows_changes = request.may(policies.CHANGES)
    body = recorded_requests(recorded, request_id=request_id, shows_changes=shows_changes)
    return json_response(request, body)
