"""Checks of responses, and comparison of two."""

import pytest

from bench.responses import WrongResponse, check, compare, count
from placement_insight.tests.bench.fakes import response


def candidates(*amounts, **more):
    return response(
        {
            "allocation_requests": [
                {"allocations": {"host": {"resources": {"VCPU": amount}}}} for amount in amounts
            ],
            **more,
        }
    )


@pytest.mark.parametrize(
    ("response_", "number"),
    [
        (candidates(1, 2), 2),
        (response({"resource_providers": []}), 0),
        (response({"uuid": "a"}), 1),
    ],
)
def test_candidates_and_providers_are_counted(response_, number):
    assert count(response_) == number


def test_another_status_is_wrong():
    with pytest.raises(WrongResponse, match="placement answered 500"):
        check(response({}, status=500), None, "placement")


def test_another_number_is_wrong():
    check(candidates(1, 2), 2, "placement")
    with pytest.raises(WrongResponse, match="placement returned 2, not 3"):
        check(candidates(1, 2), 3, "placement")


def test_the_same_candidate_twice_is_wrong():
    with pytest.raises(WrongResponse, match="a candidate twice"):
        check(candidates(1, 2, 1), 3, "placement")


def test_neither_order_nor_links_count():
    compare(candidates(1, 2), candidates(2, 1, links=["elsewhere"]), limited=False)


def test_other_candidates_differ_unless_a_limit_chose_them():
    with pytest.raises(WrongResponse, match="differs from that of openstack-placement"):
        compare(candidates(1, 2), candidates(1, 3), limited=False)
    compare(candidates(1, 2), candidates(1, 3), limited=True)


def test_fewer_candidates_differ_even_if_a_limit_chose_them():
    with pytest.raises(WrongResponse, match="2 from placement, 1 from openstack-placement"):
        compare(candidates(1, 2), candidates(1), limited=True)
