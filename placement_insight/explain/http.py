"""``GET /insight/explanation``: the roots that fit a request, and why other roots do not."""

from collections.abc import Mapping
from uuid import UUID

import webob

from placement.core.changes import TraitsChange
from placement.core.snapshot.snapshot import Snapshot
from placement.db.store import Store
from placement.http.request import Request, accepts_json
from placement.microversion import Version
from placement.parse import validation
from placement.parse.candidates import candidate_request
from placement.schemas import base
from placement.schemas.queries import CANDIDATES_QUERY
from placement_insight import http, policies, queries
from placement_insight.documents import Json
from placement_insight.explain.document import as_json
from placement_insight.explain.explain import Question, explained
from placement_insight.explain.model import Explanation
from placement_insight.history.sql import newest

EXPLANATION_QUERY = queries.also(CANDIDATES_QUERY, remedies=queries.FLAG, root=base.UUID)
_VALIDATORS = validation.query_validators(EXPLANATION_QUERY)


@accepts_json
def explain_candidates(request: Request) -> webob.Response:
    """Return the explanation of the request in the query."""
    request.can(policies.EXPLAIN)
    asked = question(request.query_pairs, request.version)
    store = request.services.store
    return http.from_snapshot(request, lambda view: _document(store, view.snapshot, asked))


def _document(store: Store, snapshot: Snapshot, asked: Question) -> Json:
    explanation = explained(snapshot, asked)
    return as_json(explanation, _added(store, explanation))


def _added(store: Store, explanation: Explanation) -> Mapping[tuple[str, str], str]:
    """Return when, and by which request, traits were added that a near miss must not have."""
    traits = {
        (unmet.provider.uuid, name)
        for miss in explanation.near_misses
        for unmet in miss.unmet
        if unmet.requirement.is_forbidding
        for name in unmet.names
    }
    if not traits:
        return {}
    with store.read() as tx:
        changes = newest(tx.connection, TraitsChange, {uuid for uuid, _ in traits})
    return {key: f"{key[1]} added {changes[key].origin}" for key in traits & changes.keys()}


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
        microversion=str(version),
        remedies=own.get("remedies") == "true",
        root=str(UUID(own["root"])) if "root" in own else None,
    )
