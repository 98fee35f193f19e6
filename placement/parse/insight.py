"""The queries of the routes under ``/insight``."""

from datetime import UTC, datetime
from typing import NamedTuple
from urllib.parse import urlencode

from placement import exception
from placement.core.insight.recorded import LARGEST_ID, RecordedFilter
from placement.core.request import CandidateRequest
from placement.microversion import Version
from placement.parse import query
from placement.parse.candidates import candidate_request
from placement.schemas import insight

_NOTHING = query.validators(insight.NOTHING_QUERY)
_REQUESTS = query.validators(insight.REQUESTS_QUERY)
_EXPLANATION = query.validators(insight.EXPLANATION_QUERY)
_CANDIDATES_SINCE = Version(1, 10)
_LIMIT = 100
_READABLE = ":,!"  # legal in a query string, and everywhere in this one


class Explanation(NamedTuple):
    """A request for candidates, the query string that says it, and whether remedies are sought."""

    request: CandidateRequest
    text: str
    remedies: bool


def nothing(pairs: query.QueryPairs, version: Version) -> None:
    """Return if the query is empty.  Raises: BadRequest."""
    query.check(_NOTHING, pairs, version)


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


def recorded_filter(pairs: query.QueryPairs, version: Version) -> RecordedFilter:
    """Return which recorded requests a query asks for.  Raises: BadRequest."""
    query.check(_REQUESTS, pairs, version)
    values = query.effective(pairs)
    return RecordedFilter(
        since=time("since", values["since"]) if "since" in values else None,
        project_id=values.get("project_id"),
        reason=values.get("reason"),
        before=min(int(values["marker"]), LARGEST_ID) if "marker" in values else None,
        limit=int(values.get("limit", _LIMIT)),
    )


def time(parameter: str, value: str) -> datetime:
    """Return the value of a parameter as a time in UTC, which it is in if it has no offset.

    >>> time("since", "2026-11-21T02:14:07+01:00").isoformat()
    '2026-11-21T01:14:07+00:00'

    Raises: BadRequest.
    """
    try:
        at = datetime.fromisoformat(value)
        return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
    except (ValueError, OverflowError):
        raise exception.BadRequest(
            f"{query.PREFIX}{parameter} is {value!r}, which is no time. Write it in ISO 8601: "
            "2026-11-21T02:14:07Z."
        ) from None


def check_has_candidates(version: Version) -> None:
    """Return if the microversion has a query for candidates.  Raises: BadRequest."""
    if version < _CANDIDATES_SINCE:
        raise exception.BadRequest(
            f"The query is one of GET /allocation_candidates, which {version} does not have. "
            f"Send OpenStack-API-Version: placement {_CANDIDATES_SINCE} or newer, or none."
        )


def text(pairs: query.QueryPairs) -> str:
    """Return the query string of the parameters, as readable as it can be.

    >>> text([("resources", "VCPU:1"), ("required", "!CUSTOM_A")])
    'resources=VCPU:1&required=!CUSTOM_A'
    """
    return urlencode(pairs, safe=_READABLE)
