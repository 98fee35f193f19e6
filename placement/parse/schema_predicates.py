"""Compiles a JSON Schema into a predicate: whether an instance is valid.

A predicate takes a tenth of the time of jsonschema, because it neither looks up keywords nor
builds errors. ``validation`` uses it to accept valid instances, and jsonschema for the errors of
all others. So a predicate may reject a valid instance, but must not accept an invalid one; a
property test compares both. A schema with a keyword that is not supported here is not compiled:
its predicate rejects every instance.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence, Sized
from typing import Any

Predicate = Callable[[Any], bool]
Schema = Mapping[str, Any]


class UnsupportedSchema(Exception):  # noqa: N818
    """A keyword, type or format for which there is no predicate."""


def predicate(schema: Schema, is_uuid: Callable[[str], bool]) -> Predicate:
    """Return the predicate of a schema; ``is_uuid`` checks the format of UUIDs.

    >>> is_valid = predicate({"type": "integer", "minimum": 1}, bool)
    >>> is_valid(1), is_valid(0), is_valid("1")
    (True, False, False)
    """
    try:
        return _Compiler(is_uuid).compile(schema)
    except UnsupportedSchema:
        return _rejects


def _rejects(_: Any) -> bool:
    return False


def _accepts(_: Any) -> bool:
    return True


def matches(pattern: str) -> Callable[[str], object]:
    """Return the search of a pattern in which ``$`` matches only at the end of the text."""
    return re.compile(pattern.replace("$", r"\Z")).search


class _Compiler:
    """Makes predicates of schemas, one for each keyword or group of keywords."""

    def __init__(self, is_uuid: Callable[[str], bool]) -> None:
        self._is_uuid = is_uuid

    def compile(self, schema: Schema | bool) -> Predicate:
        if isinstance(schema, bool):
            return _accepts if schema else _rejects
        return _all(list(self._predicates(schema)))

    def _predicates(self, schema: Schema) -> Iterator[Predicate]:
        for keyword in schema.keys() - _ANNOTATIONS - _OBJECT_KEYWORDS:
            yield self._of_keyword(keyword, schema[keyword])
        if schema.keys() & _OBJECT_KEYWORDS:
            yield self._of_members(schema)

    def _of_keyword(self, keyword: str, value: Any) -> Predicate:
        if keyword in _SIMPLE:
            return _SIMPLE[keyword](value)
        if keyword == "format" and value == "uuid":
            is_uuid = self._is_uuid
            return lambda instance: not isinstance(instance, str) or is_uuid(instance)
        if keyword == "items":
            is_item = self.compile(value)
            return lambda instance: not isinstance(instance, list) or all(map(is_item, instance))
        if keyword == "anyOf":
            choices = [self.compile(choice) for choice in value]
            return lambda instance: any(choice(instance) for choice in choices)
        raise UnsupportedSchema(keyword)

    def _of_members(self, schema: Schema) -> Predicate:
        """The predicate of properties, patternProperties and additionalProperties."""
        properties = {
            name: self.compile(value) for name, value in schema.get("properties", {}).items()
        }
        patterns = [
            (matches(pattern), self.compile(value))
            for pattern, value in schema.get("patternProperties", {}).items()
        ]
        is_other = self.compile(schema.get("additionalProperties", True))

        def are_members(instance: Any) -> bool:
            if not isinstance(instance, dict):
                return True
            for key, value in instance.items():
                is_value = properties.get(key)
                if is_value is not None and not is_value(value):
                    return False
                is_known = is_value is not None
                for is_key, is_value in patterns:
                    if is_key(key):
                        is_known = True
                        if not is_value(value):
                            return False
                if not is_known and not is_other(value):
                    return False
            return True

        return are_members


def _all(predicates: Sequence[Predicate]) -> Predicate:
    if len(predicates) == 1:
        return predicates[0]

    def holds(instance: Any) -> bool:
        for each in predicates:  # noqa: SIM110  all() takes twice as long
            if not each(instance):
                return False
        return True

    return holds


def _is_integer(value: Any) -> bool:
    if isinstance(value, float):
        return value.is_integer()
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


_TYPES: Mapping[str, Predicate] = {
    "array": lambda value: isinstance(value, list),
    "boolean": lambda value: isinstance(value, bool),
    "integer": _is_integer,
    "null": lambda value: value is None,
    "number": _is_number,
    "object": lambda value: isinstance(value, dict),
    "string": lambda value: isinstance(value, str),
}


def _type(names: str | Sequence[str]) -> Predicate:
    if isinstance(names, str):
        return _TYPES[names]
    types = [_TYPES[name] for name in names]
    return lambda instance: any(is_type(instance) for is_type in types)


def _pattern(pattern: str) -> Predicate:
    is_match = matches(pattern)
    return lambda value: not isinstance(value, str) or is_match(value) is not None


def _enum(values: Sequence[Any]) -> Predicate:
    """The predicate of texts; other values compare differently in JSON and Python."""
    if not all(isinstance(value, str) for value in values):
        raise UnsupportedSchema("enum")
    return lambda instance: isinstance(instance, str) and instance in values


def _required(names: Sequence[str]) -> Predicate:
    required = frozenset(names)
    return lambda value: not isinstance(value, dict) or required <= value.keys()


def _unique_items(is_unique: bool) -> Predicate:
    """The predicate of lists of texts; lists of other items are not compared."""

    def are_unique(instance: Any) -> bool:
        if not isinstance(instance, list) or not all(isinstance(item, str) for item in instance):
            return True
        return len(set(instance)) == len(instance)

    return are_unique if is_unique else _accepts


def _length(type_: type[Sized], *, at_least: bool) -> Callable[[int], Predicate]:
    if at_least:
        return lambda limit: lambda value: not isinstance(value, type_) or len(value) >= limit
    return lambda limit: lambda value: not isinstance(value, type_) or len(value) <= limit


_SIMPLE: Mapping[str, Callable[[Any], Predicate]] = {
    "type": _type,
    "pattern": _pattern,
    "enum": _enum,
    "const": lambda value: _enum([value]),
    "required": _required,
    "uniqueItems": _unique_items,
    "minimum": lambda limit: lambda value: not _is_number(value) or value >= limit,
    "maximum": lambda limit: lambda value: not _is_number(value) or value <= limit,
    "minLength": _length(str, at_least=True),
    "maxLength": _length(str, at_least=False),
    "minItems": _length(list, at_least=True),
    "maxItems": _length(list, at_least=False),
    "minProperties": _length(dict, at_least=True),
    "maxProperties": _length(dict, at_least=False),
}
_OBJECT_KEYWORDS = frozenset({"properties", "patternProperties", "additionalProperties"})
_ANNOTATIONS = frozenset({"title", "description", "default", "examples"})
