"""fastjsonschema accepts no instance in which jsonschema finds an error."""

import importlib
import pkgutil
import re
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as some

from placement import schemas
from placement.parse import acceptance, schema_errors

UUIDS = ["1c7d5e0c-8a1e-4f7b-9a52-0d1f2c3b4a59", "1C7D5E0C8A1E4F7B9A520D1F2C3B4A59", "x"]
TEXTS = [*UUIDS, "", "VCPU", "CUSTOM_A", "CUSTOM_A\n", "a" * 256, "1", "_A", "in:VCPU", "\n", "é"]
NUMBERS = [-1, 0, 1, 1.0, 1.5, 2**31 - 1, 2**31, True, False, float("inf")]
SCALARS = [None, *NUMBERS, *TEXTS]
TEXT = some.one_of(some.sampled_from(TEXTS), some.text(max_size=3))
ANYTHING = some.recursive(
    some.one_of(TEXT, some.sampled_from(NUMBERS), some.none()),
    lambda inner: some.one_of(
        some.lists(inner, max_size=3), some.dictionaries(TEXT, inner, max_size=3)
    ),
    max_leaves=5,
)


def is_uuid(text):
    return text in UUIDS[:2]


def is_accepted(schema, instance):
    return acceptance.acceptance(schema, is_uuid)(instance)


def is_valid(schema, instance):
    return schema_errors.most_relevant(schema, is_uuid, instance) is None


def schemas_by_module():
    for module in pkgutil.iter_modules(schemas.__path__, "placement.schemas."):
        values = vars(importlib.import_module(module.name)).items()
        named = [
            schema
            for name, value in values
            if isinstance(value, tuple) and not name.startswith("_") and is_windows(value)
            for _, schema in value
        ]
        if named:
            yield pytest.param(named, id=module.name)


def is_windows(value):
    return all(isinstance(each, tuple) and isinstance(each[1], Mapping) for each in value)


@some.composite
def near(draw, schema):
    """An instance that is valid, or has one or two errors."""
    if not isinstance(schema, Mapping) or draw(some.integers(0, 31)) == 0:
        return draw(ANYTHING)
    if "anyOf" in schema:
        return draw(near(draw(some.sampled_from(list(schema["anyOf"])))))
    types = schema.get("type", ["string"])
    type_ = types if isinstance(types, str) else draw(some.sampled_from(list(types)))
    if type_ == "object":
        return draw(members(schema))
    if type_ == "array":
        size = max(schema.get("minItems", 0), draw(some.integers(0, 2)))
        return [draw(near(schema.get("items", {}))) for _ in range(size)]
    return draw(leaf(schema))


@some.composite
def leaf(draw, schema):
    """A scalar: usually valid, otherwise close to the limits."""
    scalars = [*SCALARS, *schema.get("enum", ())]
    valid = [one for one in scalars if is_valid(schema, one)]
    if valid and draw(some.integers(0, 7)):
        return draw(some.sampled_from(valid))
    return draw(some.one_of(some.sampled_from(scalars), TEXT))


@some.composite
def members(draw, schema):
    instance = {}
    for name, value in schema.get("properties", {}).items():
        if draw(some.integers(0, 31 if name in schema.get("required", ()) else 1)):
            instance[name] = draw(near(value))
    for pattern, value in schema.get("patternProperties", {}).items():
        keys = [key for key in TEXTS if re.search(pattern, key)] or TEXTS
        for key in draw(some.lists(some.sampled_from(keys), min_size=1, max_size=2)):
            instance[key] = draw(near(value))
    if draw(some.integers(0, 31)) == 0:
        instance[draw(TEXT)] = draw(ANYTHING)
    return instance


def agree(schema, instance, *, exactly):
    """Whether both decide alike, or fastjsonschema rejects more: formats that only it checks."""
    accepted, valid = is_accepted(schema, instance), is_valid(schema, instance)
    return accepted == valid if exactly else accepted <= valid


def is_of_bodies(request):
    return "insight" not in request.node.callspec.id


@pytest.mark.parametrize("choices", list(schemas_by_module()))
@given(data=some.data())
def test_both_decide_alike(request, choices, data):
    schema = data.draw(some.sampled_from(choices))
    assert agree(schema, data.draw(near(schema)), exactly=is_of_bodies(request))


def scalar_schemas(schema):
    """Yield the schemas of scalars in a schema."""
    if isinstance(schema, Mapping):
        if schema.get("type", "object") not in ("object", "array"):
            yield schema
        for group in (schema.get("properties", {}), schema.get("patternProperties", {})):
            for value in group.values():
                yield from scalar_schemas(value)
        yield from scalar_schemas(schema.get("items"))


def limits(schema):
    """Yield scalars at the limits of a schema, and beyond."""
    for keyword in ("minimum", "maximum"):
        if keyword in schema:
            yield from (schema[keyword] + change for change in (-1, 0, 1))
    for keyword in ("minLength", "maxLength"):
        if keyword in schema:
            yield from ("A" * max(schema[keyword] + change, 0) for change in (-1, 0, 1))


@pytest.mark.parametrize("choices", list(schemas_by_module()))
def test_both_decide_alike_at_and_beyond_each_limit(request, choices):
    for schema in (scalar for choice in choices for scalar in scalar_schemas(choice)):
        for value in (*SCALARS, *schema.get("enum", ()), *limits(schema)):
            assert agree(schema, value, exactly=is_of_bodies(request)), (schema, value)


WITHOUT_TYPE = [
    {"pattern": "^A"},
    {"minLength": 2, "maxLength": 3},
    {"minimum": 1, "maximum": 2},
    {"minItems": 1, "maxItems": 2, "uniqueItems": True},
    {"items": {"pattern": "^A"}},
    {"format": "uuid"},
    {"required": ["VCPU"], "minProperties": 1, "maxProperties": 1},
    {"properties": {"VCPU": {"minimum": 1}}, "additionalProperties": False},
    {"patternProperties": {"^V": {"minimum": 1}}, "additionalProperties": False},
    {"properties": {"VCPU": {"minimum": 1}}, "patternProperties": {"U$": {"maximum": 1}}},
    {"type": ["number", "null"], "minimum": 1},
    {"type": "number", "minimum": 1},
    {"type": "integer", "maximum": 1},
]


@pytest.mark.parametrize("schema", WITHOUT_TYPE, ids=str)
@given(instance=some.one_of(ANYTHING, some.dictionaries(TEXT, some.sampled_from(NUMBERS))))
def test_keywords_apply_to_their_types_only(schema, instance):
    assert agree(schema, instance, exactly="uniqueItems" not in schema)
