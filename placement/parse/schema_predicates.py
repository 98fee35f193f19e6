"""Compiles a JSON Schema into a predicate: whether an instance is valid.

A predicate takes a tenth of the time of jsonschema, because it neither looks up keywords nor
builds errors. ``validation`` uses it to accept valid instances, and jsonschema for the errors of
all others. So a predicate may reject a valid instance, but must not accept an invalid one; a
property test compares both. A schema with a keyword that is not supported here is not compiled:
its predicate rejects every instance.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
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
        """Yield the predicates, that of the type first: the others need not check it again."""
        types = schema.get("type")
        if types is not None:
            yield _type(types)
        keywords = schema.keys() - _ANNOTATIONS - _MEMBERS - {"type"}
        for keyword in keywords:
            yield self._of_keyword(keyword, schema[keyword], types)
        if schema.keys() & _MEMBERS:
            yield _for_type("object", self._of_members(schema), types)

    def _of_keyword(self, keyword: str, value: Any, types: Any) -> Predicate:
        if keyword in _LIMITS:
            type_name, limit = _LIMITS[keyword]
            return _for_type(type_name, limit(value), types)
        if keyword in _SIMPLE:
            return _SIMPLE[keyword](value)
        if keyword == "format" and value == "uuid":
            return _for_type("string", self._is_uuid, types)
        if keyword == "items":
            is_item = self.compile(value)
            return _for_type("array", lambda instance: all(map(is_item, instance)), types)
        if keyword == "anyOf":
            return _any([self.compile(choice) for choice in value])
        raise UnsupportedSchema(keyword)

    def _of_members(self, schema: Schema) -> Predicate:
        """Return the predicate of (pattern)Properties and additionalProperties of an object."""
        properties = {
            name: self.compile(value) for name, value in schema.get("properties", {}).items()
        }
        patterns = [
            (matches(pattern), self.compile(value))
            for pattern, value in schema.get("patternProperties", {}).items()
        ]
        is_closed = schema.get("additionalProperties", True) is False
        if is_closed and not patterns:
            return _closed(properties)
        if is_closed and not properties and len(patterns) == 1:
            return _keyed(*patterns[0])
        return _open(properties, patterns, self.compile(schema.get("additionalProperties", True)))


def _closed(properties: Mapping[str, Predicate]) -> Predicate:
    """Return the predicate of objects that have these properties and no others."""

    def are_members(instance: Any) -> bool:
        for key, value in instance.items():
            is_value = properties.get(key)
            if is_value is None or not is_value(value):
                return False
        return True

    return are_members


def _keyed(is_key: Callable[[str], object], is_value: Predicate) -> Predicate:
    """Return the predicate of objects whose keys all match one pattern."""

    def are_members(instance: Any) -> bool:
        for key, value in instance.items():  # noqa: SIM110  as in _all
            if not is_key(key) or not is_value(value):
                return False
        return True

    return are_members


def _open(
    properties: Mapping[str, Predicate],
    patterns: Sequence[tuple[Callable[[str], object], Predicate]],
    is_other: Predicate,
) -> Predicate:
    """Return the predicate of objects in which any property and any pattern may occur."""

    def are_members(instance: Any) -> bool:
        for key, value in instance.items():
            applicable = [is_value for is_key, is_value in patterns if is_key(key)]
            if key in properties:
                applicable.append(properties[key])
            if not all(is_value(value) for is_value in applicable or [is_other]):
                return False
        return True

    return are_members


def _for_type(type_name: str, predicate: Predicate, types: Any) -> Predicate:
    """Return the predicate for instances of a type; other instances are valid.

    ``types`` is the value of the keyword ``type`` of the schema, which was checked before.
    """
    if types in (type_name, _SUBTYPES.get(type_name, type_name)):
        return predicate
    is_type = _TYPES[type_name]
    return lambda instance: not is_type(instance) or predicate(instance)


def _all(predicates: Sequence[Predicate]) -> Predicate:
    if len(predicates) == 1:
        return predicates[0]

    def holds(instance: Any) -> bool:
        for each in predicates:  # noqa: SIM110  all() takes twice as long
            if not each(instance):
                return False
        return True

    return holds


def _any(predicates: Sequence[Predicate]) -> Predicate:
    def holds(instance: Any) -> bool:
        for each in predicates:  # noqa: SIM110  any() takes twice as long
            if each(instance):
                return True
        return False

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


_SUBTYPES = {"number": "integer"}


def _type(names: str | Sequence[str]) -> Predicate:
    return _TYPES[names] if isinstance(names, str) else _any([_TYPES[name] for name in names])


def _pattern(pattern: str) -> Predicate:
    is_match = matches(pattern)
    return lambda text: is_match(text) is not None


def _enum(values: Sequence[Any]) -> Predicate:
    """The predicate of texts; other values compare differently in JSON and Python."""
    if not all(isinstance(value, str) for value in values):
        raise UnsupportedSchema("enum")
    return lambda instance: isinstance(instance, str) and instance in values


def _required(names: Sequence[str]) -> Predicate:
    required = frozenset(names)
    return lambda instance: required <= instance.keys()


def _unique_items(is_unique: bool) -> Predicate:
    """The predicate of lists of texts; lists of other items are not compared."""

    def are_unique(items: Any) -> bool:
        return not all(isinstance(item, str) for item in items) or len(set(items)) == len(items)

    return are_unique if is_unique else _accepts


def _at_least(limit: int) -> Predicate:
    return lambda instance: len(instance) >= limit


def _at_most(limit: int) -> Predicate:
    return lambda instance: len(instance) <= limit


# The keywords that apply to instances of one type.
_LIMITS: Mapping[str, tuple[str, Callable[[Any], Predicate]]] = {
    "pattern": ("string", _pattern),
    "required": ("object", _required),
    "uniqueItems": ("array", _unique_items),
    "minimum": ("number", lambda limit: lambda value: value >= limit),
    "maximum": ("number", lambda limit: lambda value: value <= limit),
    "minLength": ("string", _at_least),
    "maxLength": ("string", _at_most),
    "minItems": ("array", _at_least),
    "maxItems": ("array", _at_most),
    "minProperties": ("object", _at_least),
    "maxProperties": ("object", _at_most),
}
_SIMPLE: Mapping[str, Callable[[Any], Predicate]] = {
    "enum": _enum,
    "const": lambda value: _enum([value]),
}
_MEMBERS = frozenset({"properties", "patternProperties", "additionalProperties"})
_ANNOTATIONS = frozenset({"title", "description", "default", "examples"})
