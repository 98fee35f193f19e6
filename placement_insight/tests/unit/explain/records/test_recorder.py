"""The recorder, on a store that is slow, away, or counts."""

import sys
import threading
import time
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from types import SimpleNamespace

import pytest

from placement import exception
from placement.tests.support.loggers import messages
from placement.tests.support.waiting import SECONDS_TO_WAIT
from placement_insight.explain.records import recorder as recorders
from placement_insight.explain.records.model import LARGEST_ID, RecordedRequest, first_id, new_id
from placement_insight.explain.records.recorder import Recorder, RecorderSettings, start_timer
from placement_insight.tests.support.records import at_once, record


@dataclass
class Memory:
    """A store that keeps what is recorded, and can be stopped or broken."""

    rows: list[RecordedRequest] = field(default_factory=list)
    pruned: list[tuple[int, int, int]] = field(default_factory=list)
    calls: int = 0
    error: Exception | None = None
    gate: threading.Event | None = None
    entered: threading.Event = field(default_factory=threading.Event)
    attempts: int | None = None
    superseding: list[list[str]] = field(default_factory=list)

    def writing_with(self, *, max_attempts, in_background):
        assert in_background
        self.attempts = max_attempts
        return self

    def write(self, work, *arguments):
        self.calls += 1
        self.entered.set()
        if self.gate is not None:
            assert self.gate.wait(SECONDS_TO_WAIT)
        if self.error is not None:
            raise self.error
        return work(self, *arguments)

    def add(self, records):
        self.rows += records
        return len(records)

    def prune(self, oldest_id, keep, at_most):
        self.pruned.append((oldest_id, keep, at_most))
        removed = min(max(len(self.rows) - keep, 0), at_most)
        del self.rows[:removed]
        return removed

    def supersede(self, found):
        self.superseding.append(list(found))


@dataclass
class Clock:
    now: float = 1000.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def store(monkeypatch):
    """A store whose transactions are their own statements."""
    monkeypatch.setattr(recorders, "sql", Memory)
    return Memory()


def new_recorder(store, clock, per_second, call_after=at_once):
    settings = RecorderSettings(record_max_rows=200, record_per_second=per_second)
    return Recorder(store, settings, clock, clock, call_after)


@pytest.fixture
def recorder(store, clock):
    return new_recorder(store, clock, 5)


@pytest.fixture
def unlimited(store, clock):
    """A recorder that admits each request."""
    return new_recorder(store, clock, 1000)


def test_requests_are_superseded_for_five_seconds_whatever_the_time_of_day(store, recorder, clock):
    """Other processes may write their counts in this time."""
    recorder.found("global-1", at=datetime.now(UTC))
    for _ in range(3):
        recorder.flush()
        clock.now += 4
    assert store.superseding == [["global-1"]] * 3
    recorder.flush()
    assert len(store.superseding) == 3


# --- rate ---------------------------------------------------------------------------------


def test_so_many_a_second_are_admitted_and_each_kind_by_itself(recorder, clock):
    assert [recorder.admits("a") for _ in range(22)] == [True] * 20 + [False] * 2
    assert recorder.admits("b")
    clock.now += 0.5
    assert [recorder.admits("a") for _ in range(3)] == [True, True, False]


def test_a_quiet_hour_saves_nothing_up(recorder, clock):
    recorder.admits("a")
    clock.now += 3600
    assert sum(recorder.admits("a") for _ in range(100)) == 20


def explained(recorder, clock, seconds, kind="a"):
    """Return whether an explanation that takes so long is admitted."""
    with recorder.explanation(kind) as is_admitted:
        clock.now += seconds if is_admitted else 0
    return is_admitted


def test_short_explanations_are_limited_by_their_number_only(recorder, clock):
    assert [explained(recorder, clock, 0) for _ in range(21)] == [True] * 20 + [False]
    clock.now += 1
    assert [explained(recorder, clock, 0) for _ in range(6)] == [True] * 5 + [False]


def test_long_explanations_take_a_twentieth_of_the_time(recorder, clock):
    started_at, admitted = clock.now, 0
    for _ in range(1000):
        admitted += explained(recorder, clock, 0.2)
        clock.now += 1
    assert 0.2 * admitted / (clock.now - started_at) == pytest.approx(0.05, rel=0.05)


def test_long_explanations_of_one_kind_do_not_displace_another_kind(recorder, clock):
    assert explained(recorder, clock, 60)
    assert not explained(recorder, clock, 60)
    assert explained(recorder, clock, 0, "b")


def fails_after_a_minute(recorder, clock):
    with recorder.explanation("a"):
        clock.now += 60
        raise RuntimeError


def test_an_explanation_that_fails_is_counted(recorder, clock):
    with pytest.raises(RuntimeError):
        fails_after_a_minute(recorder, clock)
    clock.now += 60
    assert not explained(recorder, clock, 0)


# --- writing ------------------------------------------------------------------------------


def test_records_are_written_in_order(recorder, store):
    for number in range(3):
        recorder.record(record(number))
    assert [row.request_id for row in store.rows] == ["req-0", "req-1", "req-2"]


