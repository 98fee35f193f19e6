"""``GET /insight/consumers``: consumers with their allocations, page by page."""

from collections.abc import Mapping

import webob

from placement.http.request import Request, accepts_json, json_response
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
            "older_than": TEXT,
            "limit": queries.described("a number from 1 to 10000", "^([1-9][0-9]{0,3}|10000)$"),
            "marker": TEXT,
        }
    )
)
_VALIDATORS = validation.query_validators(CONSUMERS_QUERY)
_LIMIT = 1000


def consumer_filter(values: Mapping[str, str]) -> ConsumerFilter:
    """Return the filter of a query.  Raises: BadRequest."""
    return ConsumerFilter(
        project_id=values.get("project_id"),
        user_id=values.get("user_id"),
        type=values.get("type"),
        provider=values["provider"].lower() if "provider" in values else None,
        in_tree=values["in_tree"].lower() if "in_tree" in values else None,
        created_before=(
            queries.time("older_than", values["older_than"]) if "older_than" in values else None
        ),
        marker=values.get("marker"),
        limit=int(values.get("limit", _LIMIT)),
    )


@accepts_json
def list_consumers(request: Request) -> webob.Response:
    """Return a page of the consumers that the query describes, in the order of their UUIDs."""
    request.can(policies.CONSUMERS)
    criteria = consumer_filter(queries.values(request, _VALIDATORS))
    page = sql.page(request.services.store, criteria)
    return json_response(request, render.consumers_document(page))
