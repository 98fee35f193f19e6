"""``GET /insight/explanation``: where a request for candidates fits, and why not elsewhere."""

import webob

from placement.engine.engine import View
from placement.handlers.insight import conditional
from placement.insight.question import Question
from placement.parse import insight_explanation as parse
from placement.policies import insight as policies
from placement.wsgi_wrapper import Request, accepts_json


@accepts_json
def explain_candidates(request: Request) -> webob.Response:
    """Return what each requirement of the query removes from all roots."""
    request.context.can(policies.EXPLAIN)
    query = parse.explanation(request.query_pairs, request.version)
    question = Question(query.request, query.text, str(request.version))

    def write(view: View) -> bytes:
        from placement.insight import explaining  # noqa: PLC0415  see its docstring

        return explaining.explanation(view.snapshot, question, remedies=query.remedies)

    return conditional.from_snapshot(request, write)
