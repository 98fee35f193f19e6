"""What the benchmark takes for a right answer, and for the same one."""

import pytest

from bench.answers import WrongAnswer, check, compare, count
from placement.tests.bench.fakes import answer


def candidates(*amounts, **more):
    return answer(
        {
            "allocation_requests": [
                {"allocations": {"host": {"resources": {"VCPU": amount}}}} for amount in amounts
            ],
            **more,
        }
    )


@pytest.mark.parametrize(
    ("given", "number"),
    [
        (candidates(1, 2), 2),
        (answer({"resource_providers": []}), 0),
        (answer({"uuid": "a"}), 1),
    ],
)
def test_candidates_and_providers_are_counted(given, number):
    assert count(given) == number


def test_another_status_is_wrong():
    with pytest.raises(WrongAnswer, match="ours answered 500"):
        check(answer({}, status=500), None, "ours")


def test_another_number_is_wrong():
    check(candidates(1, 2), 2, "ours")
    with pytest.raises(WrongAnswer, match="ours returned 2, not 3"):
        check(candidates(1, 2), 3, "ours")


def test_the_same_candidate_twice_is_wrong():
    with pytest.raises(WrongAnswer, match="a candidate twice"):
        check(candidates(1, 2, 1), 3, "ours")


def test_neither_order_nor_links_count():
    compare(candidates(1, 2), candidates(2, 1, links=["elsewhere"]), limited=False)


def test_other_candidates_differ_unless_a_limit_chose_them():
    with pytest.raises(WrongAnswer, match="not the reference's"):
        compare(candidates(1, 2), candidates(1, 3), limited=False)
    compare(candidates(1, 2), candidates(1, 3), limited=True)


def test_fewer_candidates_differ_even_if_a_limit_chose_them():
    with pytest.raises(WrongAnswer, match="2 here, 1 from the reference"):
        compare(candidates(1, 2), candidates(1), limited=True)
