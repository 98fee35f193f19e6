"""The query of ``GET /insight/capacity``."""

from typing import NamedTuple

from placement import exception
from placement.core.request import CandidateRequest
from placement.microversion import Version
from placement.parse import insight, query
from placement.parse.candidates import candidate_request
from placement.schemas import insight_cloud

_VALIDATORS = query.validators(insight_cloud.CAPACITY_QUERY)
BY = ("none", "aggregate", "root_trait", "root")


class CapacityQuery(NamedTuple):
    """A shape, the query string that says it, and how to group roots: by traits of a prefix."""

    request: CandidateRequest
    text: str
    by: str
    prefix: str


def capacity_query(pairs: query.QueryPairs, version: Version) -> CapacityQuery:
    """Return what is asked for.

    Raises: what ``candidate_request`` raises; BadRequest below 1.10 and for another ``by``.
    """
    insight.check_has_candidates(version)
    query.check(_VALIDATORS, pairs, version)
    shape = [(key, value) for key, value in pairs if key != "by"]
    by, prefix = _by(query.effective(pairs).get("by", "none"))
    return CapacityQuery(candidate_request(shape, version), insight.text(shape), by, prefix)


def _by(text: str) -> tuple[str, str]:
    by, _, prefix = text.partition(":")
    if by not in BY or bool(prefix) != (by == "root_trait"):
        raise exception.BadRequest(
            f"{query.PREFIX}by is '{text}'. Use none, aggregate, root or root_trait:PREFIX, "
            "such as root_trait:CUSTOM_AZ_."
        )
    return by, prefix
