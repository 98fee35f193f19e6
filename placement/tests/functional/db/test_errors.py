"""Transactions with conflicts, broken connections and an unavailable database."""

import os
import sqlite3
import stat
import threading
import uuid
from contextlib import closing

import pymysql
import pytest
import sqlalchemy as sa

from placement import db_api, exception
from placement.db import store as store_module
from placement.db.connections import server_checks
from placement.db.errors import TablesMissing, WriteConflict
from placement.db.schema import migration, revisions, seed
from placement.db.settings import DatabaseSettings
from placement.db.store import Store
from placement.db.tables import projects, users
from placement.tests.support import servers


def add(tx, name):
    tx.connection.execute(projects.insert(), {"external_id": name})


def names(store):
    with store.read() as tx:
        return sorted(tx.connection.execute(sa.select(projects.c.external_id)).scalars())


@pytest.fixture
def cut(backend, server, database_url):
    """Return a function that terminates all connections to the test's database."""
    if backend == "sqlite":
        pytest.skip("there is no connection to lose")
    return lambda: server(backend).disconnect(sa.make_url(database_url).database)


# --- connections that break ---------------------------------------------------------------


def test_lock_timeout_of_a_new_connection_is_no_conflict(store, backend, monkeypatch):
    """Galera without quorum: error 1205 of a statement that sets the connection up."""
    if backend != "mariadb":
        pytest.skip("other databases have no locks there")
    attempts = []

    def set_up(_cursor, **_):
        attempts.append(1)
        raise pymysql.err.OperationalError(1205, "Lock wait timeout exceeded")

    monkeypatch.setattr(server_checks, "_set_up_mysql", set_up)
    for use in (lambda: store.write(add, "one"), store.probe, store.ping):
        store.dispose()
        attempts.clear()
        with pytest.raises(exception.DatabaseUnavailable) as caught:
            use()
        assert "Lock wait timeout" in caught.value.reason
        assert len(attempts) == 2


def test_broken_pooled_connections_are_replaced(store, cut):
    store.write(add, "one")
    assert names(store) == ["one"]
    cut()
    store.write(add, "two")
    cut()
    assert names(store) == ["one", "two"]
    cut()
    assert store.probe()


def test_write_is_retried_if_the_connection_breaks_before_the_commit(store, cut):
    runs = []

    def work(tx):
        runs.append(1)
        add(tx, "one")
        if len(runs) == 1:
            cut()
            add(tx, "two")

    store.write(work)
    assert len(runs) == 2
    assert names(store) == ["one"]


def test_broken_connection_at_the_commit_is_reported(store, cut):
    """Whether it was committed is unknown, so the write must not be retried."""
    runs = []

    def work(tx):
        runs.append(1)
        add(tx, "one")
        cut()

    with pytest.raises(
        exception.CommitLost,
        match=r"committed or not\. Check the resource, then retry\.",
    ):
        store.write(work)
    assert len(runs) == 1
    assert names(store) == []


def test_broken_connection_during_a_read_is_reported(store, cut):
    def read():
        with store.read() as tx:
            cut()
            tx.connection.execute(sa.select(projects)).all()

    with pytest.raises(exception.DatabaseUnavailable):
        read()
    assert names(store) == []


@pytest.mark.long
@pytest.mark.parametrize("kind", sorted(servers.KINDS))
def test_restarted_server_is_used_again(kind, monkeypatch):
    # an operation that repeats its attempts until this time does not end within the test
    monkeypatch.setattr(store_module, "RETRY_SECONDS", 3600)
    try:
        context = servers.private(kind)
        running = context.__enter__()
    except servers.Missing as missing:
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(str(missing))
    try:
        running.create("placement")
        settings = DatabaseSettings(connection=running.tcp_url("placement"), max_retries=0)
        store = Store(settings)
        migration.upgrade(store)
        seed.sync(store)
        store.write(add, "before")
        running.kill()
        for use in (lambda: store.write(add, "away"), store.probe, lambda: names(store)):
            with pytest.raises(exception.DatabaseUnavailable):
                use()
        running.start()
        store.write(add, "after")
        assert names(store) == ["after", "before"]
        store.dispose()
    finally:
        context.__exit__(None, None, None)


def test_missing_database_is_reported_as_unavailable(backend, server, conf):
    if backend == "sqlite":
        pytest.skip("a file is made")
    conf.set_override("connection", server(backend).url("unheard_of"), "placement_database")
    with pytest.raises(exception.DatabaseUnavailable) as caught:
        db_api.store(conf)
    assert "unheard_of" in caught.value.reason
    assert "unheard_of" not in str(caught.value)


@pytest.mark.parametrize("limit", ["max_queries_per_hour 40", "max_updates_per_hour 10"])
def test_account_at_its_limit_is_reported(store, backend, server, limit):
    """MariaDB refuses any statement then, also COMMIT and ROLLBACK."""
    if backend != "mariadb":
        pytest.skip("other databases have no limits of accounts for statements")
    execute, account = server(backend).execute, f"limited_{uuid.uuid4().hex[:8]}"
    url = sa.make_url(server(backend).tcp_url(store.settings.url.database)).set(username=account)
    execute(f"CREATE USER {account}@'127.0.0.1'")
    execute(f"GRANT ALL ON *.* TO {account}@'127.0.0.1' WITH {limit}")
    limited = Store(DatabaseSettings(connection=url.render_as_string(), max_retries=0))
    added = []

    def add_many():
        for number in range(100):
            limited.write(add, f"project {number:02}")
            added.append(f"project {number:02}")

    try:
        with pytest.raises(exception.DatabaseUnavailable) as caught:
            add_many()
        assert "exceeded" in caught.value.reason
        assert names(store) == added
        execute(f"GRANT ALL ON *.* TO {account}@'127.0.0.1' WITH {limit.split()[0]} 0")
        limited.dispose()
        limited.write(add, "recovered")
    finally:
        limited.dispose()
        execute(f"DROP USER {account}@'127.0.0.1'")


