"""Clocks whose old versions PostgreSQL cannot remove, because a transaction is open."""

import json
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest
import sqlalchemy as sa

from placement.db import clocks
from placement.db.connections import server_checks
from placement.db.schema import migration
from placement.engine.engine import Engine
from placement.tests.functional.db.factories import claim, new_provider, uuid
from placement.tests.functional.db.sql import execute, scalar

_ADD_VERSIONS = """DO $$ BEGIN FOR i IN 1..2000 LOOP
    UPDATE clocks SET value = value + 1 WHERE id < 32; COMMIT; END LOOP; END $$"""


@pytest.fixture
def store_with_versions(store, other_store, monkeypatch):
    """A store whose clocks have many versions, while a transaction is open."""
    if store.settings.backend != "postgresql":
        pytest.skip("PostgreSQL alone keeps old versions in the table")
    monkeypatch.setattr(server_checks, "INTERVAL_SECONDS", 0)
    with other_store.read() as tx:
        tx.snapshot.clocks()
        with store.engines().reader.connect() as connection:
            connection.exec_driver_sql(_ADD_VERSIONS)
        yield store


@contextmanager
def statements_sent(store):
    """The statements on the clocks, with their parameters."""
    sent = []

    def note(_connection, _cursor, statement, parameters, context, _many):
        if context.execution_options.get("no_parameters"):
            statement = statement.replace("%", "%%")  # a batch
        sent.extend((each, parameters) for each in statement.split("; ") if "clocks" in each)

    engines = {store.engines().reader, store.engines().writer}
    for engine in engines:
        sa.event.listen(engine, "before_cursor_execute", note)
    yield sent
    for engine in engines:
        sa.event.remove(engine, "before_cursor_execute", note)


def pages_read(store, statement, parameters):
    """Return the number of pages that a statement reads."""
    with store.engines().writer.connect() as connection:
        explain = f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {statement}"
        plan = connection.exec_driver_sql(explain, parameters).scalar_one()
        connection.rollback()
    (plan,) = json.loads(plan) if isinstance(plan, str) else plan
    return plan["Plan"]["Shared Hit Blocks"] + plan["Plan"]["Shared Read Blocks"]


def test_few_pages_are_read(store_with_versions):
    """A scan reads all pages, whose number grows with each write."""
    store = store_with_versions
    assert scalar(store, "SELECT pg_relation_size('clocks') / 8192") > 300
    host = new_provider(store, VCPU=8)
    engine = Engine(store)
    engine.current()
    with statements_sent(store) as sent:
        claim(store, uuid(), {host: {"VCPU": 1}})
        assert engine.current().state(host).used == {"VCPU": 1}
    assert len(sent) == 4  # advance, stamp, probe, changes
    for statement, parameters in sent:
        # a few for each of 34 clocks
        assert pages_read(store, statement, parameters) < 200, statement


def test_reads_are_exact(store_with_versions):
    """Several clocks advance in each transaction, and transactions run at once."""
    store = store_with_versions
    hosts = [new_provider(store, VCPU=1000) for _ in range(4)]
    engine = Engine(store)

    def work():
        for _ in range(10):
            claim(store, uuid(), {host: {"VCPU": 1} for host in hosts})

    before = dict.fromkeys(hosts, 0)
    with ThreadPoolExecutor(4) as pool:
        running = [pool.submit(work) for _ in range(4)]
        while not all(each.done() for each in running):
            snapshot = engine.current()
            now = {host: snapshot.state(host).used.get("VCPU", 0) for host in hosts}
            assert len(set(now.values())) == 1
            assert now[hosts[0]] >= before[hosts[0]]
            before = now
    for each in running:
        each.result()
    assert {engine.current().state(host).used["VCPU"] for host in hosts} == {40}
    with store.read() as tx:
        scanned = tx.connection.execute(sa.text("SELECT id, value FROM clocks")).all()
    assert store.probe() == dict(map(tuple, scanned))


def test_a_table_without_eras_is_upgraded(empty_store):
    """The values of the clocks stay."""
    if empty_store.settings.backend != "postgresql":
        pytest.skip("other databases have no eras")
    migration.upgrade(empty_store, "c0de5a1d7e05")
    execute(empty_store, "UPDATE clocks SET value = value + 1000 WHERE id = 5")
    before = empty_store.probe()
    migration.upgrade(empty_store)
    assert empty_store.probe() == before
    eras = "SELECT COUNT(*) FROM clocks WHERE era = value >> 6"
    assert scalar(empty_store, eras) == clocks.CLOCKS
