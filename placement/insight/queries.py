"""The queries of the routes under ``/insight``: their schemas and values."""

from datetime import UTC, datetime
from urllib.parse import urlencode

from placement import exception
from placement.http.request import Request
from placement.insight.times import FORMS, time_of
from placement.microversion import Version
from placement.parse import validation
from placement.schemas.base import Schema, Windows, always, closed

TIME: Schema = {"type": "string", "minLength": 1, "description": FORMS}
NOTHING_QUERY = always(closed({}))
_NOTHING = validation.query_validators(NOTHING_QUERY)
_CANDIDATES_SINCE = Version(1, 10)
_READABLE = ":,!"  # legal in a query string, and frequent in these queries


def described(description: str, pattern: str) -> Schema:
    """Return the schema of a parameter; messages about other values have the description."""
    return {"type": "string", "pattern": pattern, "description": description}


def also(windows: Windows, **parameters: Schema) -> Windows:
    """Return the schemas of a query of the API with additional parameters."""
    return tuple(
        (since, {**query, "properties": {**query["properties"], **parameters}})
        for since, query in windows
    )


def values(request: Request, validators: validation.ValidatorWindows) -> dict[str, str]:
    """Return the value of each parameter in the query of a request.  Raises: BadRequest."""
    validation.check(validators, request.query_pairs, request.version, in_words=True)
    return validation.effective(request.query_pairs)


def repeated(
    request: Request, pairs: validation.QueryPairs, validators: validation.ValidatorWindows
) -> validation.Values:
    """Return the values of parameters that can be repeated, each checked.  Raises: BadRequest."""
    for pair in pairs:
        validation.check(validators, [pair], request.version, in_words=True)
    return validation.grouped(pairs)


def nothing(request: Request) -> None:
    """Return if the query is empty.  Raises: BadRequest."""
    values(request, _NOTHING)


def time(parameter: str, value: str) -> datetime:
    """Return the value of a parameter as a time in UTC; see ``times.time_of``.

    Raises: BadRequest.
    """
    try:
        return time_of(value, datetime.now(UTC))
    except ValueError as error:
        raise exception.BadRequest(f"{validation.PREFIX}{parameter}: {error}") from None


def text(pairs: validation.QueryPairs) -> str:
    """Return the query string of the parameters, with as few escapes as possible.

    >>> text([("resources", "VCPU:1"), ("required", "!CUSTOM_A")])
    'resources=VCPU:1&required=!CUSTOM_A'
    """
    return urlencode(pairs, safe=_READABLE)


def check_has_candidates(version: Version) -> None:
    """Return if the microversion has a query for candidates.  Raises: BadRequest."""
    if version < _CANDIDATES_SINCE:
        raise exception.BadRequest(
            f"The query is one of GET /allocation_candidates, which {version} does not have. "
            f"Send OpenStack-API-Version: placement {_CANDIDATES_SINCE} or newer, or none."
        )
