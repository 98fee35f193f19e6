"""Writes that wait for a lock or for their commit do not occupy all threads of a process."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace

import pytest
import sqlalchemy as sa

from placement import exception
from placement.db.connections import bulkhead
from placement.db.schema import migration, seed
from placement.db.settings import DatabaseSettings
from placement.db.store import Store
from placement.db.tables import resource_providers
from placement.objects import allocation, provider
from placement.tests.support import servers
from placement.tests.support.factories import (
    assert_sound,
    claim,
    consumer_generation,
    new_provider,
    used,
    uuid,
)
from placement.tests.support.waiting import at_most, wait_until

PLACES = 2
CLAIMS = 6

pytestmark = pytest.mark.parametrize("backend", ["mariadb", "postgresql"], indirect=True)


@pytest.fixture
def process(store):
    """The store of a process with four threads for requests."""
    opened = Store(replace(store.settings, max_waiting_writes=PLACES))
    yield opened
    opened.dispose()


@contextmanager
def locked(store, host):
    """Another transaction has the row of the host during the block."""
    columns = resource_providers.c
    row = sa.select(columns.id).where(columns.uuid == host).with_for_update()
    with store.engines().writer.connect() as connection:
        connection.execute(row)
        yield
        connection.rollback()


def outcome(store, host):
    """Return whether a claim was written, and the seconds that it took."""
    began_at = time.monotonic()
    try:
        claim(store, uuid(), {host: {"VCPU": 1}})
    except exception.DatabaseUnavailable:
        return False, time.monotonic() - began_at
    return True, time.monotonic() - began_at


def waiting(store):
    return store.engines().waiting_writer.pool.checkedout()


def test_writes_beyond_the_places_are_refused_and_others_served(store, process):
    host, other = (new_provider(process, VCPU=100) for _ in range(2))
    assert outcome(process, other)[0]
    for _ in range(2):  # the places of the first round are free again
        claim_while_locked(store, process, host, other)
    assert used(process, host) == {"VCPU": 2 * PLACES}
    assert_sound(process)


def claim_while_locked(store, process, host, other):
    with ThreadPoolExecutor(CLAIMS) as threads:
        with locked(store, host):
            outcomes = [threads.submit(outcome, process, host) for _ in range(CLAIMS)]
            wait_until(lambda: sum(each.done() for each in outcomes) == CLAIMS - PLACES)
            assert waiting(process) == PLACES
            with at_most(10):
                assert outcome(process, other)[0]
                assert provider.show(process, host).uuid == host
        written = [is_written for is_written, _ in (each.result() for each in outcomes)]
    assert sorted(written) == [False] * (CLAIMS - PLACES) + [True] * PLACES
    assert waiting(process) == 0


def test_without_places_a_write_waits_for_a_second_only(store):
    process = Store(replace(store.settings, max_waiting_writes=0))
    host = new_provider(process, VCPU=8)
    with locked(store, host):
        is_written, seconds = outcome(process, host)
    assert not is_written
    assert seconds < 9
    assert outcome(process, host)[0]
    process.dispose()


@pytest.mark.long
def test_a_write_that_waits_ends_while_a_client_is_patient(store, process, monkeypatch):
    monkeypatch.setattr("placement.db.store.RETRY_SECONDS", 12)
    host = new_provider(process, VCPU=8)
    with locked(store, host):
        is_written, seconds = outcome(process, host)
    assert not is_written
    assert 10 < seconds < 20  # a second, then ten; no third wait
    assert outcome(process, host)[0]


def test_the_only_attempt_waits_for_longer_than_a_second(store, process):
    host = new_provider(process, VCPU=8)
    with ThreadPoolExecutor(1) as threads:
        with locked(store, host):
            claimed = threads.submit(outcome, process.writing_with(max_attempts=1), host)
            wait_until(lambda: waiting(process) == 1)
        assert claimed.result()[0]


def test_a_busy_host_gives_each_write_its_turn(process):
    """With slow commits, more writes than places wait for longer than a second."""
    host, clients = new_provider(process, VCPU=100), 18
    for engine in (process.engines().writer, process.engines().waiting_writer):
        sa.event.listen(engine, "commit", lambda _: time.sleep(0.15))
    with ThreadPoolExecutor(clients) as threads:
        outcomes = list(threads.map(lambda _: outcome(process, host), range(2 * clients)))
    assert all(is_written for is_written, _ in outcomes)
    assert max(seconds for _, seconds in outcomes) > 1
    assert used(process, host) == {"VCPU": 2 * clients}


def test_writes_wait_for_a_provider_that_another_process_changes(store):
    """Here the lock is passed on from one claim of the other process to the next."""
    consumer, host = uuid(), new_provider(store, VCPU=100)
    claim(store, consumer, {host: {"VCPU": 2}})
    for engine in (store.engines().writer, store.engines().waiting_writer):
        sa.event.listen(engine, "commit", lambda _: time.sleep(0.7))
    process = Store(replace(store.settings, max_waiting_writes=0)).writing_with(max_attempts=1)
    with ThreadPoolExecutor(CLAIMS + 2) as threads:
        with locked(store, host):
            others = [threads.submit(outcome, store, host) for _ in range(CLAIMS)]
            wait_until(lambda: waiting(store) == store.settings.max_waiting_writes)
        claimed = threads.submit(outcome, process, host)
        released = threads.submit(allocation.delete, process, consumer)
        assert claimed.result()[0]
        released.result()
    assert used(process, host) == {"VCPU": 1 + sum(each.result()[0] for each in others)}
    process.dispose()


def test_after_a_refusal_writes_to_this_provider_are_refused_without_a_wait(
    store, process, monkeypatch
):
    """The provider has just been created, which is no sign that its lock is passed on."""
    monkeypatch.setattr(bulkhead, "_RECENT_SECONDS", 60)
    conflicts, (host, other) = [], (new_provider(process, VCPU=100) for _ in range(2))
    observed = process.writing_with(on_conflict=lambda: conflicts.append(1))
    with ThreadPoolExecutor(CLAIMS) as threads, locked(store, host):
        outcomes = [threads.submit(outcome, process, host) for _ in range(CLAIMS)]
        wait_until(lambda: sum(each.done() for each in outcomes) == CLAIMS - PLACES)
        refused = [outcome(observed, host)[0] for _ in range(CLAIMS)]
        assert (any(refused), conflicts) == (False, [])
        assert outcome(observed, other)[0]


def test_a_background_write_takes_no_place_of_requests(store):
    """The process has one thread for requests; a commit in the background does not end."""
    process = Store(replace(store.settings, max_waiting_writes=0))
    host, committing, ends = new_provider(process, VCPU=8), threading.Event(), threading.Event()

    def commit_slowly(_connection):
        if not committing.is_set():
            committing.set()
            ends.wait(60)

    sa.event.listen(process.engines().writer, "commit", commit_slowly)

    def select_one(tx):
        tx.connection.execute(sa.text("SELECT 1"))

    background = process.writing_with(in_background=True)
    with ThreadPoolExecutor(1) as threads:
        try:
            threads.submit(background.write, select_one)
            assert committing.wait(60)
            assert outcome(process, host)[0]
        finally:
            ends.set()
    process.dispose()


def test_a_background_write_waits_for_its_lock(store):
    background, conflicts = store.writing_with(in_background=True), []
    host = new_provider(store, VCPU=8)
    background = background.writing_with(on_conflict=lambda: conflicts.append(1))
    with ThreadPoolExecutor(1) as threads:
        with locked(store, host):
            claimed = threads.submit(outcome, background, host)
            wait_until(lambda: len(conflicts) == 2)
            assert waiting(store) == 0
        assert claimed.result()[0]


@pytest.fixture
def without_standby(backend):
    """A server whose synchronous standby is missing, and a store."""
    if backend != "postgresql":
        pytest.skip("no commit of this server waits without limit")
    try:
        with servers.private("postgresql") as server:
            server.create("placement")
            store = Store(DatabaseSettings(server.tcp_url("placement"), max_waiting_writes=PLACES))
            migration.upgrade(store)
            seed.sync(store)
            host = new_provider(store, VCPU=100)
            server.execute("ALTER SYSTEM SET synchronous_standby_names = 'missing'")
            server.execute("SELECT pg_reload_conf()")
            yield server, store, host
            store.dispose()
    except servers.Missing as missing:
        pytest.skip(str(missing))


def test_commits_that_wait_for_a_standby_are_limited_and_canceled(without_standby, monkeypatch):
    """The claims are committed on the primary, once each."""
    monkeypatch.setattr(bulkhead, "LONGEST_COMMIT_SECONDS", 4)
    server, store, host = without_standby
    consumers, lost, refused = [uuid() for _ in range(4)], [], []

    def attempt(consumer):
        try:
            claim(store, consumer, {host: {"VCPU": 1}}, generation=None)
        except exception.CommitLost:
            lost.append(consumer)
        except exception.DatabaseUnavailable:
            refused.append(consumer)

    threads = [threading.Thread(target=attempt, args=[each]) for each in consumers]
    for thread in threads:
        thread.start()
    wait_until(lambda: len(refused) == 1)  # all threads but one wait
    with at_most(5):
        provider.show(store, host)
    for thread in threads:
        thread.join()
    assert len(lost) == 2 * PLACES - 1
    server.execute("ALTER SYSTEM RESET synchronous_standby_names")
    server.execute("SELECT pg_reload_conf()")
    assert [consumer_generation(store, each) for each in lost] == [1] * len(lost)
    assert used(store, host) == {"VCPU": len(lost)}
    attempt(refused[0])
    assert used(store, host) == {"VCPU": len(lost) + 1}
    assert_sound(store)
