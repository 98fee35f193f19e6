"""``GET /insight/explanation``: the roots that fit a request, and why other roots do not."""

from uuid import UUID

import webob

from placement.engine.engine import View
from placement.http.request import Request, accepts_json
from placement.microversion import Version
from placement.parse import validation
from placement.parse.candidates import candidate_request
from placement.schemas import base
from placement.schemas.queries import CANDIDATES_QUERY
from placement_insight import http, policies, queries
from placement_insight.documents import Json
from placement_insight.explain.causes import with_changes
from placement_insight.explain.explain import Question, explained

EXPLANATION_QUERY = queries.also(CANDIDATES_QUERY, remedies=queries.FLAG, root=base.UUID)
_VALIDATORS = validation.query_validators(EXPLANATION_QUERY)


@accepts_json
def explain_candidates(request: Request) -> webob.Response:
    """Return the explanation of the request in the query."""
    request.can(policies.EXPLAIN)
    asked = question(request.query_pairs, request.version)
    shows_changes, store = request.may(policies.CHANGES), request.services.store

    def write(view: View) -> Json:
        explanation = explained(view.snapshot, asked)
        if shows_changes:
            with store.read() as tx:
                explanation = with_changes(tx, view.snapshot, explanation)
        return explanation.document()

    return http.from_snapshot(request, write)


def question(pairs: validation.QueryPairs, version: Version) -> Question:
    """Return the request for candidates in a query.

    Raises: the exceptions of ``candidate_request``; BadRequest below 1.10.
    """
    queries.check_has_candidates(version)
    validation.check(_VALIDATORS, pairs, version, in_words=True)
    own = dict(pairs)
    pairs = [(key, value) for key, value in pairs if key not in ("remedies", "root")]
    return Question(
        request=candidate_request(pairs, version),
        query=queries.text(pairs),
        microversion=version,
        remedies=own.get("remedies") == "true",
        root=str(UUID(own["root"])) if "root" in own else None,
    )
