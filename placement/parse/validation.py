"""Validation by JSON Schema.

Validates as jsonschema does for draft 2020-12, whose messages clients match, except that

- ``$`` in a pattern matches only at the end of a text, not before a final line feed;
- the caller defines the format of UUIDs;
- only the first errors are considered, and items are compared for uniqueness only if all are
  strings, so that the cost is linear in the size of the input.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from placement.microversion import Version
from placement.parse.schema_predicates import Predicate, Schema, predicate
from placement.schemas.base import Windows


@dataclass(frozen=True, slots=True)
class SchemaValidator:
    """The two forms of a schema: the predicate accepts, jsonschema finds the errors."""

    is_valid: Predicate
    schema: Schema
    is_uuid: Callable[[str], bool]

    def most_relevant_error(self, instance: Any) -> str | None:
        """Return the error to report for an invalid instance; None if it is valid."""
        from placement.parse import schema_errors  # noqa: PLC0415  see its docstring

        return schema_errors.most_relevant(self.schema, self.is_uuid, instance)


ValidatorWindows = Sequence[tuple[tuple[int, int], SchemaValidator]]


def validators(windows: Windows, is_uuid: Callable[[str], bool]) -> ValidatorWindows:
    """Return a validator for each schema. Building one costs more than using it."""
    return tuple(
        (since, SchemaValidator(predicate(schema, is_uuid), schema, is_uuid))
        for since, schema in windows
    )


def error_message(windows: ValidatorWindows, instance: Any, version: Version) -> str | None:
    """Return the most relevant error at the microversion, None if the value is valid."""
    schema = next(each for since, each in reversed(windows) if since <= version)
    return None if schema.is_valid(instance) else schema.most_relevant_error(instance)
