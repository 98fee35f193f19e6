"""Errors of queries and bodies below ``/insight`` are sentences, without schemas."""

import pytest

from placement import exception
from placement.microversion import MAX_VERSION
from placement.parse import validation
from placement_insight.audit.http import CONSUMERS_QUERY, IDENTITY_QUERY
from placement_insight.explain.http import EXPLANATION_QUERY
from placement_insight.explain.records.http import REQUESTS_QUERY
from placement_insight.history.http import CHANGES_QUERY
from placement_insight.plan.http import DRAIN_BODY
from placement_insight.plan.room_http import ROOM
from placement_insight.queries import NOTHING_QUERY

QUERIES = {
    "changes": CHANGES_QUERY,
    "consumers": CONSUMERS_QUERY,
    "explanation": EXPLANATION_QUERY,
    "identity": IDENTITY_QUERY,
    "nothing": NOTHING_QUERY,
    "requests": REQUESTS_QUERY,
}


def message(name, *pairs):
    validators = validation.query_validators(QUERIES[name])
    with pytest.raises(exception.BadRequest) as caught:
        validation.check(validators, pairs, MAX_VERSION, in_words=True)
    return str(caught.value).removeprefix(validation.PREFIX)


@pytest.mark.parametrize(
    ("name", "pair", "sentence"),
    [
        ("requests", ("limit", "0"), "limit is '0', which is not a number from 1 to 1000."),
        ("requests", ("marker", "x"), "marker is 'x', which is not the field next of a page."),
        ("requests", ("project_id", ""), "project_id: '' should be non-empty."),
        ("changes", ("since", ""), "since: '' should be non-empty."),
        ("consumers", ("provider", "cn1"), "provider is 'cn1', which is not a UUID."),
        ("explanation", ("limit", "0"), "limit: '0' does not match '^[1-9][0-9]*$'."),
        ("explanation", ("remedies", "yes"), "remedies: 'yes' is not one of ['true', 'false']."),
        (
            "explanation",
            ("resource", "VCPU:1"),
            "there is no parameter 'resource'. Parameters: group_policy, in_tree, limit, "
            "member_of, remedies, required, resources, root, root_required, same_subtree.",
        ),
        ("nothing", ("a", "b"), "there is no parameter 'a'. It has no parameters."),
        (
            "identity",
            ("days", "3"),
            "'name' is a required property. Parameters: days, name.",
        ),
    ],
)
def test_errors_are_sentences(name, pair, sentence):
    assert message(name, pair) == sentence


GROUP = {"policy": "affinity", "members": ["x"]}
OF_ROOM = (
    " Parameters: by, cells, down, evictable, failed, groups, keep, limit, migrations, off, "
    "paused, query, unmovable, unreachable."
)


@pytest.mark.parametrize(
    ("windows", "body", "sentence"),
    [
        (ROOM, {}, f"'query' is a required property.{OF_ROOM}"),
        (ROOM, [], f"[] is not of type 'object'.{OF_ROOM}"),
        (ROOM, {"query": "a", "limit": 0}, "limit: 0 is less than the minimum of 1."),
        (ROOM, {"query": "a", "x": 1}, f"there is no parameter 'x'.{OF_ROOM}"),
        (
            ROOM,
            {"query": "a", "evictable": {}},
            "evictable: {} should be non-empty. Parameters: consumers, older_than, project_ids, "
            "types.",
        ),
        (
            ROOM,
            {"query": "a", "keep": ["az"]},
            "keep[0] is 'az', which is not aggregates, none, or traits:PREFIX, such as "
            "traits:CUSTOM_AZ_.",
        ),
        (
            ROOM,
            {"query": "a", "keep": ["none"] * 20_001},
            "keep has 20,001 items; the maximum is 20,000.",
        ),
        (DRAIN_BODY, {"groups": [GROUP]}, "groups[0].members[0] is 'x', which is not a UUID."),
        (
            DRAIN_BODY,
            {"groups": [GROUP | {"rules": {}}]},
            "groups[0]: there is no parameter 'rules'. Parameters: max_server_per_host, members, "
            "policy.",
        ),
    ],
)
def test_errors_of_bodies_are_sentences(windows, body, sentence):
    validators = validation.body_validators(windows)
    with pytest.raises(exception.BadRequest) as caught:
        validation.validate(validators, body, MAX_VERSION, in_words=True)
    assert str(caught.value) == f"JSON does not validate: {sentence}"


def test_long_values_are_shortened():
    assert len(message("requests", ("limit", "x" * 100_000))) < 1000
    assert len(message("requests", ("x" * 100_000, "1"))) < 1000


def test_an_unknown_parameter_of_a_long_query_is_named():
    pairs = [(f"resources{number}", "VCPU:1") for number in range(8)]
    sentence = message("explanation", ("required", "x" * 3000), *pairs, ("nosuch", "1"))
    assert sentence.startswith("there is no parameter 'nosuch'.")


def test_valid_queries_pass():
    validators = validation.query_validators(REQUESTS_QUERY)
    validation.check(validators, [("limit", "5")], MAX_VERSION, in_words=True)
