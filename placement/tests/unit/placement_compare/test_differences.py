import json

import pytest

from placement_compare.differences import canonical, differences
from placement_compare.model import Response

PREFIXES = ("/placement", "")
UUIDS = [f"6f8a2c14-3d0b-4b5e-9a57-1c2f8e7d9b0{n}" for n in range(3)]


def response(body, status=200):
    return Response(status, json.dumps(body).encode(), 0.0)


def kinds(old, new):
    return [(difference.kind, difference.where) for difference in differences(old, new, PREFIXES)]


def error(code, detail="", request_id="req-1"):
    document = {"status": 409, "code": code, "detail": detail, "request_id": request_id}
    return response({"errors": [document]}, 409)


def candidate(uuid, amount=1):
    return {"allocations": {uuid: {"resources": {"VCPU": amount}}}, "mappings": {"": [uuid]}}


def candidates(*uuids, used=0):
    summaries = {uuid: {"resources": {"VCPU": {"capacity": 8, "used": used}}} for uuid in uuids}
    return response(
        {"allocation_requests": list(map(candidate, uuids)), "provider_summaries": summaries}
    )


def test_equal_responses_have_no_differences():
    assert kinds(candidates(*UUIDS), candidates(*UUIDS)) == []


def test_the_order_of_lists_is_not_compared():
    assert kinds(candidates(*UUIDS), candidates(*reversed(UUIDS))) == []
    old, new = response({"traits": ["A", "B"]}), response({"traits": ["B", "A"]})
    assert kinds(old, new) == []


def test_the_prefix_of_links_is_not_compared():
    old = response({"links": [{"rel": "self", "href": "/placement/traits/A"}]})
    new = response({"links": [{"rel": "self", "href": "/traits/A"}]})
    assert kinds(old, new) == []


def test_other_links_are_compared():
    old = response({"links": [{"rel": "self", "href": "/placement/traits/A"}]})
    new = response({"links": [{"rel": "self", "href": "/traits/B"}]})
    assert kinds(old, new) == [("body", "links.*")]


@pytest.mark.parametrize(("old", "new"), [(16.0, 16), (1.1, 1.10000002384)])
def test_equal_numbers_in_other_forms_are_equal(old, new):
    assert kinds(response({"allocation_ratio": old}), response({"allocation_ratio": new})) == []


def test_other_numbers_are_different():
    old, new = response({"allocation_ratio": 1.1}), response({"allocation_ratio": 1.11})
    assert kinds(old, new) == [("body", "allocation_ratio")]


def test_of_errors_only_the_code_is_compared():
    assert kinds(error("a", "text", "req-1"), error("a", "other text", "req-2")) == []
    assert kinds(error("a"), error("b")) == [("error code", "a and b")]


def test_a_different_status_is_one_difference():
    assert kinds(error("a"), candidates()) == [("status", "409 and 200")]


def test_a_missing_response_is_a_difference_even_if_both_are_missing():
    missing = Response(0, b"timed out", 1.0)
    assert kinds(missing, candidates()) == [("no response", "")]
    assert kinds(missing, missing) == [("no response", "")]


def test_candidates_that_only_one_response_has_are_counted():
    old, new = candidates(*UUIDS), candidates(UUIDS[0])
    (difference,) = differences(old, new, PREFIXES)
    assert (difference.kind, difference.where) == ("candidates", "only old")
    assert difference.old.startswith("2 of 3, for example")
    assert kinds(new, old) == [("candidates", "only new")]


def test_summaries_of_equal_candidates_are_compared():
    assert kinds(candidates(UUIDS[0]), candidates(UUIDS[0], used=1)) == [
        ("body", "provider_summaries.*.resources.*.used")
    ]


def test_providers_of_a_list_are_compared_by_uuid():
    def providers(generation):
        return response({"resource_providers": [{"uuid": UUIDS[0], "generation": generation}]})

    assert kinds(providers(1), providers(2)) == [("body", "resource_providers.*.generation")]


def test_an_absent_name_is_a_difference():
    assert kinds(response({"generation": 1}), response({})) == [("body", "generation")]


def test_a_name_that_is_no_field_is_not_a_place():
    """Line breaks in it would begin lines of the report."""
    old, new = (response({"usages": {"a\n  old curl x": used}}) for used in (1, 2))
    assert kinds(old, new) == [("body", "usages.*")]


def test_an_item_that_occurs_more_often_is_a_difference():
    assert kinds(response({"traits": ["A"]}), response({"traits": ["A", "A"]})) == [
        ("body", "traits.*")
    ]


def test_bodies_that_are_not_json_are_compared_as_text():
    assert canonical(b"", "") == ""
    old, new = Response(204, b"", 0.0), Response(204, b"text", 0.0)
    assert kinds(old, old) == []
    assert kinds(old, new) == [("body", "")]


def test_differences_show_both_values():
    (difference,) = differences(response({"used": 1}), response({"used": 2}), PREFIXES)
    assert (difference.old, difference.new) == ("1", "2")
