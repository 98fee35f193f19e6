"""``GET /insight/consumers``: consumers with their allocations, page by page."""

import webob

from placement.http.request import Request, accepts_json
from placement.http.response import json_response
from placement.parse import validation
from placement.schemas.base import TEXT, UUID, always, closed
from placement_insight import policies, queries
from placement_insight.audit.consumers import sql
from placement_insight.audit.consumers.model import MOST_OF_A_PAGE, ConsumerFilter
from placement_insight.documents import document

_PROVIDERS = ("provider", "in_tree")
CONSUMERS_QUERY = always(
    closed(
        {
            **dict.fromkeys(("project_id", "user_id", "type"), TEXT),
            **dict.fromkeys(_PROVIDERS, UUID),
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
    values = queries.values(request, _VALIDATORS)
    of_provider = {name: values[name].lower() for name in _PROVIDERS if name in values}
    created_before = None
    if "older_than" in values:
        created_before = queries.time("older_than", values.pop("older_than"))
    limit = int(values.pop("limit", MOST_OF_A_PAGE))
    criteria = ConsumerFilter(
        **{**values, **of_provider}, created_before=created_before, limit=limit
    )
    listed, marker = sql.page(request.services.store, criteria)
    consumers = [consumer.as_json() for consumer in listed]
    return json_response(request, document(consumers=consumers, next=marker))