def test_a_recorder_that_is_off_writes_nothing(store, clock):
    recorder = Recorder(store, RecorderSettings(record=False), clock)
    recorder.record(record())
    assert (store.calls, recorder.is_enabled) == (0, False)


def test_records_wait_for_one_timer_and_during_a_write_for_the_next_one(store, clock):
    timers = []
    recorder = new_recorder(store, clock, 5, lambda *timer: timers.append(timer))
    recorder.record(record(0))
    store.gate = threading.Event()
    first = threading.Thread(target=timers[0][1])
    first.start()
    assert store.entered.wait(SECONDS_TO_WAIT)
    for number in range(1, 4):
        recorder.record(record(number))  # returns at once
    assert (store.rows, [seconds for seconds, _ in timers]) == ([], [0.2, 0.2])
    store.gate.set()
    first.join(SECONDS_TO_WAIT)
    timers[1][1]()
    assert [row.request_id for row in store.rows] == [f"req-{number}" for number in range(4)]


def test_of_too_many_that_wait_the_oldest_are_dropped(store, clock, monkeypatch):
    monkeypatch.setattr(recorders, "MOST_WAITING", 100)
    recorder = new_recorder(store, clock, 1000, lambda *_: None)
    for number in range(150):
        recorder.record(record(number))
    recorder.flush()
    assert [row.request_id for row in store.rows] == [f"req-{number}" for number in range(50, 150)]
    assert recorder.dropped == 50


def test_keys_of_equal_and_superseded_requests_take_limited_memory(store, clock, monkeypatch):
    for name in ("_MOST_KEYS", "_MOST_FOUND"):
        monkeypatch.setattr(recorders, name, 3)
    recorder = new_recorder(store, clock, 1000, lambda *_: None)
    for number in range(4):
        recorder.record(record(number))
        recorder.found(f"global-{number}", at=datetime.now(UTC))
    recorder.flush()
    assert len(recorder._keys) == 1
    assert store.superseding == [["global-3"]]


# --- timers -------------------------------------------------------------------------------


def storm(recorder, number):
    """Accept one write, and refuse three, more than the rate admits."""
    recorder.found(f"consumer-{number}", at=datetime.now(UTC))
    for each in range(3):
        recorder.record(record(3 * number + each))


def test_one_timer_waits_for_each_job_whatever_the_load(store, clock):
    timers = []
    settings = RecorderSettings(record_per_second=5)
    call_after = lambda *timer: timers.append((clock.now, *timer))  # noqa: E731
    recorder = Recorder(store, settings, clock, clock, call_after)
    for number in range(400):  # 40 seconds
        storm(recorder, number)
        if number % 50 == 0:
            recorder.flush()  # of a reader
        assert sorted(seconds for _, seconds, _ in timers) == [0.2, 5.0]
        clock.now += 0.1
        for timer in [each for each in timers if sum(each[:2]) <= clock.now]:
            timers.remove(timer)
            timer[2]()
    assert len(store.superseding) == 8 + 7  # of readers and of the timer


def test_threads_do_not_pile_up_before_a_slow_database(store, monkeypatch):
    monkeypatch.setattr(recorders, "_SUPERSEDE_AFTER_SECONDS", 0.01)
    recorder = Recorder(store, RecorderSettings(record_per_second=100), call_after=start_timer)
    store.gate = threading.Event()
    before = set(threading.enumerate())
    storm(recorder, 0)
    assert store.entered.wait(SECONDS_TO_WAIT)
    for number in range(1, 200):
        storm(recorder, number)
        time.sleep(0.001)
    added = set(threading.enumerate()) - before
    assert len(added) == 3  # the one that writes, and one for each job
    assert all(thread.daemon for thread in added)
    store.gate.set()
    monkeypatch.setattr(recorders, "_SUPERSEDE_AFTER_SECONDS", 0)  # ends the marks
    for thread in added:
        thread.join(SECONDS_TO_WAIT)


def test_a_process_that_ends_writes_the_records_that_wait(store, clock, monkeypatch):
    """Also in uWSGI, which does not call the functions of ``atexit``."""
    registered, uwsgi = [], SimpleNamespace()
    monkeypatch.setattr(recorders.atexit, "register", registered.append)
    monkeypatch.setitem(sys.modules, "uwsgi", uwsgi)
    recorder = new_recorder(store, clock, 5, lambda *_: None)
    recorders.do_at_exit(recorder.flush)
    recorder.record(record())
    assert (store.rows, registered) == ([], [uwsgi.atexit])
    uwsgi.atexit()
    assert len(store.rows) == 1
    del recorder
    uwsgi.atexit()


def test_a_reader_does_not_wait_for_a_slow_database(recorder, store, monkeypatch):
    monkeypatch.setattr(recorders, "_MOST_SECONDS_OF_READERS", 0.01)
    store.gate = threading.Event()
    writer = threading.Thread(target=recorder.record, args=[record()])
    writer.start()
    assert store.entered.wait(SECONDS_TO_WAIT)
    recorder.flush()
    assert store.rows == []
    store.gate.set()
    writer.join(SECONDS_TO_WAIT)


