"""Validates request bodies and query strings by JSON Schema.

fastjsonschema accepts valid instances (:mod:`placement.parse.acceptance`), jsonschema finds the
errors of all other instances (:mod:`placement.parse.schema_errors`).

A query string is validated as an object of strings, so its errors have the same form
as the errors of bodies.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from placement import exception
from placement.core.text import canonical_uuid
from placement.microversion import Version, exists_from
from placement.parse.acceptance import IsUuid, acceptance
from placement.schemas.base import Schema, Windows

PREFIX = "Invalid query string parameters: "
PREFIX_OF_BODY = "JSON does not validate: "
FIRST_VALUE_APPLIES = frozenset({"limit", "group_policy"})

QueryPairs = Sequence[tuple[str, str]]
Values = Mapping[str, Sequence[str]]

_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)


@dataclass(frozen=True)
class SchemaValidator:
    """The validator of one schema."""

    schema: Schema
    is_uuid: IsUuid

    @cached_property
    def accepts(self) -> Callable[[Any], bool]:
        """The function that returns whether an instance is valid."""
        return acceptance(self.schema, self.is_uuid)

    def error(self, instance: Any, *, in_words: bool = False) -> str | None:
        """Return the most relevant error of the instance, None if it is valid.

        ``in_words`` describes it for people, without the schema.
        """
        if self.accepts(instance):
            return None
        # jsonschema takes 0.1 s of each start, and only instances that are not valid need it
        from placement.parse import schema_errors  # noqa: PLC0415

        describe = schema_errors.sentence if in_words else schema_errors.most_relevant
        return describe(self.schema, self.is_uuid, instance)


ValidatorWindows = Sequence[tuple[tuple[int, int], SchemaValidator]]


def validators(windows: Windows, is_uuid: IsUuid) -> ValidatorWindows:
    """Return a validator for each schema."""
    return tuple((since, SchemaValidator(schema, is_uuid)) for since, schema in windows)


def error_message(
    windows: ValidatorWindows, instance: Any, version: Version, *, in_words: bool = False
) -> str | None:
    """Return the most relevant error at the microversion, None if the value is valid."""
    message = _validator(windows, version).error(instance, in_words=in_words)
    return message and message + _other_version(windows, instance, version)


def _other_version(windows: ValidatorWindows, instance: Any, version: Version) -> str:
    """Return the next versions at which the instance is valid, as a sentence, if any."""
    own = _validator(windows, version)
    valid = [since for since, each in windows if each is not own and each.accepts(instance)]
    if later := next((since for since in valid if since > version), None):
        return f"\n\nThis form of the request {exists_from(later, version)}"
    if not valid:
        return ""
    ended = next(since for since, _ in windows if since > valid[-1])
    last = Version(ended[0], ended[1] - 1)
    return f"\n\nThis form of the request exists up to {last}; it was handled at {version}."


def _validator(windows: ValidatorWindows, version: Version) -> SchemaValidator:
    return next(candidate for since, candidate in reversed(windows) if since <= version)


def body_validators(windows: Windows) -> ValidatorWindows:
    """Return validators of bodies, in which a UUID may have any accepted spelling."""
    return validators(windows, _is_uuid)


def _is_uuid(text: str) -> bool:
    return canonical_uuid(text) is not None


def validate(
    windows: ValidatorWindows, document: Any, version: Version, *, in_words: bool = False
) -> Any:
    """Return the document if it is valid according to the schema of the microversion.

    Raises: BadRequest, with a message for people if ``in_words``; see ``check``.
    """
    message = error_message(windows, document, version, in_words=in_words)
    if message is not None:
        raise exception.BadRequest(PREFIX_OF_BODY + message)
    return document


def query_validators(windows: Windows) -> ValidatorWindows:
    """Return validators of queries, in which a UUID must have hyphens."""
    return validators(windows, _is_uuid_with_hyphens)


def _is_uuid_with_hyphens(text: str) -> bool:
    return _UUID.fullmatch(text) is not None


def check(
    windows: ValidatorWindows, pairs: QueryPairs, version: Version, *, in_words: bool = False
) -> None:
    """Raise BadRequest unless each parameter is known at the microversion and well formed.

    Of a repeated parameter only the value that applies is checked: the first of
    ``limit`` and ``group_policy``, the last of any other. Messages ``in_words`` are for people;
    the messages of the Placement API have the schema, because clients match them.
    """
    message = error_message(windows, effective(pairs), version, in_words=in_words)
    if message is not None:
        raise exception.BadRequest(f"{PREFIX}{message}")


def grouped(pairs: QueryPairs) -> Values:
    """Return the values by parameter; both are in the order of the query string."""
    values: dict[str, list[str]] = {}
    for key, value in pairs:
        values.setdefault(key, []).append(value)
    return values


def effective(pairs: QueryPairs) -> dict[str, str]:
    """Return one value by parameter: the value that applies where only one is allowed."""
    values: dict[str, str] = {}
    for key, value in pairs:
        if key not in FIRST_VALUE_APPLIES or key not in values:
            values[key] = value
    return values
