"""Bodies and query strings against their schemas.

JSON Schema is read as jsonschema reads draft 2020-12, whose errors clients match, but for:

- ``$`` in a pattern is the end of a text, not what precedes a last line feed;
- a UUID is what the caller of this module says it is;
- of very many errors only the first are weighed, and items are compared for uniqueness only if
  all are text, so that the work is linear in what was sent.
"""

import re
import reprlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from jsonschema import Draft202012Validator, FormatChecker, ValidationError
from jsonschema.exceptions import best_match
from jsonschema.protocols import Validator
from jsonschema.validators import extend

from placement.microversion import Version
from placement.schemas.base import Windows

ValidatorWindows = Sequence[tuple[tuple[int, int], Validator]]

_MOST_ERRORS = 100
_LONGEST_INSTANCE = 2000

Errors = Iterator[ValidationError]
Schema = Mapping[str, Any]


def validators(windows: Windows, is_uuid: Callable[[str], bool]) -> ValidatorWindows:
    """Return a validator for each schema; made once, as building one costs more than using it."""
    formats = FormatChecker(formats=())
    formats.checks("uuid")(lambda value: not isinstance(value, str) or is_uuid(value))
    return tuple(
        (since, _OurValidator(schema, format_checker=formats)) for since, schema in windows
    )


def mistake(windows: ValidatorWindows, instance: Any, version: Version) -> str | None:
    """Say what is wrong by the schema of the microversion; None if nothing is."""
    validator = next(each for since, each in reversed(windows) if since <= version)
    error = best_match(islice(validator.iter_errors(instance), _MOST_ERRORS))
    return None if error is None else _told(error)


def _told(error: ValidationError) -> str:
    """Return all that jsonschema says, with a large instance cut short: it is told twice."""
    if len(repr(error.instance)) > _LONGEST_INSTANCE:
        error.instance = reprlib.repr(error.instance)
        error.message = f"{error.message[:_LONGEST_INSTANCE]} ... {error.message[-1000:]}"
    return str(error)


def _matches(pattern: str, text: str) -> bool:
    return re.search(pattern.replace("$", r"\Z"), text) is not None


def _pattern(validator: Validator, pattern: str, instance: object, schema: Schema) -> Errors:
    del validator, schema
    if isinstance(instance, str) and not _matches(pattern, instance):
        yield ValidationError(f"{instance!r} does not match {pattern!r}")


def _pattern_properties(
    validator: Any, patterns: Mapping[str, Schema], instance: object, schema: Schema
) -> Errors:
    del schema
    if not isinstance(instance, dict):
        return
    for pattern, values in patterns.items():
        for key, value in instance.items():
            if _matches(pattern, key):
                yield from validator.descend(value, values, path=key, schema_path=pattern)


def _additional_properties(
    validator: Any, allowed: Schema | bool, instance: object, schema: Schema
) -> Errors:
    if not isinstance(instance, dict):
        return
    patterns = sorted(schema.get("patternProperties", ()))
    others = sorted(
        key
        for key in instance
        if key not in schema.get("properties", ())
        and not any(_matches(pattern, key) for pattern in patterns)
    )
    if allowed is False:
        yield from map(ValidationError, _refused(others, patterns))
    elif allowed is not True:
        for key in others:
            yield from validator.descend(instance[key], allowed, path=key)


def _refused(keys: Sequence[str], patterns: Sequence[str]) -> Iterator[str]:
    """Yield one sentence on keys that have no place, if there are any, as jsonschema words it."""
    names, one = ", ".join(map(repr, keys)), len(keys) == 1
    if keys and patterns:
        expected = ", ".join(map(repr, patterns))
        yield f"{names} {'does' if one else 'do'} not match any of the regexes: {expected}"
    elif keys:
        unexpected = f"({names} {'was' if one else 'were'} unexpected)"
        yield f"Additional properties are not allowed {unexpected}"


def _unique_items(validator: Validator, unique: bool, instance: object, schema: Schema) -> Errors:
    del validator, unique, schema
    if not isinstance(instance, list) or not all(isinstance(item, str) for item in instance):
        return
    if len(set(instance)) < len(instance):
        yield ValidationError(f"{instance!r} has non-unique elements")


_OurValidator = extend(  # type: ignore[no-untyped-call]
    Draft202012Validator,
    validators={
        "pattern": _pattern,
        "patternProperties": _pattern_properties,
        "additionalProperties": _additional_properties,
        "uniqueItems": _unique_items,
    },
)
