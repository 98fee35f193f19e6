"""Query strings against their schemas: which parameters there are, and of what form.

A query string is read as JSON Schema reads an object of strings, so that its
errors are worded as those of bodies are. Two rules differ from jsonschema's: a
pattern has to match all of a text (``$`` alone lets a line feed pass behind
it), and a UUID is 36 characters with hyphens in their places.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from jsonschema import Draft202012Validator, FormatChecker, ValidationError
from jsonschema.exceptions import best_match
from jsonschema.protocols import Validator
from jsonschema.validators import extend

from placement import exception
from placement.microversion import Version

PREFIX = "Invalid query string parameters: "
FIRST_COUNTS = frozenset({"limit", "group_policy"})

QueryPairs = Sequence[tuple[str, str]]
SchemaWindows = tuple[tuple[tuple[int, int], Mapping[str, Any]], ...]
Values = Mapping[str, Sequence[str]]
ValidatorWindows = tuple[tuple[tuple[int, int], Validator], ...]

_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_HEX_DIGITS = re.compile(r"[0-9a-f]{32}")


def validators(windows: SchemaWindows) -> ValidatorWindows:
    """Return a validator for each schema; made once, as building one costs more than using it."""
    return tuple(
        (since, _QueryValidator(schema, format_checker=_FORMATS)) for since, schema in windows
    )


def check(windows: ValidatorWindows, pairs: QueryPairs, version: Version) -> None:
    """Raise BadRequest unless each parameter is known at the microversion and well formed.

    Of a repeated parameter the value that is going to be used is looked at: the
    first of ``limit`` and ``group_policy``, the last of any other.
    """
    validator = next(each for since, each in reversed(windows) if since <= version)
    error = best_match(validator.iter_errors(_used(pairs)))
    if error is not None:
        raise exception.BadRequest(f"{PREFIX}{error}")


def grouped(pairs: QueryPairs) -> Values:
    """Return all values of each parameter, both in the order of the query string."""
    values: dict[str, list[str]] = {}
    for key, value in pairs:
        values.setdefault(key, []).append(value)
    return values


def canonical_uuid(text: str) -> str | None:
    """Return a UUID as it is stored, whatever its spelling, or None if it is none.

    Letter case, hyphens, braces and ``urn:uuid:`` do not matter.

    >>> canonical_uuid("{AAAAAAAA11112222-3333444444444444}")
    'aaaaaaaa-1111-2222-3333-444444444444'
    """
    digits = text.lower().removeprefix("urn:").removeprefix("uuid:").strip("{}").replace("-", "")
    if not _HEX_DIGITS.fullmatch(digits):
        return None
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def _used(pairs: QueryPairs) -> dict[str, str]:
    used: dict[str, str] = {}
    for key, value in pairs:
        if key not in FIRST_COUNTS or key not in used:
            used[key] = value
    return used


def _whole_pattern(
    validator: Validator, pattern: str, instance: object, schema: Mapping[str, Any]
) -> Iterator[ValidationError]:
    del validator, schema
    if isinstance(instance, str) and not re.fullmatch(pattern, instance):
        yield ValidationError(f"{instance!r} does not match {pattern!r}")


def _no_others(
    validator: Validator,
    allowed: object,
    instance: Mapping[str, object],
    schema: Mapping[str, Any],
) -> Iterator[ValidationError]:
    del validator, allowed
    patterns = sorted(schema.get("patternProperties", ()))
    unknown = sorted(
        key
        for key in instance
        if key not in schema["properties"]
        and not any(re.fullmatch(pattern, key) for pattern in patterns)
    )
    if unknown:
        yield ValidationError(_unknown_text(unknown, patterns))


def _unknown_text(unknown: Sequence[str], patterns: Sequence[str]) -> str:
    """Say which parameters are unknown, in the words of jsonschema that clients match."""
    names, one = ", ".join(map(repr, unknown)), len(unknown) == 1
    if patterns:
        expected = ", ".join(map(repr, patterns))
        return f"{names} {'does' if one else 'do'} not match any of the regexes: {expected}"
    return f"Additional properties are not allowed ({names} {'was' if one else 'were'} unexpected)"


def _formats() -> FormatChecker:
    checker = FormatChecker(formats=())
    checker.checks("uuid")(lambda text: _UUID.fullmatch(str(text)) is not None)
    return checker


_FORMATS = _formats()
_QueryValidator = extend(  # type: ignore[no-untyped-call]
    Draft202012Validator,
    validators={"pattern": _whole_pattern, "additionalProperties": _no_others},
)
