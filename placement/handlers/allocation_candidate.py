"""``/allocation_candidates``, since 1.10."""

import random
from functools import partial

import webob

from placement import events, microversion, policies
from placement.core.search.search import search
from placement.http.request import Request, accepts_json
from placement.http.response import body_of, json_response
from placement.parse.candidates import candidate_request
from placement.render.candidates import pieces


@microversion.version_handler("1.10")
@accepts_json
def list_allocation_candidates(request: Request) -> webob.Response:
    """Return the allocations that satisfy the query."""
    request.can(policies.LIST_CANDIDATES)
    candidates_request = candidate_request(request.query_pairs, request.version)
    view, settings = request.services.engine.view(), request.services.search
    snapshot = view.snapshot
    rng = random.Random() if settings.randomize else None  # noqa: S311 - not for secrets
    deadline = request.services.search_deadline(candidates_request.advice)
    reports = request.services.reports
    with reports.invalid_names_of(request, snapshot, candidates_request):
        candidates = search(
            snapshot, candidates_request, settings, deadline, rng=rng, turn=view.turn
        )
    observer = request.services.observer
    observer.observe(events.CANDIDATES, len(candidates.candidates))
    if candidates.left_out:
        observer.count(events.CUT_RESPONSES)
        observer.count(events.ROOTS_LEFT_OUT, amount=candidates.left_out)
    if candidates.candidates:
        reports.candidates_found(request)
    else:
        reports.empty_response(request, snapshot, candidates_request)
    write = partial(pieces, candidates, candidates_request, request.version)
    return json_response(request, body_of(write, deadline.check), modified_at=None)
