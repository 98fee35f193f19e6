"""The query of ``GET /insight/explanation``."""

from typing import NamedTuple

from placement.core.request import CandidateRequest
from placement.microversion import Version
from placement.parse import query
from placement.parse.candidates import candidate_request
from placement.parse.insight import check_has_candidates, text
from placement.schemas import insight

_EXPLANATION = query.validators(insight.EXPLANATION_QUERY)


class Explanation(NamedTuple):
    """A request for candidates, the query string that says it, and whether remedies are sought."""

    request: CandidateRequest
    text: str
    remedies: bool


def explanation(pairs: query.QueryPairs, version: Version) -> Explanation:
    """Return what a query asks to have explained: one for candidates, and perhaps ``remedies``.

    Raises: what ``candidate_request`` raises; BadRequest below 1.10.
    """
    check_has_candidates(version)
    query.check(_EXPLANATION, pairs, version)
    of_candidates = [(key, value) for key, value in pairs if key != "remedies"]
    return Explanation(
        candidate_request(of_candidates, version),
        text(of_candidates),
        dict(pairs).get("remedies") == "true",
    )
