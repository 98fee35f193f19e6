"""The rows, and their targets."""

import pytest

from bench.harness import MORE, PLACEMENT, UPSTREAM, Measurement
from bench.report import describe
from bench.rows import by_world, rows
from bench.targets import AtMost, Below, Faster, ratio

FAST, SLOW = Measurement(2.0), Measurement(80.0)


def measurements(placement, upstream):
    return {PLACEMENT: placement, UPSTREAM: upstream}


def test_a_shorter_time_and_a_higher_rate_are_better():
    assert ratio(measurements(FAST, SLOW)) == 40
    assert ratio(measurements(Measurement(300, "/s"), Measurement(100, "/s"))) == 3


@pytest.mark.parametrize(
    "measured",
    [
        {PLACEMENT: FAST},
        measurements(Measurement(0.0), SLOW),
        measurements(Measurement(0, "/s"), Measurement(100, "/s")),
        measurements(Measurement(1, MORE), Measurement(5, MORE)),
    ],
)
def test_no_ratio_without_two_positive_values(measured):
    assert ratio(measured) is None


def test_faster_compares_with_openstack_placement():
    assert Faster(40).is_met(measurements(FAST, SLOW), {})
    assert Faster(41).is_met(measurements(FAST, SLOW), {}) is False
    assert Faster(1).is_met({PLACEMENT: FAST}, {}) is None


def test_a_timeout_of_openstack_placement_is_a_lower_bound():
    timeout = Measurement(60_000, cut_off=True)
    assert Faster(30_000).is_met(measurements(FAST, timeout), {})
    assert Faster(30_001).is_met(measurements(FAST, timeout), {}) is None


def test_at_most_compares_with_another_row_of_ours():
    results = {"other": measurements(Measurement(10.0), SLOW)}
    assert AtMost(2, "other").is_met(measurements(Measurement(20.0), SLOW), results)
    assert AtMost(2, "other").is_met(measurements(Measurement(20.1), SLOW), results) is False


def test_at_most_compares_percentiles():
    results = {"other": measurements(Measurement(1.0, p99=10.0), SLOW)}
    target = AtMost(3, "other", of_p99=True)
    assert str(target) == "p99 <= 3 of other"
    assert target.is_met(measurements(Measurement(9.0, p99=30.0), SLOW), results)
    assert target.is_met(measurements(Measurement(1.0, p99=30.1), SLOW), results) is False
    assert target.is_met(measurements(Measurement(1.0), SLOW), results) is False


def test_a_target_is_undecided_if_the_other_row_was_not_measured():
    assert AtMost(2, "other").is_met(measurements(FAST, SLOW), {}) is None


def test_below_is_a_fixed_value():
    assert Below(2, "ms").is_met(measurements(FAST, SLOW), {})
    assert Below(1.9, "ms").is_met(measurements(FAST, SLOW), {}) is False


@pytest.mark.parametrize(
    ("measurement", "text"),
    [
        (Measurement(0.8881), "0.888 ms"),
        (Measurement(18.06), "18.1 ms"),
        (Measurement(1052.4), "1052 ms"),
        (Measurement(12_340), "12.3 s"),
        (Measurement(60_010, cut_off=True), "> 60 s"),
        (Measurement(652.6, "/s"), "653 /s"),
        (Measurement(321.9, "MB"), "322 MB"),
        (Measurement(-0.5, MORE), "-0.5 ms more"),
    ],
)
def test_values_have_three_digits(measurement, text):
    assert describe(measurement) == text


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


def test_a_quick_run_has_some_of_the_rows_of_a_full_one():
    every = {row.name for row in rows(quick=False)}
    quick = {row.name.replace("10,000 consumers", "100,000 consumers") for row in rows(quick=True)}
    assert len(quick - every) <= 1  # the usages of a project keep their 10,000
    assert len(quick) < len(every)
