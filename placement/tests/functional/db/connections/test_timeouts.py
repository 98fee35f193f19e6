"""Connections to an unresponsive database host time out; those to a slow one do not.

Without a timeout, TCP retries for 15 minutes, and locks last for hours: longer than a test may.
"""

import os
import select
import socket
import threading
import time
from pathlib import Path

import pytest

from placement import exception
from placement.db.connections import timeouts
from placement.db.settings import DatabaseSettings
from placement.db.store import Store
from placement.db.tables import projects
from placement.tests.functional.db.connections.connect_timeouts import SHORT_SECONDS
from placement.tests.support import servers
from placement.tests.support.lock_waits import IDLE_TIMEOUTS, set_timeouts

pytestmark = pytest.mark.long

one_driver_each = pytest.mark.parametrize("driver", ["pymysql", "psycopg"], indirect=True)
SLEEP = {"mariadb": "SELECT SLEEP({})", "postgresql": "SELECT 1 FROM pg_sleep({})"}


@pytest.fixture
def backend(driver):
    return servers.DRIVERS[driver]


@pytest.fixture
def short_timeouts(monkeypatch):
    """Set timeouts that are short enough for a test; for those to connect see the fixtures."""
    monkeypatch.setattr(timeouts, "UNRESPONSIVE_SECONDS", 2)
    monkeypatch.setattr(timeouts, "PROBE_SECONDS", 1)
    set_timeouts(monkeypatch, IDLE_TIMEOUTS, seconds=3)


@pytest.fixture
def store(far_url, short_timeouts, connect_timeouts):
    opened = Store(DatabaseSettings(connection=far_url, max_retries=0))
    yield opened
    opened.dispose()


@pytest.fixture
def near_store(database_url):
    opened = Store(DatabaseSettings(connection=database_url, max_retries=0))
    yield opened
    opened.dispose()


def add(tx, name):
    tx.connection.execute(projects.insert(), {"external_id": name})


def sleep(tx, backend, seconds):
    tx.connection.exec_driver_sql(SLEEP[backend].format(seconds))


def test_unresponsive_host_times_out_and_reconnects(store, database_host):
    store.probe()
    database_host.stop_responding()
    with pytest.raises(exception.DatabaseUnavailable):
        store.probe()
    database_host.resume_responding()
    store.probe()


def test_handshake_without_a_response_times_out(driver, backend, monkeypatch):
    """As from a proxy that accepts a connection for a server that it does not reach."""
    monkeypatch.setattr(timeouts, "CONNECT_SECONDS", SHORT_SECONDS)
    with socket.create_server(("127.0.0.1", 0)) as unresponsive:
        port = unresponsive.getsockname()[1]
        url = servers.KINDS[backend](Path(), port).tcp_url("placement", driver)
        store = Store(DatabaseSettings(connection=url, max_retries=0))
        with pytest.raises(exception.DatabaseUnavailable):
            store.probe()
        store.dispose()
        assert connections_to(unresponsive) == 1  # there is no second attempt


def connections_to(listener):
    """Return how many connections a socket has received; closes them."""
    count = 0
    while select.select([listener], [], [], 0)[0]:
        listener.accept()[0].close()
        count += 1
    return count


@pytest.mark.parametrize(
    ("driver", "parameters", "expected"),
    [
        *((driver, "", 2) for driver in sorted(servers.DRIVERS)),
        ("psycopg", "tcp_user_timeout=7000", 7),
    ],
    indirect=["driver"],
)
def test_kernel_timeouts_are_set(far_url, short_timeouts, parameters, expected):
    store = Store(DatabaseSettings(connection=far_url, connection_parameters=parameters))
    with store.read() as tx:
        driver = tx.connection.connection.driver_connection
        link = socket.socket(fileno=os.dup(getattr(driver, "_sock", driver).fileno()))
    with link:
        milliseconds = link.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT)
    assert milliseconds == expected * 1000
    store.dispose()


@one_driver_each
def test_host_that_stops_before_its_response_times_out(store, database_host, backend):
    stop = threading.Timer(0.5, database_host.stop_responding)

    def work(tx):
        if stop.ident is None:  # not by another attempt
            stop.start()
        sleep(tx, backend, 120)

    with pytest.raises(exception.DatabaseUnavailable):
        store.write(work)
    stop.join()


@one_driver_each
def test_slow_response_does_not_time_out(store, backend):
    begun = time.monotonic()
    store.write(sleep, backend, 4)
    assert time.monotonic() - begun >= 4


@one_driver_each
def test_locks_of_an_unresponsive_client_are_released(store, database_host, near_store):
    """The database does not detect the end of the connection; it would keep locks for hours."""

    def work(tx):
        add(tx, "one")
        database_host.stop_responding()
        tx.connection.exec_driver_sql("SELECT 1")

    with pytest.raises(exception.DatabaseUnavailable):
        store.write(work)
    near_store.write(add, "one")
