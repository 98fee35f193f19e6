"""Connections to an unresponsive database host time out; those to a slow one do not."""

import os
import socket
import threading
import time
from pathlib import Path

import pytest

from placement import exception
from placement.db.sqlalchemy import engines, tcp_timeouts
from placement.db.sqlalchemy.engines import DatabaseSettings
from placement.db.sqlalchemy.models import projects
from placement.db.store import Store
from placement.tests import servers

one_driver_each = pytest.mark.parametrize("driver", ["pymysql", "psycopg"], indirect=True)
SLEEP = {"mariadb": "SELECT SLEEP({})", "postgresql": "SELECT 1 FROM pg_sleep({})"}
# the longest wait: for a response, and for a new connection
BOUND_SECONDS = 3 + 3
CONNECT_BOUND_SECONDS = 3.5  # less than two timeouts: there is no second attempt


@pytest.fixture
def backend(driver):
    return servers.DRIVERS[driver]


@pytest.fixture
def short_timeouts(monkeypatch):
    """Set timeouts that are short enough for a test."""
    monkeypatch.setattr(tcp_timeouts, "CONNECT_SECONDS", 2)
    monkeypatch.setattr(tcp_timeouts, "UNRESPONSIVE_SECONDS", 2)
    monkeypatch.setattr(tcp_timeouts, "PROBE_SECONDS", 1)
    monkeypatch.setattr(engines, "IDLE_TIMEOUT_SECONDS", 3)


@pytest.fixture
def store(far_url, short_timeouts):
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
    begun = time.monotonic()
    with pytest.raises(exception.DatabaseUnavailable):
        store.probe()
    assert time.monotonic() - begun < BOUND_SECONDS
    database_host.resume_responding()
    store.probe()


def test_handshake_without_a_response_times_out(driver, backend, short_timeouts):
    """As from a proxy that accepts a connection for a server that it does not reach."""
    with socket.create_server(("127.0.0.1", 0)) as unresponsive:
        port = unresponsive.getsockname()[1]
        url = servers.KINDS[backend](Path(), port).tcp_url("placement", driver)
        store = Store(DatabaseSettings(connection=url, max_retries=0))
        begun = time.monotonic()
        with pytest.raises(exception.DatabaseUnavailable):
            store.probe()
        assert time.monotonic() - begun < CONNECT_BOUND_SECONDS
        store.dispose()


@pytest.mark.parametrize(
    ("driver", "parameters", "expected"),
    [("pymysql", "", 2), ("psycopg", "", 2), ("psycopg", "tcp_user_timeout=7000", 7)],
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
    threading.Timer(0.5, database_host.stop_responding).start()
    begun = time.monotonic()
    with pytest.raises(exception.DatabaseUnavailable):
        store.write(sleep, backend, 60)
    assert time.monotonic() - begun < BOUND_SECONDS


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
    begun = time.monotonic()
    near_store.write(add, "one")
    assert time.monotonic() - begun < BOUND_SECONDS
