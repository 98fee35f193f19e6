"""The queries and bodies of the routes under ``/insight``: their schemas and values."""

from collections.abc import Container, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from urllib.parse import urlencode

from placement import exception
from placement.core.text import timestamp
from placement.http.request import Request
from placement.microversion import Version
from placement.parse import validation
from placement.schemas.base import Schema, Windows, always, closed
from placement_insight.times import FORMS, time_of

TIME: Schema = {"type": "string", "minLength": 1, "description": FORMS}
FLAG: Schema = {"type": "string", "enum": ["true", "false"]}
NOTHING_QUERY = always(closed({}))
_NOTHING = validation.query_validators(NOTHING_QUERY)
_CANDIDATES_SINCE = Version(1, 10)
_MOST_LISTED = 5
_CLOCKS_DIFFER = timedelta(hours=1)
_READABLE = ":,!"  # legal in a query string, and frequent in these queries


def described(description: str, pattern: str) -> Schema:
    """Return the schema of a parameter; messages about other values have the description."""
    return {"type": "string", "pattern": pattern, "description": description}


PAGE: Final[Mapping[str, Schema]] = {
    "limit": described("a number from 1 to 1000", "^([1-9][0-9]{0,2}|1000)$"),
    "marker": described("the field next of a page", "^[0-9]{1,19}$"),
}


def also(windows: Windows, **parameters: Schema) -> Windows:
    """Return the schemas of a query of the API with additional parameters."""
    return tuple(
        (since, {**query, "properties": {**query["properties"], **parameters}})
        for since, query in windows
    )


def values(
    request: Request,
    validators: validation.ValidatorWindows,
    repeatable: Container[str] = (),
) -> dict[str, str]:
    """Return the value of each parameter in the query of a request.  Raises: BadRequest.

    Of a ``repeatable`` parameter, it is the last value.
    """
    validation.check(validators, request.query_pairs, request.version, in_words=True)
    grouped = validation.grouped(request.query_pairs)
    _check_once(grouped, *(name for name in grouped if name not in repeatable))
    return {name: given[-1] for name, given in grouped.items()}


def repeated(
    request: Request,
    pairs: validation.QueryPairs,
    validators: validation.ValidatorWindows,
    *once: str,
) -> validation.Values:
    """Return the values of parameters that can be repeated, each checked.

    ``once`` are the parameters that cannot be repeated.  Raises: BadRequest.
    """
    for pair in pairs:
        validation.check(validators, [pair], request.version, in_words=True)
    grouped = validation.grouped(pairs)
    _check_once(grouped, *once)
    return grouped


def _check_once(grouped: validation.Values, *names: str) -> None:
    for name in names:
        if len(given := grouped.get(name, ())) > 1:
            listed = ", ".join(map(repr, given[:_MOST_LISTED]))
            raise exception.BadRequest(
                f"{validation.PREFIX}{name} is given {len(given)} times: {listed}. Give it once."
            )


def body(request: Request, validators: validation.ValidatorWindows) -> Any:
    """Return the JSON body of a request.  Raises: BadRequest."""
    return validation.validate(validators, request.json_body, request.version, in_words=True)


def nothing(request: Request) -> None:
    """Return if the query is empty.  Raises: BadRequest."""
    values(request, _NOTHING)


def time(parameter: str, value: str, prefix: str = validation.PREFIX) -> datetime:
    """Return the value of a parameter as a time in UTC; see ``times.time_of``.

    An error begins with the ``prefix``, which says where the parameter is.

    Raises: BadRequest.
    """
    try:
        return time_of(value, datetime.now(UTC))
    except ValueError as error:
        raise exception.BadRequest(f"{prefix}{parameter}: {error}") from None


def since(values: Mapping[str, str]) -> datetime | None:
    """Return the time ``since``, which is not later than clocks differ.  Raises: BadRequest."""
    if "since" not in values:
        return None
    at, now = time("since", values["since"]), datetime.now(UTC)
    if at > now + _CLOCKS_DIFFER:
        raise exception.BadRequest(
            f"{validation.PREFIX}since: {timestamp(at)} is in the future, "
            f"the clock of the service says {timestamp(now)}."
        )
    return at


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
