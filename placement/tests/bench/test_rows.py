"""Which rows there are, and what is wanted of them."""

import pytest

from bench.harness import MORE, OURS, REFERENCE, Figure
from bench.report import describe
from bench.rows import by_world, rows
from bench.targets import AtLeast, AtMost, Below, Faster, ratio

FAST, SLOW = Figure(2.0), Figure(80.0)


def figures(ours, reference):
    return {OURS: ours, REFERENCE: reference}


def test_a_shorter_time_and_a_higher_rate_are_better():
    assert ratio(figures(FAST, SLOW)) == 40
    assert ratio(figures(Figure(300, "/s"), Figure(100, "/s"))) == 3


@pytest.mark.parametrize(
    "measured",
    [
        {OURS: FAST},
        figures(Figure(0.0), SLOW),
        figures(Figure(0, "/s"), Figure(100, "/s")),
        figures(Figure(1, MORE), Figure(5, MORE)),
    ],
)
def test_without_two_amounts_there_is_no_ratio(measured):
    assert ratio(measured) is None


def test_faster_compares_with_the_reference():
    assert Faster(40).met(figures(FAST, SLOW), {})
    assert Faster(41).met(figures(FAST, SLOW), {}) is False
    assert Faster(1).met({OURS: FAST}, {}) is None


def test_a_cut_off_reference_proves_only_what_it_took_until_then():
    cut = Figure(60_000, cut_off=True)
    assert Faster(30_000).met(figures(FAST, cut), {})
    assert Faster(30_001).met(figures(FAST, cut), {}) is None


def test_at_most_and_at_least_compare_with_another_row_of_ours():
    results = {"other": figures(Figure(10.0), SLOW)}
    assert AtMost(2, "other").met(figures(Figure(20.0), SLOW), results)
    assert AtMost(2, "other").met(figures(Figure(20.1), SLOW), results) is False
    assert AtLeast(0.5, "other").met(figures(Figure(5.0), SLOW), results)
    assert AtLeast(0.5, "other").met(figures(Figure(4.9), SLOW), results) is False


@pytest.mark.parametrize("wanted", [AtMost(2, "other"), AtLeast(2, "other")])
def test_a_row_that_was_not_measured_decides_nothing(wanted):
    assert wanted.met(figures(FAST, SLOW), {}) is None


def test_below_is_a_fixed_figure():
    assert Below(2, "ms").met(figures(FAST, SLOW), {})
    assert Below(1.9, "ms").met(figures(FAST, SLOW), {}) is False


@pytest.mark.parametrize(
    ("figure", "words"),
    [
        (Figure(0.8881), "0.888 ms"),
        (Figure(18.06), "18.1 ms"),
        (Figure(1052.4), "1052 ms"),
        (Figure(12_340), "12.3 s"),
        (Figure(60_010, cut_off=True), "> 60 s"),
        (Figure(652.6, "/s"), "653 /s"),
        (Figure(321.9, "MB"), "322 MB"),
        (Figure(-0.5, MORE), "-0.5 ms more"),
    ],
)
def test_figures_are_told_to_three_digits(figure, words):
    assert describe(figure) == words


@pytest.mark.parametrize("quick", [True, False])
def test_each_world_is_loaded_once_in_the_order_of_the_rows(quick):
    chosen = rows(quick=quick)
    worlds = list(by_world(chosen))
    names = [world.name for world, _ in worlds]
    assert len(set(names)) == len(names)
    assert [row for _, together in worlds for row in together] == chosen


def test_names_of_rows_are_unique():
    names = [row.name for row in rows(quick=False)]
    assert len(set(names)) == len(names)


def test_a_quick_run_has_some_of_the_rows_of_a_whole_one():
    every = {row.name for row in rows(quick=False)}
    quick = {row.name.replace("10,000 consumers", "100,000 consumers") for row in rows(quick=True)}
    assert len(quick - every) <= 1  # the usages of a project keep their 10,000
    assert len(quick) < len(every)
