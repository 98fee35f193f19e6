"""The query of ``GET /insight/explanation``, parsed."""

from dataclasses import dataclass
from typing import NamedTuple

from placement.core.request import CandidateRequest
from placement.insight import schemas
from placement.insight.queries import check_has_candidates, text
from placement.microversion import Version
from placement.parse import validation
from placement.parse.candidates import candidate_request

_EXPLANATION = validation.query_validators(schemas.EXPLANATION_QUERY)


@dataclass(frozen=True, slots=True)
class Question:
    """A request for candidates, with its query string and its microversion."""

    request: CandidateRequest
    query: str
    microversion: str


class Explanation(NamedTuple):
    """A request for candidates, its query string, and whether remedies are requested."""

    request: CandidateRequest
    text: str
    remedies: bool


def explanation(pairs: validation.QueryPairs, version: Version) -> Explanation:
    """Return the request for candidates in a query, and its parameter ``remedies``.

    Raises: the exceptions of ``candidate_request``; BadRequest below 1.10.
    """
    check_has_candidates(version)
    validation.check(_EXPLANATION, pairs, version)
    candidate_pairs = [(key, value) for key, value in pairs if key != "remedies"]
    return Explanation(
        candidate_request(candidate_pairs, version),
        text(candidate_pairs),
        dict(pairs).get("remedies") == "true",
    )
