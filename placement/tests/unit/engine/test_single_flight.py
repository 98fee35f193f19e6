"""One thread fetches for all waiting callers; none gets a value fetched before its call."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from placement.engine.engine import SingleFlight
from placement.tests.support.waiting import SECONDS_TO_WAIT, wait_until


class Slow:
    """Something to fetch: ``value``, as it was when the fetch began; each waits to be let go."""

    def __init__(self):
        self.value = 0
        self.began = threading.Semaphore(0)
        self.go = threading.Semaphore(0)
        self.count = 0

    def fetch(self):
        seen = self.value
        self.count += 1
        self.began.release()
        assert self.go.acquire(timeout=SECONDS_TO_WAIT)
        return seen


def wait_for_waiting(flight, count):
    """Return when so many callers wait for the end of a fetch."""
    wait_until(lambda: len(flight._ended._waiters) >= count)


def test_whoever_comes_alone_fetches_each_time():
    numbers = iter(range(3))
    flight = SingleFlight(lambda: next(numbers))
    assert [flight.result() for _ in range(3)] == [0, 1, 2]


def test_those_that_come_during_a_fetch_share_the_next():
    slow = Slow()
    flight = SingleFlight(slow.fetch)
    with ThreadPoolExecutor(6) as pool:
        first = pool.submit(flight.result)
        assert slow.began.acquire(timeout=SECONDS_TO_WAIT)
        slow.value = 1  # written, and acknowledged, after the first fetch had looked
        later = [pool.submit(flight.result) for _ in range(5)]
        wait_for_waiting(flight, len(later))
        slow.go.release()
        assert slow.began.acquire(timeout=SECONDS_TO_WAIT)
        assert first.result(SECONDS_TO_WAIT) == 0
        slow.go.release()
        assert [each.result(SECONDS_TO_WAIT) for each in later] == [1] * 5
    assert slow.count == 2


def test_an_error_is_raised_by_all_that_waited_for_it_and_not_kept():
    slow = Slow()

    def fetch():
        if slow.fetch() == 1:
            raise LookupError("away")
        return slow.value

    flight = SingleFlight(fetch)
    slow.value = 1
    with ThreadPoolExecutor(2) as pool:
        both = [pool.submit(flight.result) for _ in range(2)]
        slow.go.release(2)
        for each in both:
            with pytest.raises(LookupError):
                each.result(SECONDS_TO_WAIT)
    slow.value = 2
    slow.go.release()
    assert flight.result() == 2


def test_an_error_is_raised_at_once_by_all_that_waited_for_the_end_of_the_fetch():
    """Of a database host that does not respond: nobody waits for a second timeout."""
    slow = Slow()

    def fetch():
        slow.fetch()
        raise LookupError("away")

    flight = SingleFlight(fetch)
    with ThreadPoolExecutor(4) as pool:
        first = pool.submit(flight.result)
        assert slow.began.acquire(timeout=SECONDS_TO_WAIT)
        later = [pool.submit(flight.result) for _ in range(3)]
        wait_for_waiting(flight, len(later))
        slow.go.release(5)
        for each in (first, *later):
            with pytest.raises(LookupError):
                each.result(SECONDS_TO_WAIT)
    assert slow.count == 1


def test_a_fetch_that_is_broken_off_leaves_nobody_waiting():
    stop = [True]

    def fetch():
        if stop.pop():
            raise KeyboardInterrupt
        return 1

    flight = SingleFlight(fetch)
    with pytest.raises(KeyboardInterrupt):
        flight.result()
    stop.append(False)
    assert flight.result() == 1
