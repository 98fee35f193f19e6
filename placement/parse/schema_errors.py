"""The errors of an instance of a JSON Schema, as jsonschema reports them.

A body may have a million values, and jsonschema takes 15 microseconds for each. So only the
invalid members of an instance are passed to jsonschema. It also copies the text of the whole
instance into messages; large values are shortened first.

The errors equal the errors of jsonschema for draft 2020-12, because clients match its messages.
There are three exceptions:

- ``$`` in a pattern matches only at the end of a text, not before a final line feed;
- the caller defines the format of UUIDs;
- only the first errors are considered, and items are compared for uniqueness only if all are
  strings, so that the cost is linear in the size of the input.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from itertools import islice
from typing import Any

from jsonschema import Draft202012Validator, FormatChecker, ValidationError
from jsonschema.exceptions import best_match
from jsonschema.protocols import Validator
from jsonschema.validators import extend

from placement.parse.acceptance import IsUuid, acceptance, with_end
from placement.schemas.base import Schema

Errors = Iterator[ValidationError]

_MAX_ERRORS = 100
_MAX_KEYS = 50
_MAX_TEXT_LENGTH = 2000
_MAX_MEMBERS = 6
_MAX_STRING_LENGTH = 300

_ON_SHORT = ("type", "enum", "format", "minItems", "minProperties")


def most_relevant(schema: Schema, is_uuid: IsUuid, instance: Any) -> str | None:
    """Return the most relevant error of the instance; None if it is valid."""
    error = _best(schema, is_uuid, instance)
    if error is None:
        return None
    error.instance = _short(error.instance)
    return str(error)


def sentence(schema: Schema, is_uuid: IsUuid, query: Mapping[str, str]) -> str | None:
    """Return the most relevant error of a query string, without its schema; None if it is valid.

    The values of a parameter are described by the ``description`` in its schema.
    """
    error = _best(schema, is_uuid, query)
    return None if error is None else _SENTENCES.get(error.validator, _malformed)(error)


def _best(schema: Schema, is_uuid: IsUuid, instance: Any) -> ValidationError | None:
    errors = _Validator(schema, format_checker=_formats(is_uuid)).iter_errors(instance)
    error: ValidationError | None = best_match(islice(errors, _MAX_ERRORS))
    return error


def _parameter(error: Any) -> str:
    return f"{error.absolute_path[0]} is {_short(error.instance)!r}"


def _malformed(error: Any) -> str:
    """Return the sentence about a value that is not what its schema describes."""
    if error.validator == "format":
        return f"{_parameter(error)}, which is not a UUID."
    if error.validator == "pattern" and "description" in error.schema:
        return f"{_parameter(error)}, which is not {error.schema['description']}."
    return f"{error.absolute_path[0]}: {error.message}."


def _not_listed(error: Any) -> str:
    return f"{_parameter(error)}. Use one of: {', '.join(error.validator_value)}."


def _missing(error: Any) -> str:
    missing = next(name for name in error.validator_value if name not in error.instance)
    return f"{missing} is missing."


def _unknown(error: Any) -> str:
    """Return the sentence about a parameter that does not exist, with those that exist."""
    patterns = error.schema.get("patternProperties", {})
    unknown = next(
        name
        for name in sorted(error.instance)
        if name not in error.schema["properties"]
        and not any(_matches(pattern)(name) for pattern in patterns)
    )
    names = [*error.schema["properties"], *(pattern[1:].partition("(")[0] for pattern in patterns)]
    known = f" Parameters: {', '.join(sorted(names))}." if names else " It has no parameters."
    return f"there is no parameter {_short(unknown)!r}.{known}"


_SENTENCES: Mapping[object, Callable[[Any], str]] = {
    "additionalProperties": _unknown,
    "enum": _not_listed,
    "required": _missing,
}


def _matches(pattern: str) -> Callable[[str], object]:
    """Return the search of a pattern in which ``$`` matches only at the end of the text."""
    return re.compile(with_end(pattern)).search


@cache
def _formats(is_uuid: IsUuid) -> FormatChecker:
    formats = FormatChecker(formats=())
    formats.checks("uuid")(lambda value: not isinstance(value, str) or is_uuid(value))
    return formats


def _pattern(validator: Validator, pattern: str, instance: object, schema: Schema) -> Errors:
    del validator, schema
    if isinstance(instance, str) and not _matches(pattern)(instance):
        yield ValidationError(f"{_short(instance)!r} does not match {pattern!r}")


def _items(validator: Any, items: Schema, instance: object, schema: Schema) -> Errors:
    del schema
    if isinstance(instance, list):
        is_valid = _acceptance(validator, items)
        for index, item in enumerate(instance):
            if not is_valid(item):
                yield from validator.descend(item, items, path=index)


def _pattern_properties(
    validator: Any, patterns: Mapping[str, Schema], instance: object, schema: Schema
) -> Errors:
    del schema
    if not isinstance(instance, dict):
        return
    for pattern, values in patterns.items():
        is_match, is_valid = _matches(pattern), _acceptance(validator, values)
        for key, value in instance.items():
            if not is_valid(value) and is_match(key):
                yield from validator.descend(value, values, path=key, schema_path=pattern)


def _acceptance(validator: Any, schema: Schema) -> Callable[[Any], bool]:
    return acceptance(schema, validator.format_checker.checkers["uuid"][0])


def _additional_properties(
    validator: Any, allowed: Schema | bool, instance: object, schema: Schema
) -> Errors:
    if not isinstance(instance, dict):
        return
    patterns = sorted(schema.get("patternProperties", ()))
    are_matches = [_matches(pattern) for pattern in patterns]
    additional_keys = sorted(
        key
        for key in instance
        if key not in schema.get("properties", ())
        and not any(is_match(key) for is_match in are_matches)
    )
    if allowed is False:
        yield from map(ValidationError, _unexpected_keys(additional_keys, patterns))
    elif allowed is not True:
        for key in additional_keys:
            yield from validator.descend(instance[key], allowed, path=key)


def _unexpected_keys(keys: Sequence[str], patterns: Sequence[str]) -> Iterator[str]:
    """Yield the message of jsonschema for keys that are not allowed, if there are any."""
    names, one = ", ".join(repr(_short(key)) for key in keys[:_MAX_KEYS]), len(keys) == 1
    if len(keys) > _MAX_KEYS:
        names = f"{names}, and {len(keys) - _MAX_KEYS} others"
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
        yield ValidationError(f"{_short(instance)!r} has non-unique elements")


def _max_length(validator: Validator, most: int, instance: object, schema: Schema) -> Errors:
    del validator, schema
    if isinstance(instance, str) and len(instance) > most:
        yield ValidationError(f"{_short(instance)!r} is too long")


def _on_short(keyword: str) -> Any:
    """Return the check of a keyword that has the same result for the beginning of a value."""
    check: Any = Draft202012Validator.VALIDATORS[keyword]

    def errors(validator: Validator, value: Any, instance: object, schema: Schema) -> Errors:
        yield from check(validator, value, _short(instance), schema) or ()

    return errors


def _short(value: object) -> object:
    """Return the value, or its beginning if its text is too long for a message."""
    return _beginning(value, 3) if _is_large(value) else value


def _is_large(value: object) -> bool:
    """Return whether a text of the value would be very long; looks at a part of it at most."""
    length, values = 0, [value]
    while values and length <= _MAX_TEXT_LENGTH:
        value = values.pop()
        if isinstance(value, str | list | dict):
            length += len(value)
        if isinstance(value, list | dict) and length <= _MAX_TEXT_LENGTH:
            values += value
            values += value.values() if isinstance(value, dict) else ()
    return length > _MAX_TEXT_LENGTH


def _beginning(value: object, levels: int) -> object:
    if isinstance(value, str) and len(value) > _MAX_STRING_LENGTH:
        return f"{value[:_MAX_STRING_LENGTH]}..."
    most = _MAX_MEMBERS if levels else 0
    if isinstance(value, list):
        rest = ["..."] if len(value) > most else []
        return [_beginning(item, levels - 1) for item in value[:most]] + rest
    if isinstance(value, dict):
        members = {
            str(_beginning(key, 0)): _beginning(item, levels - 1)
            for key, item in islice(value.items(), most)
        }
        return members | ({"...": "..."} if len(value) > most else {})
    return value


_Validator = extend(  # type: ignore[no-untyped-call]
    Draft202012Validator,
    validators={
        "pattern": _pattern,
        "items": _items,
        "patternProperties": _pattern_properties,
        "additionalProperties": _additional_properties,
        "uniqueItems": _unique_items,
        "maxLength": _max_length,
        **{keyword: _on_short(keyword) for keyword in _ON_SHORT},
    },
)
