"""Bipartite matching of slots to options."""

from dataclasses import replace

from placement.core.search.deadline import Deadline
from placement.core.search.matching import Matching, MatchingConstraint

NEVER = Deadline(1e9, lambda: 0.0)


def capacity(number, merged=None):
    rule = number if callable(number) else lambda _: number
    return MatchingConstraint((0, 1, 2, 3, 4), rule, merged or {})


ONE = capacity(1)


def matching_of(*options, constraint=ONE):
    slots = constraint.slots[: len(options)]
    return Matching.of(options, replace(constraint, slots=slots), NEVER)


def test_all_slots_are_matched_if_possible():
    assert matching_of((1, 2), (1,), (2, 3))
    assert matching_of((1, 2), (1, 2), (2, 1)) is None


def test_an_option_may_serve_several_slots():
    assert matching_of(*[(1, 2)] * 5, constraint=capacity(lambda at: at + 1))
    assert matching_of(*[(1, 2)] * 5, constraint=capacity(2)) is None


def test_fixing_moves_others_but_not_those_fixed_before():
    matching = matching_of((1, 2), (1, 2))
    assert matching
    first = matching.with_fixed(0, 2)
    assert first
    assert first.with_fixed(1, 1)
    assert first.with_fixed(1, 2) is None
    assert matching.with_fixed(0, 1), "the matching itself has not changed"


def test_fixing_detects_a_dead_end_far_away():
    matching = matching_of((1, 2), (2, 3), (3,))
    assert matching
    assert matching.with_fixed(0, 2) is None
    assert matching.with_fixed(0, 1)


def test_merged_options_count_as_one():
    assert matching_of((1,), (2,))
    assert matching_of((1,), (2,), constraint=capacity(1, {1: 7, 2: 7})) is None
