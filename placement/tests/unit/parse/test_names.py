"""Traits, resource classes, aggregates and usages: the small bodies and queries."""

import pytest

from placement import exception
from placement.microversion import MAX_VERSION, Version
from placement.parse import allocation, names, resource_provider

A = "aaaaaaaa-1111-2222-3333-444444444444"


def test_a_class_is_named_by_its_body():
    assert names.name({"name": "CUSTOM_A"}, MAX_VERSION) == "CUSTOM_A"


@pytest.mark.parametrize("name", ["CUSTOM_", "VCPU", "CUSTOM_a", "CUSTOM_A\n", 'CUSTOM_"', None])
def test_a_custom_class_is_called_so(name):
    with pytest.raises(exception.BadRequest):
        names.name({"name": name}, MAX_VERSION)


@pytest.mark.parametrize("length", [255, 256])
def test_a_name_is_no_longer_than_it_can_be_stored(length):
    name = "CUSTOM_".ljust(length, "A")
    for check in (names.custom_name, lambda it, at: names.name({"name": it}, at)):
        if length == 255:
            assert check(name, MAX_VERSION) == name
        else:
            with pytest.raises(exception.BadRequest):
                check(name, MAX_VERSION)


@pytest.mark.parametrize(
    ("pairs", "expected"),
    [
        ([], {}),
        ([("name", "in:A,B")], {"names": ["A", "B"]}),
        ([("name", "startswith:A_")], {"prefix": "A_"}),
        ([("name", "startswith:")], {"prefix": ""}),
        ([("name", "endswith:A")], {}),
        ([("name", "in:A"), ("name", "startswith:B")], {"prefix": "B"}),
        ([("associated", "TRUE")], {"associated": True}),
        ([("associated", "false"), ("name", "in:A")], {"associated": False, "names": ["A"]}),
    ],
)
def test_traits_are_listed_by_name_and_association(pairs, expected):
    assert names.trait_filter(pairs, MAX_VERSION) == expected


@pytest.mark.parametrize(
    "pair", [("name", "A"), ("associated", "1"), ("associated", ""), ("x", "")]
)
def test_other_queries_for_traits_are_refused(pair):
    with pytest.raises(exception.BadRequest):
        names.trait_filter([pair], MAX_VERSION)


def test_a_trait_given_twice_is_given_once():
    document = {"traits": ["A", "A"], "resource_provider_generation": 1.0}
    assert names.of_provider(document, MAX_VERSION) == (1, {"A"})


def test_aggregates_are_an_object_since_1_19():
    assert resource_provider.of_provider([A], Version(1, 18)) == ([A], None)
    document = {"aggregates": [A], "resource_provider_generation": 2}
    assert resource_provider.of_provider(document, Version(1, 19)) == ([A], 2)
    for other, minor in ((document, 18), ([A], 19)):
        with pytest.raises(exception.BadRequest):
            resource_provider.of_provider(other, Version(1, minor))


@pytest.mark.parametrize("document", [["x"], [A, A], [1], {}, None])
def test_other_aggregates_are_refused(document):
    with pytest.raises(exception.BadRequest):
        resource_provider.of_provider(document, Version(1, 1))


def test_usage_is_asked_for_by_project_user_and_type():
    pairs = [("project_id", "p"), ("user_id", "u"), ("consumer_type", "all")]
    assert allocation.of_project(pairs, MAX_VERSION) == ("p", "u", "all")
    assert allocation.of_project(pairs[:1], Version(1, 9)) == ("p", None, None)
    with pytest.raises(exception.BadRequest, match="'consumer_type' was unexpected"):
        allocation.of_project(pairs, Version(1, 37))


@pytest.mark.parametrize(
    ("consumer_type", "ok"),
    [("A_1", True), ("unknown", True), ("allfoo", True), ("a", False), ("A\n", False)],
)
def test_types_are_called_so(consumer_type, ok):
    pairs = [("project_id", "p"), ("consumer_type", consumer_type)]
    if ok:
        assert allocation.of_project(pairs, MAX_VERSION).consumer_type == consumer_type
    else:
        with pytest.raises(exception.BadRequest):
            allocation.of_project(pairs, MAX_VERSION)
