"""Concurrent callers share one run of a slow computation."""

import sys
import threading
from concurrent.futures import ThreadPoolExecutor, as_completed
from types import SimpleNamespace

import pytest

from placement.engine import shared
from placement.engine.shared import SharedRuns, ShortRequests, ThreadLimit, request_clock
from placement.exception import TooManySlowRequests
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
        with pytest.raises(TooManySlowRequests, match="handles 4 requests"):
            refused.result()
        assert all(each.result() for each in calls if each is not refused)
    assert shared.result_for_few("a", lambda: 1) == 1


def test_places_are_given_back_once_or_when_they_are_dropped():
    limit = ThreadLimit(2)
    first, second = limit.take(), limit.take()
    with pytest.raises(TooManySlowRequests, match="handles 2 requests"):
        limit.take()
    first()
    first()
    del first
    third = limit.take()
    with pytest.raises(TooManySlowRequests):
        limit.take()
    del second
    assert limit.take()
    third()


def test_other_threads_continue_sooner_during_a_run():
    interval, shared = sys.getswitchinterval(), SharedRuns()
    assert shared.result("a", sys.getswitchinterval) < interval / 5
    assert sys.getswitchinterval() == interval
    with pytest.raises(ZeroDivisionError):
        shared.result("a", lambda: 1 / 0)
    assert sys.getswitchinterval() == interval


class FakeTime:
    """A clock that advances while the computation works or sleeps."""

    def __init__(self):
        self.seconds = 0.0
        self.slept = []
        self.requests = ShortRequests(lambda: self.seconds, self.sleep)

    def sleep(self, seconds):
        self.slept.append(seconds)
        self.seconds += seconds

    def work(self, seconds):
        """Compute for so long, and return the seconds of the wait after it."""
        self.seconds += seconds
        began = self.seconds
        self.requests.give_way()
        return self.seconds - began


def test_a_computation_waits_for_short_requests_as_long_as_it_worked():
    clock = FakeTime()
    with clock.requests.counted():
        waits = [clock.work(0.001) for _ in range(50)]
    assert all(0.0005 < wait < 0.0015 for wait in waits)
    assert sum(waits) == pytest.approx(0.050, rel=0.2)
    assert clock.work(0.001) == 0


def test_what_was_not_waited_is_used_later_but_not_all():
    clock = FakeTime()
    assert [clock.work(0.001) for _ in range(50)] == [0] * 50
    with clock.requests.counted():
        assert 0.019 < clock.work(0.001) < 0.022
        assert clock.work(0.001) < 0.0015


def test_a_wait_ends_with_the_last_short_request():
    clock = FakeTime()
    request = clock.requests.counted()
    request.__enter__()

    def sleep(seconds):
        clock.seconds += seconds
        if clock.seconds > 0.011:
            request.__exit__(None, None, None)

    clock.requests._sleep = sleep
    assert 0.001 < clock.work(0.010) < 0.0015


def test_a_computation_gives_way_between_pieces_only():
    clock = FakeTime()
    assert clock.work(0.0004) == 0
    assert clock.slept == []
    assert list(clock.requests.paced(range(3))) == [0, 1, 2]
    clock.seconds += 1
    assert list(clock.requests.paced(range(200))) == list(range(200))
    assert clock.slept == [0]


def test_a_request_that_computes_or_waits_is_not_short():
    shared, clock = SharedRuns(), FakeTime()
    shared.short_requests = clock.requests
    clock.seconds = 1
    with clock.requests.counted():
        assert shared.result("a", lambda: clock.work(0.001)) == 0
        assert clock.work(0.001) > 0
    assert shared.result("a", lambda: clock.work(0.001)) == 0
    assert clock.work(0.001) == 0


@pytest.mark.parametrize(("cpu", "wall", "passed"), [(1.0, 2.0, 1.0), (1.0, 50.0, 10.0)])
def test_a_budget_is_cpu_time_and_a_fifth_of_the_time_at_least(monkeypatch, cpu, wall, passed):
    clocks = SimpleNamespace(thread_time=lambda: 7.0, monotonic=lambda: 100.0)
    monkeypatch.setattr(shared, "time", clocks)
    now = request_clock()
    assert now() == 0
    clocks.thread_time, clocks.monotonic = (lambda: 7.0 + cpu), (lambda: 100.0 + wall)
    assert now() == passed
