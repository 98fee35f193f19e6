"""``GET /insight/explanation``: the roots that fit a request, and why other roots do not."""

import webob

from placement.engine.engine import View
from placement.http.request import Request, accepts_json
from placement.insight import http
from placement.insight.documents import Json
from placement.insight.explanation import explain, query
from placement.policies import rules as policies


@accepts_json
def explain_candidates(request: Request) -> webob.Response:
    """Return the explanation of the request in the query."""
    request.can(policies.EXPLAIN)
    question = query.question(request.query_pairs, request.version)

    def write(view: View) -> Json:
        return explain.document(explain.explained(view.snapshot, question), question)

    return http.from_snapshot(request, write)
