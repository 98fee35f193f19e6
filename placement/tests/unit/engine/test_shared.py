"""Concurrent callers share one run of a slow computation."""

import threading
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest

from placement.engine.shared import SharedRuns
from placement.tests.support.waiting import wait_until


@pytest.mark.parametrize(("keys", "runs"), [("aaaaaa", 1), ("aaabbb", 2)])
def test_six_callers_wait_for_one_run(monkeypatch, keys, runs):
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
        wait_until(lambda: len(times) == 6)  # each has read the time of its call
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
