"""``GET /insight/explanation``: the roots that fit a request, and why other roots do not."""

import webob

from placement.engine.engine import View
from placement.http.request import Request, accepts_json
from placement.insight import http
from placement.insight.explanation import explain
from placement.insight.explanation import query as parse
from placement.insight.explanation.query import Question
from placement.policies import insight as policies


@accepts_json
def explain_candidates(request: Request) -> webob.Response:
    """Return the explanation of the request in the query."""
    request.context.can(policies.EXPLAIN)
    query = parse.explanation(request.query_pairs, request.version)
    question = Question(query.request, query.text, str(request.version))

    def write(view: View) -> bytes:
        return explain.explanation(view.snapshot, question, remedies=query.remedies)

    return http.from_snapshot(request, write)
