"""Seating slots on places is a matching problem."""

from placement.core.seating import Seating


def one(_: int) -> int:
    return 1


def test_everybody_is_seated_if_that_is_possible():
    assert Seating.of({0: (1, 2), 1: (1,), 2: (2, 3)}, one)
    assert Seating.of({0: (1, 2), 1: (1, 2), 2: (2, 1)}, one) is None


def test_a_place_may_have_several_seats():
    assert Seating.of(dict.fromkeys(range(5), (1, 2)), lambda place: 2 if place == 1 else 3)
    assert Seating.of(dict.fromkeys(range(5), (1, 2)), lambda _: 2) is None


def test_fixing_moves_others_but_not_those_fixed_before():
    seating = Seating.of({0: (1, 2), 1: (1, 2)}, one)
    assert seating
    first = seating.fixing(0, 2)
    assert first
    assert first.fixing(1, 1)
    assert first.fixing(1, 2) is None
    assert seating.fixing(0, 1), "the seating itself has not changed"


def test_fixing_notices_a_dead_end_far_away():
    seating = Seating.of({0: (1, 2), 1: (2, 3), 2: (3,)}, one)
    assert seating
    assert seating.fixing(0, 2) is None
    assert seating.fixing(0, 1)


def test_joined_places_are_one():
    assert Seating.of({0: (1,), 1: (2,)}, one)
    assert Seating.of({0: (1,), 1: (2,)}, one, {1: 7, 2: 7}) is None
