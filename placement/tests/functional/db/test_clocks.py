"""Clocks: writes advance them, and reads find changes with them."""

import itertools
import threading
from datetime import timedelta

import pytest
import sqlalchemy as sa

from placement.db import clocks
from placement.db.schema import migration, seed
from placement.db.snapshot import changes as snapshot_changes
from placement.db.snapshot.load import SnapshotReader
from placement.db.tables import removed_providers, resource_providers
from placement.engine.engine import Engine
from placement.tests.support.sql import execute


@pytest.fixture
def providers(store):
    """Return the ids of providers 1 to 70."""
    ids = list(range(1, 71))

    def work(tx):
        rows = [
            {"id": id_, "uuid": f"u{id_}", "name": f"n{id_}", "root_provider_id": None}
            for id_ in ids
        ]
        tx.connection.execute(resource_providers.insert(), rows)
        tx.connection.execute(sa.text("UPDATE resource_providers SET root_provider_id = id"))

    store.write(work)
    return ids


def readings(store):
    with store.read() as tx:
        return clocks.values(tx.connection)


def publish(store, *arguments, **named):
    before = readings(store)
    store.write(lambda tx: tx.publish(*arguments, **named))
    after = readings(store)
    return {clock for clock in after if after[clock] != before[clock]}


def row(store, id_):
    with store.read() as tx:
        query = sa.select(resource_providers).where(resource_providers.c.id == id_)
        return tx.connection.execute(query).one()


def changes(store, clocks_before):
    with store.read() as tx:
        now = clocks.values(tx.connection)
        provider_changes = snapshot_changes.read(tx.connection, clocks_before, now)
        states = provider_changes.states(SnapshotReader(tx.connection).names())
    return {state.provider.id for state in states}, set(provider_changes.removed)


def test_new_database_has_clocks(store):
    assert readings(store).keys() == set(range(clocks.CLOCKS))


def test_a_change_advances_the_clocks_of_its_providers_alone(store, providers):
    assert publish(store, [1, 33, 2]) == {1, 2}
    assert publish(store, removed={64: "u64"}) == {0}
    assert publish(store, names=True) == {clocks.NAMES_CLOCK}
    assert publish(store) == set()


def test_a_changed_provider_has_the_value_of_its_clock(store, providers):
    publish(store, [5], generation_bumped=[37])
    now = readings(store)[5]
    assert row(store, 5).stamp == row(store, 37).stamp == now


def test_generation_changes_only_for_increased_providers(store, providers):
    publish(store, [5, 6], generation_bumped=[6])
    assert (row(store, 5).generation, row(store, 5).updated_at) == (0, None)
    assert row(store, 6).generation == 1
    assert row(store, 6).updated_at is not None


def test_only_generations_of_the_last_moments_have_just_changed(store, providers):
    """A write that waits for a lock has its turn if another one has just been committed."""
    publish(store, [5], generation_bumped=[6, 7])
    long_ago = clocks.utcnow() - timedelta(minutes=1)
    old = resource_providers.update().where(resource_providers.c.id == 7)
    store.write(lambda tx: tx.connection.execute(old.values(updated_at=long_ago)))
    with store.read() as tx:
        assert tx.providers.just_changed([4, 5, 6, 7]).keys() <= {6}  # a test may be stopped
        assert tx.providers.just_changed([7]) == {}


def test_probe_detects_each_change(store, providers):
    probes = [store.probe()]
    for change in (
        {"changed": [1]},
        {"generation_bumped": [2]},
        {"removed": {3: "u3"}},
        {"names": True},
    ):
        publish(store, **change)
        probes.append(store.probe())
    assert all(
        before.items() != now.items() and all(now[clock] >= before[clock] for clock in now)
        for before, now in itertools.pairwise(probes)
    )


def test_changes_are_found_by_the_clocks_that_were_seen(store, providers):
    start = readings(store)
    assert changes(store, start) == (set(), set())
    publish(store, [1, 2])
    middle = readings(store)
    publish(store, [33], removed={70: "u70"})
    assert changes(store, start) == ({1, 2, 33}, {70})
    assert changes(store, middle) == ({33}, {70})


def test_provider_id_may_be_removed_more_than_once(store, providers):
    """SQLite reuses the id of a removed provider."""
    publish(store, removed={70: "u70"})
    publish(store, removed={70: "u70"})
    assert len(records_of_removals(store)) == 2


def test_db_sync_deletes_the_records_of_removals(store, providers):
    publish(store, removed={64: "u64", 70: "u70"})
    migration.sync(store)
    assert records_of_removals(store) == []


def records_of_removals(store):
    with store.read() as tx:
        return tx.connection.execute(sa.select(removed_providers)).all()


def test_more_providers_than_fit_into_a_statement(store):
    def add(tx):
        rows = [{"id": id_, "uuid": f"u{id_}", "name": f"n{id_}"} for id_ in range(1, 2501)]
        tx.connection.execute(resource_providers.insert(), rows)
        tx.connection.execute(sa.text("UPDATE resource_providers SET root_provider_id = id"))

    store.write(add)
    clocks_before = readings(store)
    publish(store, range(1, 2501))
    assert len(changes(store, clocks_before)[0]) == 2500


def test_concurrent_writers_of_many_providers_advance_all_clocks(store, providers):
    before = readings(store)
    threads = [
        threading.Thread(
            target=lambda order=order: [
                store.write(lambda tx: tx.publish(names=True, removed=dict.fromkeys(order, "u")))
                for _ in range(10)
            ]
        )
        for order in ([1, 2, 3, 4], [4, 3, 2, 1], [2, 4, 1, 3], [3, 1, 4, 2])
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    after = readings(store)
    assert {after[clock] - before[clock] for clock in (1, 2, 3, 4, clocks.NAMES_CLOCK)} == {40}


def test_several_clocks_are_locked_in_the_order_of_their_ids():
    lock, _advance = clocks.advances([3, 1])
    assert str(lock.statement).endswith("ORDER BY clocks.id FOR UPDATE")


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
def test_running_processes_see_the_names_of_db_sync(store):
    name = "HW_CPU_X86_AVX2"
    execute(store, f"DELETE FROM traits WHERE name = '{name}'")
    engine = Engine(store)
    assert name not in engine.current().trait_names
    seed.sync(store)
    assert name in engine.current().trait_names
