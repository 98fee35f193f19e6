"""Guarantees of transactions of the store, on each database."""

import os_resource_classes
import os_traits
import pytest
import sqlalchemy as sa

from placement import db_api, exception
from placement.db import tables
from placement.db.errors import LockTimeout, WriteConflict
from placement.db.schema import migration, revisions, seed
from placement.db.snapshot.load import SnapshotReader
from placement.db.tables import projects


def add(tx, name):
    tx.connection.execute(projects.insert(), {"external_id": name})


def names(store):
    with store.read() as tx:
        return set(tx.connection.execute(sa.select(projects.c.external_id)).scalars())


def test_write_is_committed_when_it_returns(store):
    store.write(add, "one")
    assert names(store) == {"one"}


def test_failed_write_is_rolled_back(store):
    def work(tx):
        add(tx, "one")
        raise exception.TraitNotFound("X")

    with pytest.raises(exception.TraitNotFound):
        store.write(work)
    assert names(store) == set()


def test_conflicting_write_is_retried(store):
    runs = []

    def work(tx):
        runs.append(1)
        add(tx, f"run {len(runs)}")
        if len(runs) < 3:
            raise WriteConflict

    store.write(work)
    assert names(store) == {"run 3"}


@pytest.mark.parametrize("defect", [TypeError("a defect"), sa.exc.InvalidRequestError("another")])
def test_an_error_of_a_single_statement_is_not_an_error_of_the_connection(store, defect):
    def work(_tx):
        raise defect

    with pytest.raises(type(defect)) as caught:
        store.read_once(work)
    assert caught.value is defect


def test_a_statement_that_the_database_refuses_is_not_repeated(store):
    runs = []

    def work(tx):
        runs.append(1)
        tx.connection.exec_driver_sql("SELECT no_such_function()")

    with pytest.raises(sa.exc.DBAPIError, match="no_such_function"):
        store.read_once(work)
    assert len(runs) == 1


@pytest.mark.parametrize(
    ("last", "reported"),
    [(LockTimeout, exception.DatabaseUnavailable), (WriteConflict, exception.Conflict)],
)
def test_the_last_of_many_conflicts_is_reported(store, last, reported):
    """Lock timeouts may be quick: a server may have a short limit, or refuse to wait at all."""
    others = {LockTimeout: WriteConflict, WriteConflict: LockTimeout}
    conflicts = iter([LockTimeout, others[last], others[last], last])  # the first one is free

    def work(_tx):
        raise next(conflicts)("the lock of a host")

    with pytest.raises(reported):
        store.writing_with(max_attempts=3).write(work)


# --- the database of the process ------------------------------------------------------------


@pytest.fixture
def manager(monkeypatch):
    store_manager = db_api.StoreManager()
    monkeypatch.setattr(db_api, "placement_context_manager", store_manager)
    return store_manager


def test_a_database_is_configured_once(conf, manager, caplog):
    db_api.configure(conf)
    first = manager.store(db_api.settings(conf))
    db_api.configure(conf)
    assert "already configured" in caplog.text
    assert manager.store(db_api.settings(conf)) is first


def test_store_is_prepared_once(conf, manager, empty_database_url):
    conf.set_override("connection", empty_database_url, "placement_database")
    with pytest.raises(revisions.SchemaTooOld):
        db_api.store(conf)
    conf.set_override("sync_on_startup", True, "placement_database")
    store = db_api.store(conf)
    assert revisions.version(store) == migration.HEAD
    store.write(lambda tx: tx.connection.execute(tables.traits.delete()))
    assert db_api.store(conf) is store
    with store.read() as tx:
        assert tx.connection.execute(sa.select(tables.traits)).all() == []
    store.dispose()


def test_the_standard_names_are_those_of_the_libraries(store):
    with store.read() as tx:
        names = SnapshotReader(tx.connection).names()
    assert set(names.traits.values()) == set(os_traits.get_traits())
    assert names.classes == dict(enumerate(os_resource_classes.STANDARDS))


def test_missing_standard_names_are_inserted(store):
    def lose(tx):
        for table, name in (
            (tables.traits, "STORAGE_DISK_SSD"),
            (tables.resource_classes, "VCPU"),
        ):
            tx.connection.execute(table.delete().where(table.c.name == name))

    store.write(lose)
    before = store.probe()
    seed.sync(store)
    assert store.probe() != before
    test_the_standard_names_are_those_of_the_libraries(store)
    before = store.probe()
    seed.sync(store)
    assert store.probe() == before


def test_nothing_is_written_if_no_name_is_missing(store, monkeypatch):
    seed.sync(store)

    def write(*_):
        raise AssertionError("A connection for writes was opened.")

    monkeypatch.setattr(store, "write", write)
    seed.sync(store)
