"""Validates query strings.

A query string is validated as an object of strings by JSON Schema, so its errors
have the same form as those of bodies. A UUID has 36 characters with hyphens.
"""

import re
from collections.abc import Mapping, Sequence

from placement import exception
from placement.microversion import Version
from placement.parse import validation
from placement.schemas.base import Windows

PREFIX = "Invalid query string parameters: "
FIRST_VALUE_APPLIES = frozenset({"limit", "group_policy"})

QueryPairs = Sequence[tuple[str, str]]
Values = Mapping[str, Sequence[str]]

_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)


def validators(windows: Windows) -> validation.ValidatorWindows:
    """Return validators of queries, in which a UUID must have hyphens."""
    return validation.validators(windows, lambda text: _UUID.fullmatch(text) is not None)


def check(windows: validation.ValidatorWindows, pairs: QueryPairs, version: Version) -> None:
    """Raise BadRequest unless each parameter is known at the microversion and well formed.

    Of a repeated parameter only the value that applies is checked: the first of
    ``limit`` and ``group_policy``, the last of any other.
    """
    message = validation.error_message(windows, effective(pairs), version)
    if message is not None:
        raise exception.BadRequest(f"{PREFIX}{message}")


def grouped(pairs: QueryPairs) -> Values:
    """Return all values of each parameter, both in the order of the query string."""
    values: dict[str, list[str]] = {}
    for key, value in pairs:
        values.setdefault(key, []).append(value)
    return values


def effective(pairs: QueryPairs) -> dict[str, str]:
    """Return one value of each parameter: the one that applies where only one is allowed."""
    values: dict[str, str] = {}
    for key, value in pairs:
        if key not in FIRST_VALUE_APPLIES or key not in values:
            values[key] = value
    return values
