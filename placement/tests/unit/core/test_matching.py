"""Matching slots on places is a matching problem."""

from placement.core.search.deadline import Budget
from placement.core.search.matching import Matching
from placement.core.search.problem import MatchingConstraint

ENDLESS = Budget(1e9, lambda: 0.0)


def seats(number, joined=None):
    rule = number if callable(number) else lambda _: number
    return MatchingConstraint((), rule, joined or {})


ONE = seats(1)


def test_everybody_is_seated_if_that_is_possible():
    assert Matching.of({0: (1, 2), 1: (1,), 2: (2, 3)}, ONE, ENDLESS)
    assert Matching.of({0: (1, 2), 1: (1, 2), 2: (2, 1)}, ONE, ENDLESS) is None


def test_a_place_may_have_several_seats():
    assert Matching.of(dict.fromkeys(range(5), (1, 2)), seats(lambda at: at + 1), ENDLESS)
    assert Matching.of(dict.fromkeys(range(5), (1, 2)), seats(2), ENDLESS) is None


def test_fixing_moves_others_but_not_those_fixed_before():
    seating = Matching.of({0: (1, 2), 1: (1, 2)}, ONE, ENDLESS)
    assert seating
    first = seating.fixing(0, 2)
    assert first
    assert first.fixing(1, 1)
    assert first.fixing(1, 2) is None
    assert seating.fixing(0, 1), "the seating itself has not changed"


def test_fixing_notices_a_dead_end_far_away():
    seating = Matching.of({0: (1, 2), 1: (2, 3), 2: (3,)}, ONE, ENDLESS)
    assert seating
    assert seating.fixing(0, 2) is None
    assert seating.fixing(0, 1)


def test_joined_places_are_one():
    assert Matching.of({0: (1,), 1: (2,)}, ONE, ENDLESS)
    assert Matching.of({0: (1,), 1: (2,)}, seats(1, {1: 7, 2: 7}), ENDLESS) is None
