"""The errors of an instance of a JSON Schema, as jsonschema reports them.

A body may have a million values, and jsonschema takes 15 microseconds for each. So only the
invalid members of an instance are passed to jsonschema. It also copies the text of the whole
instance into messages; long texts are shortened.

The errors equal the errors of jsonschema for draft 2020-12, because clients match its messages.
There are three exceptions:

- ``$`` in a pattern matches only at the end of a text, not before a final line feed;
- the caller defines the format of UUIDs;
- only the first errors are considered, and items are compared for uniqueness only if all are
  strings, so that the cost is linear in the size of the input.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from itertools import islice
from typing import Any

from jsonschema import Draft202012Validator, FormatChecker, ValidationError
from jsonschema.exceptions import best_match
from jsonschema.protocols import Validator
from jsonschema.validators import extend

from placement.parse.acceptance import END, IsUuid, acceptance, with_end
from placement.schemas.base import Schema

Errors = Iterator[ValidationError]

_MAX_ERRORS = 100
_MAX_LENGTH = 2000
_END_LENGTH = 300
_COUNTED = {"maxItems": "items", "maxLength": "characters"}


def most_relevant(schema: Schema, is_uuid: IsUuid, instance: Any) -> str | None:
    """Return the most relevant error of the instance; None if it is valid."""
    error = _best(schema, is_uuid, instance)
    if error is None:
        return None
    error.message, error.instance = _shortened(error.message), _shortened(error.instance)
    error.schema = json.loads(json.dumps(error.schema).replace(END, "$"))
    return str(error).replace(END, "$")


def sentence(schema: Schema, is_uuid: IsUuid, instance: Any) -> str | None:
    """Return the most relevant error of a query or body, without its schema; None if it is valid.

    The values of a parameter are described by the ``description`` in its schema.
    """
    error = _best(schema, is_uuid, instance)
    if error is None:
        return None
    where = error.json_path.removeprefix("$").removeprefix(".")
    value = f"{where} is {_shortened(error.instance)!r}"
    known = _known(error.schema)
    if error.validator == "additionalProperties":
        return f"{where and f'{where}: '}there is no parameter {_unknown(error)!r}.{known}"
    if error.validator == "format":
        return f"{value}, which is not a UUID."
    if noun := _COUNTED.get(error.validator):
        count, most = len(error.instance), error.validator_value
        return f"{where} has {count:,} {noun}; the maximum is {most:,}."
    if error.validator == "pattern" and "description" in error.schema:
        return f"{value}, which is not {error.schema['description']}."
    return f"{where and f'{where}: '}{_shortened(error.message)}.{known}"


def _best(schema: Schema, is_uuid: IsUuid, instance: Any) -> Any:
    validator = _Validator(with_end(schema), format_checker=_formats(is_uuid))
    error = best_match(islice(validator.iter_errors(instance), _MAX_ERRORS))
    if error is not None:
        error.message = error.message.replace(END, "$")
    return error


def _shortened(value: object) -> object:
    """Return the value; only the beginning and the end of its text if the text is long."""
    text = value if isinstance(value, str) else repr(value)
    if len(text) <= _MAX_LENGTH:
        return value
    return f"{text[:_END_LENGTH]} ... {text[-_END_LENGTH:]}"


def _unknown(error: Any) -> object:
    """Return a parameter that does not exist."""
    patterns = error.schema.get("patternProperties", {})
    return _shortened(
        next(
            name
            for name in sorted(error.instance)
            if name not in error.schema["properties"]
            and not any(re.search(pattern, name) for pattern in patterns)
        )
    )


def _known(schema: Schema) -> str:
    """Return the sentence about the parameters of an object; empty for other values."""
    if "properties" not in schema:
        return ""
    patterns = (pattern[1:].partition("(")[0] for pattern in schema.get("patternProperties", {}))
    names = sorted((*schema["properties"], *patterns))
    return f" Parameters: {', '.join(names)}." if names else " It has no parameters."


@cache
def _formats(is_uuid: IsUuid) -> FormatChecker:
    formats = FormatChecker(formats=())
    formats.checks("uuid")(lambda value: not isinstance(value, str) or is_uuid(value))
    return formats


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
        is_valid = _acceptance(validator, values)
        for key, value in instance.items():
            if not is_valid(value) and re.search(pattern, key):
                yield from validator.descend(value, values, path=key, schema_path=pattern)


def _acceptance(validator: Any, schema: Schema) -> Callable[[Any], bool]:
    return acceptance(schema, validator.format_checker.checkers["uuid"][0])


def _unique_items(validator: Validator, unique: bool, instance: object, schema: Schema) -> Errors:
    del validator, unique, schema
    if not isinstance(instance, list) or not all(isinstance(item, str) for item in instance):
        return
    if len(set(instance)) < len(instance):
        yield ValidationError(f"{instance!r} has non-unique elements")


_Validator = extend(  # type: ignore[no-untyped-call]
    Draft202012Validator,
    validators={
        "items": _items,
        "patternProperties": _pattern_properties,
        "uniqueItems": _unique_items,
    },
)
