"""``/allocation_candidates``: where something could be placed."""

import random
import time

import webob

from placement import microversion
from placement.core.search.deadline import Budget
from placement.core.search.search import search
from placement.observability.empty_results import log_why
from placement.observability.events import CandidatesReturned
from placement.parse.candidates import candidate_request
from placement.policies import allocation_candidate as policies
from placement.render.candidates import allocation_candidates
from placement.wsgi_wrapper import REQUEST_ID, Request, accepts_json, json_response


@microversion.version_handler("1.10")
@accepts_json
def list_allocation_candidates(request: Request) -> webob.Response:
    """Return the ways in which the providers there are can satisfy the query."""
    request.context.can(policies.LIST)
    asked = candidate_request(request.query_pairs, request.version)
    snapshot, settings = request.services.engine.current(), request.services.search
    rng = random.Random() if settings.randomize else None  # noqa: S311 - not for secrets
    budget = Budget(settings.budget_seconds, time.monotonic)
    found = search(snapshot, asked, settings, rng=rng, now=time.monotonic)
    request.services.observe(CandidatesReturned(len(found.candidates)))
    if not found.candidates:
        log_why(snapshot, asked, request.environ.get(REQUEST_ID))
    body = allocation_candidates(found, asked, request.version, budget.look)
    return json_response(request, body, modified_at=None)
