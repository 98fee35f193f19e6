"""The last message of a claim, which has the COMMIT, is lost: with each driver."""

import psycopg
import pymysql
import pytest
import sqlalchemy as sa

from placement import exception
from placement.db import errors
from placement.db.store import Store
from placement.tests.support import servers
from placement.tests.support.factories import (
    allocations_of,
    assert_sound,
    claim,
    generation,
    new_provider,
    uuid,
)
from placement.tests.support.proxy import Proxy


@pytest.fixture
def backend(driver):
    return servers.DRIVERS[driver]


@pytest.fixture
def proxy(server, backend):
    with Proxy(server(backend).port) as running:
        yield running


@pytest.fixture
def store(store_through_proxy):
    return store_through_proxy


@pytest.fixture
def checks(store, settings):
    """A store that does not use the proxy."""
    opened = Store(settings)
    yield opened
    opened.dispose()


@pytest.fixture
def disconnect(server, backend, database_url):
    """Return a function that ends all connections to the database."""
    return lambda: server(backend).disconnect(sa.make_url(database_url).database)


@pytest.fixture
def host(store):
    host = new_provider(store, VCPU=8)
    claim(store, uuid(), {host: {"VCPU": 1}})
    return host


def before_commit(store, do):
    """Call a function before the first COMMIT; return a list with one item for each."""
    calls = []

    def before(_connection):
        calls.append("COMMIT")
        if len(calls) == 1:
            do()

    sa.event.listen(store.engines().writer, "commit", before)
    return calls


def lose_claim(store, host, consumer):
    with pytest.raises(exception.CommitLost, match="committed or not"):
        claim(store, consumer, {host: {"VCPU": 2}}, generation=None)


def test_commit_that_the_server_executes_is_not_repeated(store, checks, host, proxy):
    consumer, before = uuid(), generation(checks, host)

    def lose():
        proxy.loses_responses = True

    calls = before_commit(store, lose)
    lose_claim(store, host, consumer)
    proxy.loses_responses = False
    assert len(calls) == 1
    assert allocations_of(checks, consumer) == {host: {"VCPU": 2}}
    assert generation(checks, host) == before + 1
    claim(store, uuid(), {host: {"VCPU": 1}}, generation=None)
    assert_sound(checks)


def test_commit_that_the_server_does_not_get_is_not_repeated(store, checks, host, disconnect):
    consumer, before = uuid(), generation(checks, host)
    calls = before_commit(store, disconnect)
    lose_claim(store, host, consumer)
    assert len(calls) == 1
    assert allocations_of(checks, consumer) == {}
    assert generation(checks, host) == before
    claim(store, consumer, {host: {"VCPU": 2}}, generation=None)
    assert allocations_of(checks, consumer) == {host: {"VCPU": 2}}
    assert_sound(checks)


def test_writes_before_the_commit_are_repeated(store, checks, host, disconnect):
    calls = []

    def disconnect_once(_connection, _cursor, statement, *_):
        if "UPDATE clocks" in statement:
            calls.append(statement)
            if len(calls) == 1:
                disconnect()

    sa.event.listen(store.engines().writer, "before_cursor_execute", disconnect_once)
    consumer = uuid()
    claim(store, consumer, {host: {"VCPU": 2}}, generation=None)
    assert len(calls) == 2
    assert allocations_of(checks, consumer) == {host: {"VCPU": 2}}


def test_socket_that_the_kernel_closed_ends_the_connection():
    """psycopg reports it with a text only."""
    assert errors.ends_connection(psycopg.OperationalError("connection socket closed"))
    assert not errors.ends_connection(psycopg.OperationalError("another reason"))
    assert not errors.ends_connection(psycopg.errors.LockNotAvailable("lock timeout"))


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (1317, exception.CommitLost),  # KILL QUERY
        (1927, exception.CommitLost),
        (1969, exception.CommitLost),  # max_statement_time
        (2013, exception.CommitLost),
        (1180, exception.CommitLost),
        (1213, errors.WriteConflict),
        (1062, errors.WriteConflict),
        (1205, errors.LockTimeout),
        (1290, errors.ServerReadOnly),
        (1114, exception.DatabaseUnavailable),
    ],
)
def test_errors_of_the_commit(number, expected):
    error = pymysql.OperationalError(number, "reported")
    is_broken = number in {1927, 2013}
    with pytest.raises(expected) as caught, errors.committing():
        raise sa.exc.OperationalError("COMMIT", (), error, connection_invalidated=is_broken)
    assert type(caught.value) is expected
