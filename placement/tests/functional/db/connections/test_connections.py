"""Network round trips of transactions, with each driver."""

import socket
import threading
from contextlib import suppress

import pymysql
import pytest

from placement import exception
from placement.db.claims.consumers import consumer_lock, deletion_if_unchanged
from placement.db.connections import server_checks
from placement.db.settings import DatabaseSettings
from placement.db.store import Store
from placement.objects import aggregate, allocation, inventory, provider, trait, usage
from placement.tests.support import servers
from placement.tests.support.factories import claim, new_provider, used, uuid


class CountingProxy:
    """A TCP proxy that counts the round trips of its client: messages that follow a response."""

    def __init__(self, port):
        self._target = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._open = []
        self.port = self._listener.getsockname()[1]
        self.count = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                near, _address = self._listener.accept()
            except OSError:
                return
            far = socket.create_connection(("127.0.0.1", self._target))
            self._open += [near, far]
            for end in (near, far):
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            is_requested = threading.Event()
            for ends in ((near, far, is_requested, True), (far, near, is_requested, False)):
                threading.Thread(target=self._pass_on, args=ends, daemon=True).start()

    def _pass_on(self, source, sink, is_requested, is_client):
        with suppress(OSError):
            while data := source.recv(65536):
                if not is_client:
                    is_requested.clear()
                elif not is_requested.is_set():
                    is_requested.set()
                    self.count += 1
                sink.sendall(data)

    def close(self):
        for each in (self._listener, *self._open):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()


@pytest.fixture
def backend(driver):
    return servers.DRIVERS[driver]


@pytest.fixture
def proxy(server, backend):
    counting_proxy = CountingProxy(server(backend).port)
    yield counting_proxy
    counting_proxy.close()


@pytest.fixture
def store(store_through_proxy, monkeypatch):
    """A store whose open connections are not checked: a busy machine takes seconds for a test."""
    monkeypatch.setattr(server_checks, "INTERVAL_SECONDS", 3600)
    return store_through_proxy


def trips(proxy, work) -> int:
    """Return the round trips of an operation with an open connection and filled caches."""
    for _ in range(3):
        work()
    before = proxy.count
    for _ in range(10):
        work()
    return round((proxy.count - before) / 10)


def test_reads_and_writes_with_each_driver(store):
    host = new_provider(store, "größe", VCPU=4)
    claim(store, uuid(), {host: {"VCPU": 3}})
    assert used(store, host) == {"VCPU": 3}
    assert provider.show(store, host).name == "größe"


def test_a_message_counts_the_rows_of_its_last_write(store):
    """A release that deletes no consumer starts again."""
    consumer = uuid()
    claim(store, consumer, {new_provider(store, VCPU=4): {"VCPU": 3}})

    def deleted(tx):
        (held,) = tx.consumers.held(consumer)
        lock = consumer_lock(held.uuid)
        return [
            tx.execute_all([*lock, *deletion_if_unchanged(held.id, generation)])
            for generation in (held.generation + 1, held.generation)
        ]

    assert store.write(deleted) == [0, 1]


def test_the_probe_is_one_round_trip(store, proxy):
    assert trips(proxy, store.probe) == 1


def test_a_read_of_the_api_is_one_round_trip(store, proxy):
    host = new_provider(store, VCPU=4)
    reads = {
        "provider": lambda: provider.show(store, host),
        "inventories": lambda: inventory.list_of(store, host),
        "inventory": lambda: inventory.show(store, host, "VCPU"),
        "usages": lambda: usage.of_provider(store, host),
        "aggregates": lambda: aggregate.of_provider(store, host),
        "traits": lambda: trait.of_provider(store, host),
        "allocations of a provider": lambda: allocation.of_provider(store, host),
        "allocations of a consumer": lambda: allocation.of_consumer(store, uuid()),
        "usages of a project": lambda: usage.of_project(store, "p", "u"),
        "usages by type": lambda: usage.of_project_by_type(store, "p", None, None),
    }
    assert {name: trips(proxy, read) for name, read in reads.items()} == dict.fromkeys(reads, 1)


def test_read_adds_round_trips_for_begin_and_end(store, proxy):
    def work():
        with store.read() as tx:
            tx.connection.exec_driver_sql("SELECT 1").all()

    assert trips(proxy, work) == 3


def test_write_adds_round_trips_for_commit_and_begin_on_postgresql(store, proxy, backend):
    def work(tx):
        tx.connection.exec_driver_sql("SELECT 1").all()

    assert trips(proxy, lambda: store.write(work)) == (3 if backend == "postgresql" else 2)


# begin (PostgreSQL), the names, the lock of the provider, its inventories, all writes, and the
# commit
CLAIM_TRIPS = {"pymysql": 5, "mysqldb": 5, "psycopg": 6, "psycopg2": 6}


def test_writes_of_a_claim_are_one_round_trip(store, proxy, driver):
    host = new_provider(store, VCPU=100, MEMORY_MB=100)

    def work():
        claim(store, uuid(), {host: {"VCPU": 1, "MEMORY_MB": 2}}, generation=None)

    assert trips(proxy, work) == CLAIM_TRIPS[driver]
    assert used(store, host) == {"VCPU": 13, "MEMORY_MB": 26}


@pytest.mark.parametrize("kind", ["mariadb", pytest.param("postgresql", marks=pytest.mark.long)])
def test_isolation_levels_of_reads_and_writes(kind, server, kept_databases):
    store = Store(DatabaseSettings(connection=kept_databases(kind)))
    question = {
        "mariadb": "SELECT @@SESSION.tx_isolation",
        "postgresql": "SHOW transaction_isolation",
    }[kind]
    with store.read() as tx:
        reading = tx.connection.exec_driver_sql(question).scalar()
    writing = store.write(lambda tx: tx.connection.exec_driver_sql(question).scalar())
    store.dispose()
    assert reading.replace("-", " ").lower() == "repeatable read"
    assert writing.replace("-", " ").lower() == "read committed"


@pytest.mark.parametrize(
    ("parameters", "offers_tls"),
    [("unix_socket=/socket", False), ("unix_socket=/socket&ssl_ca=/ca.pem", True), ("", True)],
)
def test_tls_is_not_offered_on_a_unix_socket(monkeypatch, parameters, offers_tls):
    """Encryption costs time, and nobody reads a Unix socket."""
    arguments = {}

    def connect(**passed):
        arguments.update(passed)
        raise pymysql.OperationalError(2003, "refused")

    monkeypatch.setattr(pymysql, "connect", connect)
    url = f"mysql+pymysql://root@localhost/placement?{parameters}"
    store = Store(DatabaseSettings(connection=url, max_retries=0))
    with pytest.raises(exception.DatabaseUnavailable), store.read():
        pass
    store.dispose()
    assert arguments["charset"] == "utf8"
    assert ("ssl_disabled" not in arguments) == offers_tls
