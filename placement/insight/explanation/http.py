"""``GET /insight/explanation``: the roots that fit a request, and why other roots do not."""

import webob

from placement import policies
from placement.http.request import Request, accepts_json
from placement.insight import http
from placement.insight.explanation import query
from placement.insight.explanation.document import as_json
from placement.insight.explanation.explain import explained


@accepts_json
def explain_candidates(request: Request) -> webob.Response:
    """Return the explanation of the request in the query."""
    request.can(policies.EXPLAIN)
    question = query.question(request.query_pairs, request.version)
    return http.from_snapshot(request, lambda view: as_json(explained(view.snapshot, question)))
