"""The errors that jsonschema finds in an instance, with the differences that ``validation`` names.

Only this module imports jsonschema, and it is imported for the first invalid instance: the import
takes 40 ms, more than a twentieth of the start-up of a process.
"""

import reprlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from jsonschema import Draft202012Validator, FormatChecker, ValidationError
from jsonschema.exceptions import best_match
from jsonschema.protocols import Validator
from jsonschema.validators import extend

from placement.parse.schema_predicates import matches

_MAX_ERRORS = 100
_MAX_INSTANCE_LENGTH = 2000

Errors = Iterator[ValidationError]
Schema = Mapping[str, Any]


def most_relevant(schema: Schema, is_uuid: Callable[[str], bool], instance: Any) -> str | None:
    """Return the most relevant error of the instance; None if it is valid."""
    error = best_match(islice(errors(schema, is_uuid, instance), _MAX_ERRORS))
    return None if error is None else _message(error)


def errors(schema: Schema, is_uuid: Callable[[str], bool], instance: Any) -> Errors:
    """Yield the errors of the instance."""
    formats = FormatChecker(formats=())
    formats.checks("uuid")(lambda value: not isinstance(value, str) or is_uuid(value))
    yield from _Validator(schema, format_checker=formats).iter_errors(instance)


def _message(error: ValidationError) -> str:
    """Return the message of jsonschema, with a large instance shortened: it occurs twice in it."""
    if len(repr(error.instance)) > _MAX_INSTANCE_LENGTH:
        error.instance = reprlib.repr(error.instance)
        error.message = f"{error.message[:_MAX_INSTANCE_LENGTH]} ... {error.message[-1000:]}"
    return str(error)


def _pattern(validator: Validator, pattern: str, instance: object, schema: Schema) -> Errors:
    del validator, schema
    if isinstance(instance, str) and not matches(pattern)(instance):
        yield ValidationError(f"{instance!r} does not match {pattern!r}")


def _pattern_properties(
    validator: Any, patterns: Mapping[str, Schema], instance: object, schema: Schema
) -> Errors:
    del schema
    if not isinstance(instance, dict):
        return
    for pattern, values in patterns.items():
        for key, value in instance.items():
            if matches(pattern)(key):
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
        and not any(matches(pattern)(key) for pattern in patterns)
    )
    if allowed is False:
        yield from map(ValidationError, _unexpected_keys(others, patterns))
    elif allowed is not True:
        for key in others:
            yield from validator.descend(instance[key], allowed, path=key)


def _unexpected_keys(keys: Sequence[str], patterns: Sequence[str]) -> Iterator[str]:
    """Yield the message of jsonschema for keys that are not allowed, if there are any."""
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


_Validator = extend(  # type: ignore[no-untyped-call]
    Draft202012Validator,
    validators={
        "pattern": _pattern,
        "patternProperties": _pattern_properties,
        "additionalProperties": _additional_properties,
        "uniqueItems": _unique_items,
    },
)
