"""The query of ``GET /insight/explanation``, parsed."""

from dataclasses import dataclass
from uuid import UUID

from placement.core.request import CandidateRequest
from placement.insight.queries import also, check_has_candidates, text
from placement.microversion import Version
from placement.parse import validation
from placement.parse.candidates import candidate_request
from placement.schemas import base, queries

EXPLANATION_QUERY = also(
    queries.CANDIDATES_QUERY,
    remedies={"type": "string", "enum": ["true", "false"]},
    root=base.UUID,
)
_VALIDATORS = validation.query_validators(EXPLANATION_QUERY)


@dataclass(frozen=True, slots=True)
class Question:
    """A request for candidates, with its query string and its microversion.

    ``remedies`` is whether changes of the request that would help are requested. ``root`` is the
    UUID of a provider of the tree that the caller asks about, if any.
    """

    request: CandidateRequest
    query: str
    microversion: str
    remedies: bool = False
    root: str | None = None


def question(pairs: validation.QueryPairs, version: Version) -> Question:
    """Return the request for candidates in a query.

    Raises: the exceptions of ``candidate_request``; BadRequest below 1.10.
    """
    check_has_candidates(version)
    validation.check(_VALIDATORS, pairs, version, in_words=True)
    own = dict(pairs)
    pairs = [(key, value) for key, value in pairs if key not in ("remedies", "root")]
    return Question(
        request=candidate_request(pairs, version),
        query=text(pairs),
        microversion=str(version),
        remedies=own.get("remedies") == "true",
        root=str(UUID(own["root"])) if "root" in own else None,
    )
