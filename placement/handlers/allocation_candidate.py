"""``/allocation_candidates``, since 1.10."""

import random
import time
from functools import lru_cache

import webob

from placement import microversion
from placement.core.request import CandidateRequest
from placement.core.search.deadline import Deadline
from placement.core.search.search import search
from placement.events import CandidatesReturned
from placement.http.request import Request, accepts_json, json_response, query_pairs
from placement.microversion import Version
from placement.parse.candidates import candidate_request
from placement.policies import rules as policies
from placement.render.candidates import allocation_candidates

# a request takes up to nine times the bytes of its query; longer queries are rare
_MAX_CACHED = 500
_MAX_CACHED_LENGTH = 4000


@microversion.version_handler("1.10")
@accepts_json
def list_allocation_candidates(request: Request) -> webob.Response:
    """Return the allocations that satisfy the query."""
    request.context.can(policies.LIST_CANDIDATES)
    candidates_request = _parsed(request.query_string, request.version)
    snapshot, settings = request.services.engine.current(), request.services.search
    rng = random.Random() if settings.randomize else None  # noqa: S311 - not for secrets
    deadline = Deadline(settings.budget_seconds, time.monotonic)
    candidates = search(snapshot, candidates_request, settings, deadline, rng=rng)
    request.services.observe(CandidatesReturned(len(candidates.candidates)))
    if not candidates.candidates:
        request.services.reports.empty_response(request, snapshot, candidates_request)
    body = allocation_candidates(candidates, candidates_request, request.version, deadline.check)
    return json_response(request, body, modified_at=None)


def _parsed(query_string: str, version: Version) -> CandidateRequest:
    """Return the request in a query string; schedulers repeat those of their flavors."""
    parse = _parse if len(query_string) > _MAX_CACHED_LENGTH else _parse_cached
    return parse(query_string, version)


def _parse(query_string: str, version: Version) -> CandidateRequest:
    return candidate_request(query_pairs(query_string), version)


_parse_cached = lru_cache(maxsize=_MAX_CACHED)(_parse)
