"""Concurrent callers share one run of a slow computation."""

import sys
import threading
from concurrent.futures import ThreadPoolExecutor, as_completed
from types import SimpleNamespace

import pytest

from placement.engine.shared import SharedRuns
from placement.exception import TooManyComputations
from placement.tests.support.waiting import SECONDS_TO_WAIT, wait_until


@pytest.mark.parametrize(("keys", "runs"), [("aaaaaa", 1), ("aabb", 2)])
def test_callers_wait_for_one_run(monkeypatch, keys, runs):
    """With several keys, one run at a time."""
    times = []
    clock = SimpleNamespace(monotonic=lambda: times.append(len(times)) or times[-1])
    monkeypatch.setattr("placement.engine.shared.time", clock)
    shared, started, finish, count = SharedRuns(), threading.Event(), threading.Event(), []

    def compute(key):
        count.append(key)
        started.set()
        finish.wait()
        return f"{key}{len(count)}"

    with ThreadPoolExecutor(6) as pool:
        first = pool.submit(shared.result, keys[0], lambda: compute(keys[0]))
        started.wait()
        others = [
            pool.submit(shared.result, key, lambda key=key: compute(key)) for key in keys[1:]
        ]
        wait_until(lambda: len(times) == len(keys))  # each has read the time of its call
        finish.set()
        results = [each.result() for each in (first, *others)]
    assert sorted(set(count)) == sorted(set(keys))
    assert [result[0] for result in results] == [*keys]
    if runs == 1:
        assert count == ["a"]


def test_a_later_call_runs_again():
    shared, count = SharedRuns(), iter(range(9))
    assert [shared.result("a", lambda: next(count)) for _ in range(3)] == [0, 1, 2]


def test_an_error_is_not_shared():
    shared = SharedRuns()
    with pytest.raises(ZeroDivisionError):
        shared.result("a", lambda: 1 / 0)
    assert shared.result("a", lambda: 1) == 1


def test_a_fifth_of_few_callers_is_refused():
    shared, finish = SharedRuns(), threading.Event()
    with ThreadPoolExecutor(5) as pool:
        calls = [pool.submit(shared.result_for_few, number, finish.wait) for number in range(5)]
        refused = next(as_completed(calls, SECONDS_TO_WAIT))
        finish.set()
        with pytest.raises(TooManyComputations, match="computes or waits for 4"):
            refused.result()
        assert all(each.result() for each in calls if each is not refused)
    assert shared.result_for_few("a", lambda: 1) == 1


def test_other_threads_continue_sooner_during_a_run():
    interval, shared = sys.getswitchinterval(), SharedRuns()
    assert shared.result("a", sys.getswitchinterval) < interval / 5
    assert sys.getswitchinterval() == interval
    with pytest.raises(ZeroDivisionError):
        shared.result("a", lambda: 1 / 0)
    assert sys.getswitchinterval() == interval
