"""How schemas are read."""

import sys
import time
from collections import Counter

import pytest

from placement.microversion import VERSIONS, Version
from placement.parse import validation
from placement.schemas.base import closed, keyed

V = Version(1, 0)


def error_message(schema, instance):
    return validation.error_message(
        validation.validators((((1, 0), schema),), lambda text: text == "uuid"), instance, V
    )


def test_valid_instance_has_no_error():
    assert error_message({"type": "string"}, "x") is None


def test_message_is_that_of_jsonschema():
    schema = closed({"total": {"type": "integer", "minimum": 1}}, "total")
    assert error_message(schema, {"total": 0}) == (
        "0 is less than the minimum of 1\n\n"
        "Failed validating 'minimum' in schema['properties']['total']:\n"
        "    {'type': 'integer', 'minimum': 1}\n\n"
        "On instance['total']:\n    0"
    )


def test_the_schema_is_that_of_the_version():
    windows = validation.validators(
        (((1, 0), {"type": "array"}), ((1, 19), {"type": "object"})), bool
    )
    taken = [
        version for version in VERSIONS if validation.error_message(windows, [], version) is None
    ]
    assert taken == list(VERSIONS[:19])


def test_the_end_of_a_pattern_is_the_end_of_the_text():
    schema = {"type": "string", "pattern": "^[A-Z]+$"}
    assert error_message(schema, "A") is None
    assert error_message(schema, "A\n").startswith(r"'A\n' does not match '^[A-Z]+$'")
    message = error_message(schema, r"a\Z")
    assert message.startswith(r"'a\\Z' does not match '^[A-Z]+$'")
    assert "'pattern': '^[A-Z]+$'" in message
    assert message.endswith(r"'a\\Z'")


def test_alternative_without_anchor_is_open():
    schema = {"type": "string", "pattern": "^[A-Z]+$|^all"}
    assert error_message(schema, "allfoo") is None


def test_keys_are_matched_to_their_end():
    schema = keyed("^[A-Z]+$", {"type": "integer"})
    assert error_message(schema, {"A": 1}) is None
    assert error_message(schema, {"A\n": 1}).startswith(
        r"'A\n' does not match any of the regexes: '^[A-Z]+$'"
    )
    assert error_message(schema, {"b": 1, "a": 1}).startswith("'a', 'b' do not match any")


def test_values_of_matching_keys_are_looked_at():
    text = error_message(keyed("^[A-Z]+$", {"type": "integer"}), {"A": "x"})
    assert "'x' is not of type 'integer'" in text
    assert "schema['patternProperties']['^[A-Z]+$']" in text


def test_unexpected_keys_are_reported():
    schema = closed({"a": {}})
    assert error_message(schema, {"b": 1}).startswith(
        "Additional properties are not allowed ('b' was unexpected)"
    )
    assert "('b', 'c' were unexpected)" in error_message(schema, {"c": 1, "b": 1})


def test_other_keys_may_have_a_schema_of_their_own():
    schema = {"type": "object", "additionalProperties": {"type": "integer"}}
    assert error_message(schema, {"b": 1}) is None
    assert "'x' is not of type 'integer'" in error_message(schema, {"b": "x"})


@pytest.mark.parametrize(
    ("instance", "ok"), [("uuid", True), ("x", False), (None, True), (5, True)]
)
def test_a_format_is_one_of_texts(instance, ok):
    assert (error_message({"format": "uuid"}, instance) is None) is ok


def test_a_wrong_format_is_named():
    assert error_message({"format": "uuid"}, "x").startswith("'x' is not a 'uuid'")


@pytest.mark.parametrize(("number", "ok"), [(1, True), (1.0, True), (1.5, False), (True, False)])
def test_integral_float_is_an_integer(number, ok):
    assert (error_message({"type": "integer"}, number) is None) is ok


def test_most_relevant_error_is_reported():
    schema = closed({"a": {"type": "integer"}}, "a")
    assert "'b' was unexpected" in error_message(schema, {"a": "x", "b": 1})


def test_items_are_compared_if_all_are_text():
    schema = {"type": "array", "uniqueItems": True}
    assert "has non-unique elements" in error_message(schema, ["a", "a"])
    assert error_message(schema, ["a", 1, 1]) is None


