"""Bipartite matching of slots to options."""

from placement.core.search.deadline import Deadline
from placement.core.search.matching import Matching, MatchingConstraint

NEVER = Deadline(1e9, lambda: 0.0)


def capacity(number, merged=None):
    rule = number if callable(number) else lambda _: number
    return MatchingConstraint((), rule, merged or {})


ONE = capacity(1)


def test_all_slots_are_matched_if_possible():
    assert Matching.of({0: (1, 2), 1: (1,), 2: (2, 3)}, ONE, NEVER)
    assert Matching.of({0: (1, 2), 1: (1, 2), 2: (2, 1)}, ONE, NEVER) is None


def test_an_option_may_serve_several_slots():
    assert Matching.of(dict.fromkeys(range(5), (1, 2)), capacity(lambda at: at + 1), NEVER)
    assert Matching.of(dict.fromkeys(range(5), (1, 2)), capacity(2), NEVER) is None


def test_fixing_moves_others_but_not_those_fixed_before():
    matching = Matching.of({0: (1, 2), 1: (1, 2)}, ONE, NEVER)
    assert matching
    first = matching.with_fixed(0, 2)
    assert first
    assert first.with_fixed(1, 1)
    assert first.with_fixed(1, 2) is None
    assert matching.with_fixed(0, 1), "the matching itself has not changed"


def test_fixing_detects_a_dead_end_far_away():
    matching = Matching.of({0: (1, 2), 1: (2, 3), 2: (3,)}, ONE, NEVER)
    assert matching
    assert matching.with_fixed(0, 2) is None
    assert matching.with_fixed(0, 1)


def test_merged_options_count_as_one():
    assert Matching.of({0: (1,), 1: (2,)}, ONE, NEVER)
    assert Matching.of({0: (1,), 1: (2,)}, capacity(1, {1: 7, 2: 7}), NEVER) is None
