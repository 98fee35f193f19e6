"""``GET /insight/consumers``: consumers with their allocations, page by page."""

from typing import Any

import webob

from placement.http.request import Request, accepts_json
from placement.http.response import json_response
from placement.insight import queries
from placement.insight.consumers import model as render
from placement.insight.consumers import sql
from placement.insight.consumers.model import ConsumerFilter
from placement.parse import validation
from placement.policies import rules as policies
from placement.schemas.base import TEXT, UUID, always, closed

CONSUMERS_QUERY = always(
    closed(
        {
            **dict.fromkeys(("project_id", "user_id", "type"), TEXT),
            **dict.fromkeys(("provider", "in_tree"), UUID),
            "older_than": queries.TIME,
            "limit": queries.described("a number from 1 to 10000", "^([1-9][0-9]{0,3}|10000)$"),
            "marker": TEXT,
        }
    )
)
_VALIDATORS = validation.query_validators(CONSUMERS_QUERY)


@accepts_json
def list_consumers(request: Request) -> webob.Response:
    """Return a page of the consumers that the query describes, in the order of their UUIDs."""
    request.can(policies.CONSUMERS)
    values: dict[str, Any] = {**queries.values(request, _VALIDATORS)}
    values |= {name: values[name].lower() for name in ("provider", "in_tree") if name in values}
    if "older_than" in values:
        values["created_before"] = queries.time("older_than", values.pop("older_than"))
    if "limit" in values:
        values["limit"] = int(values["limit"])
    page = sql.page(request.services.store, ConsumerFilter(**values))
    return json_response(request, render.consumers_document(page))
