"""The file of an SQLite database is replaced, or restored, while processes use it."""

import os
import sqlite3
from contextlib import closing

import pytest

from placement.db.connections import server_checks
from placement.engine.engine import Engine
from placement.tests.support.factories import claim, new_provider, uuid

pytestmark = pytest.mark.parametrize("backend", ["sqlite"])


@pytest.fixture
def path(database_url):
    return database_url.removeprefix("sqlite:///")


def copy(source, target):
    with closing(sqlite3.connect(source)) as of, closing(sqlite3.connect(target)) as to:
        of.backup(to)


def replace(backup, path):
    """Put another file in the place of the database."""
    os.replace(backup, path)
    for suffix in ("-wal", "-shm"):
        if os.path.exists(path + suffix):
            os.remove(path + suffix)


@pytest.mark.parametrize("restore", [replace, copy])
def test_restored_backup_is_detected(store, other_store, path, monkeypatch, restore):
    """The process keeps its connections, and the clocks reach the values that it has seen."""
    monkeypatch.setattr(server_checks, "INTERVAL_SECONDS", 0)
    host = new_provider(store, VCPU=8)
    engine = Engine(store)
    engine.current()
    backup = f"{path}.backup"
    copy(path, backup)
    claim(store, uuid(), {host: {"VCPU": 3}})
    assert engine.current().state(host).used == {"VCPU": 3}
    seen = store.probe()
    restore(backup, path)
    claim(other_store, uuid(), {host: {"VCPU": 5}})
    assert other_store.probe() == seen
    assert engine.current().state(host).used == {"VCPU": 5}
    claim(store, uuid(), {host: {"VCPU": 1}})
    assert engine.current().state(host).used == {"VCPU": 6}
