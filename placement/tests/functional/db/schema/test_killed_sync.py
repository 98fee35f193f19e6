"""``placement-manage db sync``, killed at each point of its run."""

import itertools
import multiprocessing
import os
import random
import signal
from collections import Counter

import pytest
import sqlalchemy as sa

from placement import db_api
from placement.cmd import manage
from placement.db import clocks, usage_counters
from placement.db.schema import migration, revisions
from placement.db.schema.migration import COMMON_HEAD
from placement.db.schema.revisions import SchemaTooOld
from placement.db.store import Store
from placement.engine.engine import Engine
from placement.tests.support.sql import (
    ADD_ALLOCATION,
    ADD_CONSUMER,
    ADD_INVENTORY,
    ADD_PROVIDER,
    NOW,
    SET_ROOT,
    execute,
)
from placement.tests.support.stores import replaced_store

pytestmark = pytest.mark.long

# How many of the points are tried: each n-th, from a random one on; `make stress` tries all.
# PostgreSQL and SQLite roll back DDL: the points of one transaction leave the same database. On
# MariaDB, each statement of DDL commits.
STEP = os.environ.get("KILLED_SYNC_STEP")
STEPS = {"sqlite": 24, "mariadb": 12, "postgresql": 24}
HOST = "00000000-0000-4000-8000-000000000001"
_WRITES = ("CREATE", "ALTER", "DROP", "INSERT", "UPDATE", "DELETE")


def kill_at(number):
    """Kill this process at the n-th point: before and after write statements, before commits."""
    points = itertools.count()

    def reach(*_):
        if next(points) == number:
            os.kill(os.getpid(), signal.SIGKILL)

    def on_statement(_connection, _cursor, statement, *_):
        if statement.lstrip().upper().startswith(_WRITES):
            reach()

    for event in ("before_cursor_execute", "after_cursor_execute"):
        sa.event.listen(sa.Engine, event, on_statement)
    sa.event.listen(sa.Engine, "commit", reach)


def run_sync(url, killed_at=None):
    """Run the command in another process; return its exit code, -9 if it was killed."""

    def work():
        os.environ["OS_PLACEMENT_DATABASE__CONNECTION"] = url
        if killed_at is not None:
            kill_at(killed_at)
        with open(os.devnull, "w") as nowhere:
            os.dup2(nowhere.fileno(), 2)
        os._exit(manage.main(["db", "sync"]))

    process = multiprocessing.get_context("fork").Process(target=work)
    process.start()
    process.join(120)
    return process.exitcode


def fill(store):
    """Create the database of an openstack-placement with one host that is full."""
    migration.upgrade(store, COMMON_HEAD)
    execute(store, ADD_PROVIDER, {"now": NOW, "id": 1, "uuid": HOST, "name": "h", "parent": None})
    execute(store, SET_ROOT, {"id": 1, "root": 1})
    execute(store, "INSERT INTO resource_classes (id, name) VALUES (1, 'MEMORY_MB')")
    execute(store, ADD_INVENTORY, {"now": NOW, "provider": 1, "class": 1, "total": 1024})
    for table in ("projects", "users"):
        execute(store, f"INSERT INTO {table} (external_id) VALUES ('somebody')")
    execute(store, "INSERT INTO consumer_types (name) VALUES ('INSTANCE')")
    allocated = {"now": NOW, "provider": 1, "class": 1, "consumer": "c", "used": 1536}
    execute(store, ADD_CONSUMER, {"now": NOW, "uuid": "c"})
    execute(store, ADD_ALLOCATION, allocated)


def leave_empty(_store):
    """Leave a database without tables."""


def clear(store):
    """Remove all tables; a dropped database would end the connections of the store."""
    with store.engines().writer.begin() as connection:
        tables = sa.MetaData()
        tables.reflect(connection)
        tables.drop_all(connection)
    store.dispose()


def check_serves(store, conf, *, is_filled):
    """Start the service in this process, and check the usage that it returns."""
    fresh = Store(store.settings)
    try:
        with replaced_store(fresh):
            db_api.store(conf)
        with fresh.read() as tx:
            assert usage_counters.differences(tx.connection) == []
            assert set(clocks.values(tx.connection)) == set(range(clocks.CLOCKS))
        if is_filled:
            assert Engine(fresh).current().state(HOST).used == {"MEMORY_MB": 1536}
    finally:
        fresh.dispose()


def outcome_of_start(store, conf, *, is_filled):
    """Return whether the service starts; it refuses with a sentence that names the remedy."""
    try:
        check_serves(store, conf, is_filled=is_filled)
    except SchemaTooOld as refusal:
        return "refused" if "placement-manage db sync" in str(refusal) else str(refusal)
    return "served"


@pytest.fixture
def serve_conf(conf, empty_database_url):
    conf.set_override("connection", empty_database_url, "placement_database")
    return conf


@pytest.mark.parametrize("prepare", [leave_empty, fill])
def test_killed_sync_is_completed_by_the_next(empty_store, serve_conf, backend, prepare):
    """In between, the service refuses to start or is exact; then it is complete."""
    store, url = empty_store, empty_store.settings.connection
    outcomes = []
    step = int(STEP or STEPS[backend])
    number = random.randrange(step)
    while True:
        prepare(store)
        store.dispose()
        code = run_sync(url, number)
        if code == 0:
            break
        assert code == -signal.SIGKILL
        outcomes.append(outcome_of_start(store, serve_conf, is_filled=prepare is fill))
        assert run_sync(url) == 0, number
        assert revisions.version(store) == migration.HEAD
        check_serves(store, serve_conf, is_filled=prepare is fill)
        clear(store)
        number += step
    assert "refused" in outcomes
    assert set(outcomes) <= {"refused", "served"}
    print(f"killed {len(outcomes)} times, {number} points; then starts were {Counter(outcomes)}")
