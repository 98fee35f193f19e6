"""``GET /insight/consumers``: consumers with their allocations, page by page."""

import webob

from placement.insight import consumers
from placement.parse.insight_consumers import consumer_filter
from placement.policies import insight as policies
from placement.render import insight_consumers as render
from placement.wsgi_wrapper import Request, accepts_json, json_response


@accepts_json
def list_consumers(request: Request) -> webob.Response:
    """Return a page of the consumers that the query describes, in the order of their UUIDs."""
    request.context.can(policies.CONSUMERS)
    criteria = consumer_filter(request.query_pairs, request.version)
    page = consumers.page(request.services.store, criteria)
    return json_response(request, render.consumers(page))
