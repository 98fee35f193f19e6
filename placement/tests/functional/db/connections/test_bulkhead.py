"""The limits of waiting writes, without a database."""

import threading
from contextlib import ExitStack
from types import SimpleNamespace

import pytest

from placement import exception
from placement.db.connections import bulkhead
from placement.db.connections.bulkhead import Bulkhead, Wait, before_lock
from placement.tests.support.waiting import SECONDS_TO_WAIT, at_most


class Connection:
    """A connection of a driver whose commit ends when it is canceled."""

    def __init__(self):
        self.canceled = threading.Event()

    def cancel(self):
        self.canceled.set()


class UnresponsiveServer(Connection):
    """A connection that cannot be canceled while its server does not respond."""

    def __init__(self):
        super().__init__()
        self.responds = threading.Event()

    def cancel(self):
        super().cancel()
        self.responds.wait(2 * SECONDS_TO_WAIT)


def fail(context):
    with pytest.raises(KeyError), context:
        raise KeyError


def refuse(limits):
    with pytest.raises(exception.DatabaseUnavailable):
        limits.refuse()


def write(limits, *, has_waited=False):
    return limits.write(Wait(limits, has_waited=has_waited))


def test_writes_and_commits_that_fail_leave_their_places():
    limits = Bulkhead(2)
    for _ in range(10):
        fail(write(limits))
        fail(limits.commit(Connection()))
    refuse(limits)
    for _ in range(10):
        with write(limits), limits.commit(Connection()):
            pass


def test_after_a_refusal_writes_are_refused_at_once_until_one_that_waited_is_committed():
    limits = Bulkhead(2)
    with ExitStack() as writes:
        for _ in range(4):  # without a refusal there is no limit
            writes.enter_context(write(limits))
        refuse(limits)
        with pytest.raises(exception.DatabaseUnavailable, match="not available"):
            writes.enter_context(write(limits))
    refuse(limits)
    with ExitStack() as writes:
        for _ in range(3):
            writes.enter_context(write(limits))
        with pytest.raises(exception.DatabaseUnavailable), write(limits):
            pass
        assert not limits.is_progressing
    with write(limits, has_waited=True):
        pass
    assert limits.is_progressing
    with ExitStack() as writes:
        for _ in range(4):
            writes.enter_context(write(limits))


def test_after_a_refusal_a_provider_that_others_wait_for_is_not_locked():
    limits = Bulkhead(2)
    wait = Wait(limits, [7], has_waited=True)
    with limits.write(wait), limits.write(Wait(limits, [8])):
        limits.check_providers([7])
        refuse(limits)
        limits.check_providers([8])
        with pytest.raises(exception.DatabaseUnavailable):
            limits.check_providers([7, 8])
        with write(limits, has_waited=True):
            pass
        limits.check_providers([7])


def test_a_wait_is_an_attempt_if_the_providers_have_not_changed():
    wait = Wait(Bulkhead(2))
    ended = [{7: 1}, {7: 2}, {7: 2}, {7: 3}, {}]
    outcomes = [(wait.has_ended(generations), wait.is_passed_on) for generations in ended]
    passed_on, is_attempt = (False, True), (True, False)
    assert outcomes == [passed_on, passed_on, is_attempt, passed_on, is_attempt]
    assert not Wait(Bulkhead(2)).has_ended({}), "the first wait never counts"


def test_a_write_that_has_waited_locks_what_others_wait_for():
    limits = Bulkhead(2)
    first, second, third = (Wait(limits, has_waited=waited) for waited in (True, True, False))
    with limits.write(first), limits.write(second), limits.write(third):
        before_lock(SimpleNamespace(info={"wait": first}), [7])
        refuse(limits)
        before_lock(SimpleNamespace(info={"wait": second}), [7])
        with pytest.raises(exception.DatabaseUnavailable):
            before_lock(SimpleNamespace(info={"wait": third}), [7])
        before_lock(SimpleNamespace(info={}), [7])  # of a connection that does not write


def test_all_threads_but_one_may_wait_for_their_commit():
    limits = Bulkhead(2)
    with ExitStack() as commits:
        for _ in range(3):
            commits.enter_context(limits.commit(Connection()))
        with (
            at_most(10),
            pytest.raises(exception.DatabaseUnavailable),
            limits.commit(Connection()),
        ):
            pass
    with limits.commit(Connection()):
        pass


def test_a_late_commit_is_canceled_and_its_result_is_unknown(monkeypatch):
    monkeypatch.setattr(bulkhead, "LONGEST_COMMIT_SECONDS", 1)
    limits, late, early = Bulkhead(2, cancels_commits=True), Connection(), Connection()
    with limits.commit(early):
        pass
    with pytest.raises(exception.CommitLost), limits.commit(late):
        assert late.canceled.wait(SECONDS_TO_WAIT)
    with limits.commit(late):
        pass
    assert not early.canceled.is_set()


def test_a_server_that_does_not_respond_delays_no_other_cancellation(monkeypatch):
    monkeypatch.setattr(bulkhead, "LONGEST_COMMIT_SECONDS", 1)
    limits, first, second = Bulkhead(2, cancels_commits=True), UnresponsiveServer(), Connection()

    def cancel_second():
        assert first.canceled.wait(SECONDS_TO_WAIT)
        with pytest.raises(exception.CommitLost), limits.commit(second):
            assert second.canceled.wait(SECONDS_TO_WAIT)
        first.responds.set()

    with pytest.raises(exception.CommitLost), limits.commit(first):
        cancel_second()