def test_a_reader_waits_for_the_report_of_a_response_that_was_sent(recorder, store):
    started, may_end = threading.Event(), threading.Event()

    def report():
        started.set()
        assert may_end.wait(SECONDS_TO_WAIT)
        recorder.record(record())

    thread = threading.Thread(target=recorder.awaited(report))
    thread.start()
    assert started.wait(SECONDS_TO_WAIT)
    threading.Timer(0.05, may_end.set).start()
    recorder.flush()
    assert len(store.rows) == 1
    thread.join(SECONDS_TO_WAIT)


def test_a_reader_does_not_wait_for_long_reports_or_those_that_never_run(store):
    recorder = Recorder(store, RecorderSettings(), call_after=at_once)
    recorder.awaited(lambda: None)  # its request is gone
    start = time.monotonic()
    recorder.flush()
    assert time.monotonic() - start < recorders._MOST_SECONDS_OF_READERS
    reports = [recorder.awaited(lambda: None) for _ in range(3)]
    start = time.monotonic()
    recorder.flush()
    assert time.monotonic() - start < 2 * recorders._MOST_SECONDS_OF_READERS
    for report in reports:
        report()


def test_an_accepted_write_succeeds_where_no_thread_can_be_started(store, clock):
    started = []

    def call_after(seconds, _work):
        started.append(seconds)
        raise RuntimeError("can't start new thread")

    recorder = Recorder(store, RecorderSettings(), clock, clock, call_after)
    recorder.found("global-1", at=datetime.now(UTC))
    recorder.found("global-2", at=datetime.now(UTC))
    assert started == [5.0, 5.0]
    recorder.flush()
    assert store.superseding == [["global-1", "global-2"]]


# --- failing ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "error",
    [exception.DatabaseUnavailable("away"), exception.Conflict(), RuntimeError("no such table")],
    ids=lambda error: type(error).__name__,
)
def test_what_cannot_be_written_is_dropped_and_said_once_a_minute(
    recorder, store, clock, caplog, error
):
    store.error = error
    for _ in range(120):
        recorder.record(record())
        clock.now += 0.5
    (line,) = messages(caplog, recorders.LOG)
    assert "Requests cannot be recorded" in line
    assert store.calls == 6  # it tries again every ten seconds
    clock.now += 10
    recorder.record(record())
    _, line = messages(caplog, recorders.LOG)
    assert "Dropped so far: 121." in line


def test_all_requests_of_a_refused_record_are_dropped(recorder, store):
    store.error = exception.BadRequest("refused")
    recorder.record(replace(record(), requests=3))
    assert recorder.dropped == 3


def test_after_a_failure_it_goes_on_by_itself(recorder, store, clock):
    store.error = exception.DatabaseUnavailable("away")
    recorder.record(record(1))
    store.error = None
    clock.now += 9
    recorder.record(record(2))
    clock.now += 2
    recorder.record(record(3))
    assert [row.request_id for row in store.rows] == ["req-3"]


# --- bounds -------------------------------------------------------------------------------


def test_the_table_stays_within_its_bounds(unlimited, store):
    for number in range(1000):
        unlimited.record(record(number))
        assert len(store.rows) <= 200 + recorders.PRUNE_AFTER_ROWS
    assert {batch for _, _, batch in store.pruned} == {recorders.PRUNE_BATCH}
    assert store.calls < 1000 + 1000 / 40


def test_rows_above_a_lowered_limit_are_deleted_in_batches(unlimited, store):
    store.rows = [record(number) for number in range(2000)]
    unlimited.record(record())
    assert len(store.rows) == 2001 - recorders.PRUNE_BATCH
    for number in range(200):
        unlimited.record(record(number))
    assert len(store.rows) <= 250


def test_rows_that_are_too_old_are_removed_by_their_ids(recorder, store):
    recorder.record(record())
    (oldest_id, keep, _) = store.pruned[0]
    assert keep == 200
    month = 30 * 86_400_000 << 21
    assert abs(new_id(datetime.now(UTC)) - month - oldest_id) < 60_000 << 21


def test_it_prunes_after_a_while_even_if_it_writes_little(recorder, store, clock):
    for _ in range(4):
        clock.now += 601
        recorder.record(record())
    assert len(store.pruned) == 4


# --- ids ----------------------------------------------------------------------------------


def test_ids_are_in_the_order_of_time_and_fit_eight_bytes():
    times = [datetime(2026, 1, 1, tzinfo=UTC), datetime(2100, 1, 1, tzinfo=UTC)]
    assert new_id(times[0]) < new_id(times[1]) < LARGEST_ID
    assert first_id(datetime(1969, 1, 1, tzinfo=UTC)) == 0
    assert first_id(datetime(9999, 1, 1, tzinfo=UTC)) == LARGEST_ID
    assert len({new_id(times[0]) for _ in range(100)}) > 90
