"""Groups whose suffix is made for each request."""

import pytest

from placement.microversion import MAX_VERSION
from placement.tests.support.queries import request_of
from placement_insight.explain.explain import comparable, numbers_of
from placement_insight.explain.text import as_line
from placement_insight.tests.unit.explain.explanations import explained

A, B, C = (f"{letter * 8}-0000-4000-8000-000000000000" for letter in "abc")


def compared(query):
    return comparable(request_of(query, MAX_VERSION), query)


def test_numbers_are_in_the_order_of_the_query_and_no_suffixes():
    query = f"resources_{B}-0=VCPU:1&resources1=VCPU:1&resources_{A}=VCPU:2&group_policy=none"
    assert numbers_of(request_of(query, MAX_VERSION)) == {f"_{B}-0": "2", f"_{A}": "3"}


TWO = "resources_{}=VCPU:1&resources_{}=CUSTOM_GPU:1&group_policy=none"
TREE = TWO + "&resources=VCPU:1&same_subtree=_{},_{}"
THREE = "resources_{}=VCPU:1&resources_{}=VCPU:1&resources_{}=VCPU:2&group_policy=none"


@pytest.mark.parametrize(
    ("query", "other"),
    [
        (TWO.format(A, B), TWO.format(B, A)),
        (TWO.format(A, B), "&".join(reversed(TWO.format(C, A).split("&")))),
        (TREE.format(A, B, A, B), TREE.format(B, C, C, B)),
        (
            f"{THREE.format(A, B, C)}&same_subtree=_{A},_{C}",
            f"{THREE.format(C, A, B)}&same_subtree=_{A},_{B}",
        ),
    ],
)
def test_requests_that_differ_in_such_suffixes_are_equal(query, other):
    assert compared(query) == compared(other)


@pytest.mark.parametrize(
    ("query", "other"),
    [
        (TWO.format(A, B), TWO.format(A, B).replace("VCPU:1", "VCPU:2")),
        (TWO.format(A, B), TWO.format(A, B).replace("none", "isolate")),
        (TWO.format(A, B), TWO.format(A, B) + "&limit=3"),
        (TWO.format(A, B), TREE.format(A, B, A, B)),
        (f"resources_{A}=VCPU:1", "resources_A=VCPU:1"),
        ("resources1=VCPU:1", "resources2=VCPU:1"),
    ],
)
def test_other_requests_differ(query, other):
    assert compared(query) != compared(other)


def test_sentences_have_numbers_and_the_suffix_comes_once_at_the_end():
    query = f"resources_{A}=CUSTOM_GPU:2&required_{A}=CUSTOM_OFF&resources_{B}=CUSTOM_FPGA:1"
    query += f"&group_policy=none&same_subtree=_{A},_{B}"
    document = explained("h VCPU=8\n  g CUSTOM_GPU=1", query, remedies=True).document()
    line = as_line(document)
    assert line.startswith("no trait CUSTOM_OFF in group 1 (no provider has it): all 1 hosts")
    assert line.endswith(
        f"; group 1: resources=CUSTOM_GPU:2&required=CUSTOM_OFF, suffix _{A}"
        f"; group 2: resources=CUSTOM_FPGA:1, suffix _{B}"
    )
    assert line.count(A) == line.count(B) == 1
    texts = [each["text"] for name in ("funnel", "remedies") for each in document[name]]
    texts += [unmet["text"] for miss in document["near_misses"] for unmet in miss["unmet"]]
    assert not [text for text in texts if A in text or B in text]
    assert document["funnel"][0]["group"] == f"_{A}"  # what the query has
