"""Summaries of recorded requests."""

from datetime import UTC, datetime, timedelta

import pytest

from placement.tests.support.worlds import aggregate_uuid
from placement_insight.explain.records.model import first_id
from placement_insight.explain.records.summary import (
    LISTS,
    RecordsOfHour,
    beginning,
    subject,
    summary,
)
from placement_insight.tests.unit.explain.explanations import explained

UNTIL = datetime(2026, 11, 21, 2, 14, 7, tzinfo=UTC)
SINCE = datetime(2026, 11, 21, tzinfo=UTC)
AGGREGATE = "5e08ea53-c4c6-448e-9334-ac4953de3cfa"


def records(hour, requests=1, **values):
    at = SINCE + timedelta(hours=hour)
    defaults = {"kind": "no_candidates", "reason": "capacity", "subject": None, "project_id": None}
    return RecordsOfHour(first_id(at), requests=requests, **defaults | values)


def counts(document):
    return {name: {row["name"]: row["per_hour"] for row in document[name]} for name in LISTS}


def test_records_are_counted_in_their_hours():
    document = summary(
        [
            records(0, 3, subject="VCPU", project_id="p"),
            records(2, 1, subject="VCPU,CUSTOM_GPU", project_id="p"),
            records(2, 2, reason="trait", subject="CUSTOM_A"),
            records(1, 1, reason="forbidden_aggregate", subject=AGGREGATE),
            records(1, 4, kind="refused_claim", reason="no_provider"),
            records(1, 2, kind="refused_write", reason="in_use", subject="VCPU"),
            records(2, 5, kind="lost_race", reason="consumer_generation", project_id="p"),
        ],
        SINCE,
        UNTIL,
    )
    assert (document["since"], document["requests"]) == ("2026-11-21T00:00:00Z", 13)
    assert document["per_hour"] == [3, 7, 3]
    assert counts(document) == {
        "kinds": {
            "no_candidates": [3, 1, 3],
            "refused_claim": [0, 4, 0],
            "refused_write": [0, 2, 0],
        },
        "reasons": {
            "capacity": [3, 0, 1],
            "no_provider": [0, 4, 0],
            "in_use": [0, 2, 0],
            "trait": [0, 0, 2],
            "forbidden_aggregate": [0, 1, 0],
        },
        "resource_classes": {"VCPU": [3, 2, 1], "CUSTOM_GPU": [0, 0, 1]},
        "traits": {"CUSTOM_A": [0, 0, 2]},
        "aggregates": {AGGREGATE: [0, 1, 0]},
        "projects": {"p": [3, 0, 1]},
        "races": {"consumer_generation": [0, 0, 5]},
    }
    assert document["omitted"] == {}


def test_the_most_frequent_names_are_listed():
    document = summary(
        [records(0, number, project_id=f"p{number}") for number in range(1, 24)], SINCE, UNTIL
    )
    assert [row["requests"] for row in document["projects"]] == list(range(23, 3, -1))
    assert document["omitted"] == {"projects": 3}


def test_a_record_of_a_later_hour_counts_in_the_current_one():
    """The clocks of API hosts differ."""
    assert summary([records(3)], SINCE, UNTIL)["per_hour"] == [0, 0, 1]


@pytest.mark.parametrize(
    ("since", "first"),
    [
        (None, "2026-11-20T03:00:00+00:00"),
        (UNTIL - timedelta(minutes=20), "2026-11-21T01:00:00+00:00"),
        (UNTIL - timedelta(days=400), "2026-10-21T02:00:00+00:00"),
        (UNTIL + timedelta(days=1), "2026-11-21T02:00:00+00:00"),
    ],
)
def test_a_summary_begins_with_a_whole_hour(since, first):
    assert beginning(since, UNTIL).isoformat() == first


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("resources_GPU=VCPU:1&required_GPU=CUSTOM_OFF", "CUSTOM_OFF"),
        ("resources=VCPU:1&required=in:CUSTOM_OFF,CUSTOM_NOBODY", "CUSTOM_NOBODY,CUSTOM_OFF"),
        ("resources=VCPU:1&root_required=CUSTOM_OFF", "CUSTOM_OFF"),
        ("resources_VCPU=CUSTOM_GPU:1", "CUSTOM_GPU"),
        ("resources=VCPU:9", "VCPU"),
        ("resources1=VCPU:8&resources2=VCPU:8&group_policy=none", "VCPU"),
        ("resources1=VCPU:6,DISK_GB:1&resources2=VCPU:6,DISK_GB:1&group_policy=none", "VCPU"),
        (
            "resources1=VCPU:6,DISK_GB:6&resources2=VCPU:6,DISK_GB:6&group_policy=none",
            "VCPU,DISK_GB",
        ),
        ("resources1=VCPU:1&resources2=VCPU:1&group_policy=isolate", None),
        ("resources=VCPU:1&member_of=@x", aggregate_uuid("x")),
        ("resources=VCPU:1&in_tree=$x", None),
        ("resources=VCPU:8", None),
    ],
)
def test_the_subject_is_what_the_last_requirement_is_about(query, names):
    last = explained("h VCPU=8 DISK_GB=8", query).last
    assert subject(last.names if last else ()) == names


def test_a_long_subject_has_whole_names():
    names = [f"CUSTOM_{number}" + "X" * 100 for number in range(3)]
    assert subject(names) == ",".join(names[:2])
    assert subject(["X" * 255]) == "X" * 255
