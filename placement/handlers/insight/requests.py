"""``/insight/requests``: requests that found no candidates, and claims that were refused."""

import webob

from placement.insight import requests
from placement.parse.insight import nothing
from placement.parse.insight_requests import recorded_filter
from placement.policies import insight as policies
from placement.render import insight as render
from placement.wsgi_wrapper import Request, accepts_json, json_response


@accepts_json
def list_requests(request: Request) -> webob.Response:
    """Return the recorded requests that the query describes, the newest first."""
    request.context.can(policies.LIST_REQUESTS)
    criteria = recorded_filter(request.query_pairs, request.version)
    recorded = requests.find(request.services.store, criteria)
    return json_response(request, render.recorded_requests(recorded, criteria.limit))


@accepts_json
def show_request(request: Request) -> webob.Response:
    """Return all that is recorded with a request id, or a global one."""
    request.context.can(policies.SHOW_REQUEST)
    nothing(request.query_pairs, request.version)
    recorded = requests.of_request(request.services.store, request.route["request_id"])
    return json_response(request, render.recorded_requests(recorded))
