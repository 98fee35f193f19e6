"""``GET /insight/identity``: which providers a name could mean."""

import webob

from placement.insight.identity import DAYS, identify
from placement.parse.insight_identity import identity_query
from placement.policies import insight as policies
from placement.render import insight_identity as render
from placement.wsgi_wrapper import Request, accepts_json, json_response


@accepts_json
def show_identity(request: Request) -> webob.Response:
    """Return the providers that a name or UUID could mean, and recorded conflicts."""
    request.context.can(policies.IDENTITY)
    query = identity_query(request.query_pairs, request.version)
    matched = identify(request.services.store, query.name, query.days or DAYS)
    return json_response(request, render.identity(matched))
