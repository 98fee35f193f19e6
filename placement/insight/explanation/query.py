"""What an explanation is requested for.

The query of ``GET /insight/explanation``.
"""

from dataclasses import dataclass
from typing import NamedTuple

from placement.core.request import CandidateRequest
from placement.insight import schemas
from placement.insight.queries import check_has_candidates, text
from placement.microversion import Version
from placement.parse import validation
from placement.parse.candidates import candidate_request


@dataclass(frozen=True, slots=True)
class Question:
    """A request for candidates, with the query string and the microversion that it came in."""

    request: CandidateRequest
    query: str
    microversion: str


_EXPLANATION = validation.query_validators(schemas.EXPLANATION_QUERY)


class Explanation(NamedTuple):
    """A request for candidates, the query string that says it, and whether remedies are sought."""

    request: CandidateRequest
    text: str
    remedies: bool


def explanation(pairs: validation.QueryPairs, version: Version) -> Explanation:
    """Return what a query asks to have explained: one for candidates, and perhaps ``remedies``.

    Raises: what ``candidate_request`` raises; BadRequest below 1.10.
    """
    check_has_candidates(version)
    validation.check(_EXPLANATION, pairs, version)
    of_candidates = [(key, value) for key, value in pairs if key != "remedies"]
    return Explanation(
        candidate_request(of_candidates, version),
        text(of_candidates),
        dict(pairs).get("remedies") == "true",
    )