@pytest.mark.parametrize("items", [["x"], ["uuid", 1]])
def test_many_mistakes_take_no_longer_than_many_items(items):
    schema = {
        "type": "array",
        "uniqueItems": True,
        "items": {"type": "string", "format": "uuid", "minLength": 5},
    }
    began = time.process_time()
    assert error_message(schema, items * 100_000) is not None
    assert time.process_time() - began < 10  # quadratic work would be hours


def test_numbers_with_equal_hashes_are_not_compared():
    schema = {"type": "array", "uniqueItems": True, "items": {"type": "string"}}
    began = time.process_time()
    numbers = [n * (2**61 - 1) for n in range(100_000)]  # the modulus of Python's hashes
    assert "is not of type 'string'" in error_message(schema, numbers)
    assert time.process_time() - began < 10  # to compare them would take minutes


def test_large_instances_are_shortened():
    text = error_message({"type": "array", "uniqueItems": True}, ["uuid"] * 100_000)
    assert "has non-unique elements" in text
    assert "Failed validating 'uniqueItems' in schema" in text
    assert len(text) < 5000


def calls(schema, instance):
    """Return the message of an instance, and the number of calls of Python functions for it."""
    error_message(schema, None)  # compiles the schema
    events = Counter()
    sys.setprofile(lambda _frame, event, _: events.update([event]))
    try:
        text = error_message(schema, instance)
    finally:
        sys.setprofile(None)
    return text, events["call"]


UUIDS = {"type": "array", "uniqueItems": True, "items": {"type": "string", "format": "uuid"}}
BY_NAME = keyed("^[A-Z]+[0-9]*$", {"type": "object", "required": ["total"]}, at_least=1)


@pytest.mark.parametrize(
    ("schema", "instance"),
    [
        (UUIDS, ["uuid"] * 20_000),
        (UUIDS, [*(["uuid"] * 20_000), "x"]),
        (UUIDS, "x" * 20_000),
        (BY_NAME, [[]] * 20_000),
        (BY_NAME, [[[]] * 20_000]),
        (BY_NAME, {f"A{n}": {"total": 1} for n in range(20_000)} | {"Z": {}}),
        (BY_NAME, {f"A{n}": [[]] * 10 for n in range(2000)}),
        (BY_NAME, {f"a{n}": {} for n in range(20_000)}),
        (BY_NAME, {"a" * 20_000: {}}),
    ],
)
def test_only_invalid_items_of_large_instances_reach_jsonschema(schema, instance):
    """Each item took 25 to 30 calls."""
    text, number = calls(schema, instance)
    assert "Failed validating" in text
    assert len(text) < 4000
    assert number < 10 * 20_000


def test_schemas_are_compiled_once(monkeypatch):
    """Else each refused body would cost milliseconds, and memory for ever."""
    windows = validation.validators((((1, 0), BY_NAME),), bool)
    text = validation.error_message(windows, {"A": {}}, V)
    monkeypatch.delattr("fastjsonschema.compile")
    assert validation.error_message(windows, {"A": {}}, V) == text


def test_the_place_of_an_error_is_that_in_the_whole_instance():
    uuids = {"type": "array", "items": {"type": "string", "format": "uuid"}}
    text = error_message(uuids, [*(["uuid"] * 5000), "x"])
    assert text.endswith("On instance[5000]:\n    'x'")
    names = {f"A{n}": {"total": 1} for n in range(5000)}
    assert "On instance['Z']:\n    {}" in error_message(BY_NAME, names | {"Z": {}})


def test_many_keys_that_are_not_allowed_are_shortened():
    text = error_message(closed({}), {f"a{n:04}": 1 for n in range(2000)})
    assert text.startswith("Additional properties are not allowed ('a0000', 'a0001', ")
    assert " ... " in text
    assert "'a1998', 'a1999' were unexpected)" in text
    assert len(text) < 4000


def test_a_text_that_is_too_long_is_shortened():
    text = error_message({"type": "string", "maxLength": 1000}, "x" * 100_000)
    assert text.startswith("'xxx")
    assert " ... xxx" in text
    assert "xxx' is too long\n\n" in text
    assert len(text) < 4000
    assert error_message({"type": "string", "maxLength": 100_000}, "x" * 100_000) is None
