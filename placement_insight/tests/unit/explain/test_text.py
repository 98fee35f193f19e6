"""What people read of an explanation."""

from dataclasses import replace

import pytest

from placement.core.requirement import Amount
from placement.tests.support.worlds import provider_uuid
from placement_insight.cli.explanation import current, recorded
from placement_insight.explain.changes import (
    Both,
    Drop,
    Lower,
)
from placement_insight.explain.records.http import recorded_request
from placement_insight.explain.text import (
    as_line,
    closest_line,
    fitting_lines,
    funnel_lines,
    remedy_line,
)
from placement_insight.tests.support.records import record
from placement_insight.tests.unit.explain.explanations import explained

CLOUD = """
    h1  VCPU=64(used=52)  +CUSTOM_GOLD @az
    h2  VCPU=64(used=60)  +CUSTOM_GOLD @az
    h3  VCPU=64           @az
    h4  VCPU=64           +CUSTOM_GOLD @az +CUSTOM_OFF
    h5  VCPU=64           +CUSTOM_GOLD @az +CUSTOM_OFF
    h6  MEMORY_MB=64      +CUSTOM_GOLD @az
"""
QUERY = "resources=VCPU:16&required=CUSTOM_GOLD,!CUSTOM_OFF"


def document(query=QUERY, world_text=CLOUD, **options):
    computed = explained(world_text, query, **options).document()
    return {**computed, "microversion": "1.39", "at": "now"}


def test_requirements_roots_and_changes_are_in_words():
    explanation = document(remedies=True)
    assert list(funnel_lines(explanation["funnel"])) == [
        "  1  no trait CUSTOM_GOLD     5 left",
        "  2  trait CUSTOM_OFF         3 left",
        "  1  no inventory of VCPU     2 left",
        "  2  fewer than 16 VCPU free  0 left   best: h1 has 12 free",
    ]
    assert list(map(closest_line, explanation["near_misses"])) == [
        "h1 (VCPU 12 of 16)",
        "h2 (VCPU 4 of 16)",
        "h4 (trait CUSTOM_OFF; everything else fits)",
        "h5 (trait CUSTOM_OFF; everything else fits)",
        "h3 (no trait CUSTOM_GOLD; everything else fits)",
    ]
    assert list(map(remedy_line, explanation["remedies"])) == [
        "2 hosts without required=!CUSTOM_OFF",
        "1 host without required=CUSTOM_GOLD",
        "1 host at VCPU:12",
    ]


@pytest.mark.parametrize(
    ("limit", "sentence"),
    [
        ("", "Nova's limit is [scheduler]max_placement_results, 1000 by default: a response that"),
        ("&limit=1", "The limit is 1: a response that leaves out hosts begins at another host"),
        ("&limit=3", "The limit is 3: a response has a candidate of each."),
    ],
)
def test_a_root_that_fits_is_one_of_many_in_a_limited_response(limit, sentence):
    explanation = document(f"resources=VCPU:16{limit}", root=provider_uuid("h3"))
    assert explanation["root"]["fits"]
    fitting, limited, _ = fitting_lines(explanation)
    assert fitting == "3 of 6 hosts fit."
    assert limited.startswith(sentence)


def test_two_changes_of_equal_groups_are_in_different_groups():
    groups = "&".join(f"resources{n}=CUSTOM_GPU:1" for n in "123")
    query = f"{groups}&group_policy=none"
    assert [
        remedy["text"] for remedy in document(query, "h CUSTOM_GPU=1", remedies=True)["remedies"]
    ] == ["without resources=CUSTOM_GPU:1 in any 2 of the 3 groups"]
    drop = Drop(Amount("VCPU", 4), "1", alike=("1", "2"))
    text = Both(drop, Lower("2", "VCPU", to=2)).text({})
    assert text == "without resources=VCPU:4 in any of the 2 groups and at VCPU:2 in group 2"


def test_the_line_leads_with_the_cause():
    assert as_line(document()) == (
        "fewer than 16 VCPU free (best: h1 has 12 free): the last 2 of 6; "
        "before: 1 no trait CUSTOM_GOLD, 2 trait CUSTOM_OFF, 1 no inventory of VCPU; "
        "closest: h1 (VCPU 12 of 16), h2 (VCPU 4 of 16), "
        "h4 (trait CUSTOM_OFF; everything else fits)"
    )


def test_what_is_not_confirmed_is_not_said():
    contradiction = "resources1=VCPU:1&required1=CUSTOM_A&resources2=VCPU:1&required2=!CUSTOM_A"
    (miss,) = document(f"{contradiction}&group_policy=none", "h VCPU=8\n x +CUSTOM_A")[
        "near_misses"
    ]
    assert not miss["complete"]
    assert "everything else fits" not in closest_line(miss)


def test_a_single_cause_says_all():
    assert as_line(document("resources=VCPU:1&member_of=@az2")).startswith("not in aggregate ")
    assert " (the aggregate has no providers): all 6 hosts" in as_line(
        document("resources=VCPU:1&member_of=@az2")
    )


def test_a_request_that_fits():
    assert as_line(document("resources=VCPU:16")) == "3 of 6 hosts fit"


def test_no_providers():
    assert as_line(document("resources=VCPU:1", "")) == "there are no resource providers"


def test_the_line_is_ascii_and_one_line():
    for query in (QUERY, "resources1=VCPU:9&resources2=VCPU:9&group_policy=isolate"):
        line = as_line(document(query))
        assert line.isascii()
        assert "\n" not in line


@pytest.mark.parametrize("query", [QUERY, "resources=VCPU:1000", "resources=VCPU:1&in_tree=$x"])
def test_names_of_fields_are_stable(query):
    explanation = document(query, remedies=True)
    assert list(explanation) == [
        *("version", "query", "microversion", "at", "roots", "fits"),
        *("funnel", "near_misses", "remedies", "undetermined"),
    ]
    for row in explanation["funnel"]:
        assert list(row) == [
            *("code", "group", "requirement", "lost", "left", "detail", "text", "note")
        ]
    for miss in explanation["near_misses"]:
        assert list(miss) == ["uuid", "name", "unmet", "text", "complete"]
        for unmet in miss["unmet"]:
            assert unmet.keys() >= {"code", "group", "requirement", "provider", "text"}
            if unmet["code"] in {"unit", "capacity", "no_inventory"}:
                assert unmet.keys() >= {
                    *("resource_class", "needed", "free", "capacity", "used", "reserved"),
                    *("min_unit", "max_unit", "step_size"),
                }
            elif unmet["code"] in {"trait", "forbidden_trait"}:
                assert unmet["traits"]
    for remedy in explanation["remedies"]:
        assert remedy["roots"] > 0
        assert remedy["text"]


def test_what_was_not_determined_is_said():
    explanation = document() | {"fits": None, "undetermined": ["funnel"]}
    assert as_line(explanation) == "not explained within the time limit"
    first, *_ = fitting_lines(explanation)
    assert first == "Not determined within the time allowed: how many hosts fit."
    fields = current(explanation)
    assert fields["fits"].human_readable() == "not determined"
    assert fields["undetermined"].human_readable() == "funnel"


def test_an_explanation_that_was_too_long_to_record_has_its_reason():
    stored = replace(record(), explanation='{"truncated": true, "length": 9}')
    fields = recorded(recorded_request(stored, "req-0", shows_changes=True), {}, "openstack")
    assert fields["reason"] == "capacity"
    assert fields["query"].human_readable() == "resources=VCPU:1"