def test_statement_that_is_too_long_names_the_setting(store, backend):
    if backend != "mariadb":
        pytest.skip("other databases have no max_allowed_packet")
    refusal = "SIGNAL SQLSTATE '08S01' SET MYSQL_ERRNO = 1153, MESSAGE_TEXT = 'Got a packet'"
    with pytest.raises(exception.DatabaseUnavailable) as caught:
        store.write(lambda tx: tx.connection.exec_driver_sql(refusal))
    assert "set it to 16 MB or more" in caught.value.reason


# --- conflicts ----------------------------------------------------------------------------


def test_permanent_conflict_is_reported_after_all_attempts(store):
    runs = []

    def work(tx):
        runs.append(1)
        raise WriteConflict

    with pytest.raises(exception.Conflict):
        store.writing_with(max_attempts=5).write(work)
    assert len(runs) == 5


def test_write_is_retried_after_a_concurrent_insert(store):
    runs = []

    def work(tx):
        runs.append(1)
        if len(runs) == 1:  # the result of a check before the other insert
            add(tx, "one")
        return len(runs)

    store.write(add, "one")
    assert store.write(work) == 2


def test_deadlocked_transactions_are_retried(store, backend):
    """Provokes a deadlock; SQLite allows one writer at a time."""
    for table in (projects, users):
        store.write(
            lambda tx, table=table: tx.connection.execute(
                table.insert(), {"id": 1, "external_id": "0"}
            )
        )
    meet = threading.Barrier(2)
    runs = []

    def count_up(tx, table):
        query = sa.select(table.c.external_id).where(table.c.id == 1).with_for_update()
        number = int(tx.connection.scalar(query)) + 1
        tx.connection.execute(table.update().values(external_id=str(number)))

    def work(tx, first, second):
        runs.append(1)
        count_up(tx, first)
        if backend != "sqlite" and len(runs) <= 2:
            meet.wait(60)
        count_up(tx, second)

    threads = [
        threading.Thread(target=store.write, args=(work, *order))
        for order in ((projects, users), (users, projects))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with store.read() as tx:
        for table in (projects, users):
            assert tx.connection.scalar(sa.select(table.c.external_id)) == "2"
    assert backend == "sqlite" or len(runs) >= 3


def test_concurrent_writers_are_serialized(store):
    """Writers wait for each other without errors, also on SQLite."""
    threads = [
        threading.Thread(target=lambda n=n: [store.write(add, f"{n} {i}") for i in range(20)])
        for n in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(names(store)) == 160


def test_exhausted_pool_is_reported(settings, backend, monkeypatch):
    if backend == "sqlite":
        pytest.skip("this database has one pool; a request uses one connection of it")
    store = Store(
        DatabaseSettings(
            connection=settings.connection, max_pool_size=1, max_overflow=0, pool_timeout=1
        )
    )
    with store.read(), pytest.raises(exception.DatabaseUnavailable):
        store.probe()
    store.dispose()


# --- SQLite -------------------------------------------------------------------------------


@pytest.fixture
def sqlite_file(tmp_path):
    path = tmp_path / "placement.sqlite"
    store = Store(DatabaseSettings(connection=f"sqlite:///{path}"))
    migration.upgrade(store)
    yield store, path
    store.dispose()


def test_file_uses_write_ahead_logging(sqlite_file):
    store, _path = sqlite_file
    with store.read() as tx:
        assert tx.connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"


def test_new_file_may_be_opened_concurrently(tmp_path):
    """SQLite returns an error if two connections enable write-ahead logging concurrently."""
    path = tmp_path / "new.sqlite"
    store = Store(DatabaseSettings(connection=f"sqlite:///{path}"))
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        assert revisions.version(store) is None
        store.dispose()
        other.execute("ROLLBACK")
    with store.read() as tx:  # by the next connection
        assert tx.connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"
    store.dispose()


def test_readers_do_not_wait_for_a_writer(sqlite_file):
    store, _path = sqlite_file

    def work(tx):
        add(tx, "one")
        assert names(store) == []

    store.write(work)
    assert names(store) == ["one"]


@pytest.mark.skipif(not os.path.exists("/proc/self"), reason="needs Linux")
def test_read_only_file_is_reported(sqlite_file, monkeypatch):
    store, path = sqlite_file
    store.write(add, "one")
    store.dispose()
    other = Store(DatabaseSettings(connection=f"sqlite:///file:{path}?mode=ro&uri=true"))
    with pytest.raises(exception.DatabaseUnavailable) as caught:
        other.write(add, "two")
    assert "readonly" in caught.value.reason
    assert names(other) == ["one"]
    other.dispose()
    assert stat.S_ISREG(path.stat().st_mode)


def test_a_database_in_memory_is_shared_by_threads():
    store = Store(DatabaseSettings(connection="sqlite://"))
    migration.upgrade(store)
    seed.sync(store)
    test_concurrent_writers_are_serialized(store)
    store.dispose()  # keeps the database in memory, which would otherwise be lost
    assert len(names(store)) == 160
    store.engines().dispose()


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT id FROM absent",
        "SELECT absent FROM inventories",
        "INSERT INTO projects (absent) VALUES (1)",
        "UPDATE projects SET absent = 1",
    ],
)
def test_missing_tables_and_columns_are_unavailable(store, statement):
    """A backup of an older release was restored beside the process."""
    with pytest.raises(TablesMissing, match="please try again") as caught:
        store.write(lambda tx: tx.connection.exec_driver_sql(statement))
    assert "absent" in caught.value.reason
