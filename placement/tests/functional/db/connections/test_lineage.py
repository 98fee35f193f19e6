"""Invalidation of the snapshot after failover, restore and switchover of the database."""

import logging
import os
import shutil
import subprocess
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
import sqlalchemy as sa

from placement import exception
from placement.core.model import UpdateProvider
from placement.db import suitability, tables
from placement.db.connections import server_checks
from placement.db.schema import migration, seed
from placement.db.settings import DatabaseSettings
from placement.db.store import Store
from placement.engine.engine import Engine
from placement.objects import provider
from placement.tests.functional.db.connections.splitting_proxy import SplittingProxy
from placement.tests.support import factories, servers
from placement.tests.support.factories import claim, new_provider, set_inventories, uuid
from placement.tests.support.proxy import Proxy
from placement.tests.support.snapshots import RecordingObserver
from placement.tests.support.waiting import wait_until

pytestmark = pytest.mark.long

HOST = "00000000-0000-4000-8000-000000000001"
NAME = "placement_lineage"


@pytest.fixture(params=sorted(servers.KINDS))
def kind(request):
    return request.param


@contextmanager
def opened(url):
    store = Store(DatabaseSettings(connection=url, max_retries=0))
    try:
        yield store
    finally:
        store.dispose()


@contextmanager
def primary(kind):
    """A server with a database that has one host."""
    with servers.private(kind, durable=False) as server:
        server.create(NAME)
        with opened(server.tcp_url(NAME)) as store:
            migration.upgrade(store)
            seed.sync(store)
            provider.create(store, HOST, "host", None)
            set_inventories(store, HOST, VCPU=8)
            yield server, store


def use_clocks_of(store, other):
    """Copy the clocks of another database, like replication."""
    with other.read() as tx:
        rows = tx.connection.execute(sa.select(tables.clocks)).all()

    def copy(tx):
        for row in rows:
            update = tables.clocks.update().where(tables.clocks.c.id == row.id)
            tx.connection.execute(update.values(value=row.value))

    store.write(copy)


def used(engine):
    return dict(engine.current().state(HOST).used)


@pytest.mark.parametrize("breaks", [True, False], ids=["connections break", "connections stay"])
def test_failover_with_lost_commits_is_detected(kind, breaks):
    """Another write advanced the clocks of the new primary to the values of the old one."""
    with primary(kind) as (old, old_store), primary(kind) as (new, new_store):
        use_clocks_of(new_store, old_store)
        with Proxy(old.port) as proxy, opened(old.tcp_url(NAME, port=proxy.port)) as store:
            engine = Engine(store)
            engine.current()
            claim(store, uuid(), {HOST: {"VCPU": 3}})
            assert used(engine) == {"VCPU": 3}
            claim(new_store, uuid(), {HOST: {"VCPU": 5}})
            assert new_store.probe() == old_store.probe()
            proxy.switch(new.port)
            if breaks:
                proxy.drop()
            else:
                store.engines().writer.dispose()
                provider.show(store, HOST)  # still served by the old primary
                claim(store, uuid(), {HOST: {"VCPU": 1}})
            assert used(engine) == {"VCPU": 5 if breaks else 6}


def dump_and_restore(server):
    """Return commands that back up a database, and that restore it with the server's own tools."""
    if server.name == "mariadb":
        options = ["--user=root", f"--socket={server.socket}", NAME]
        return [servers.find("mariadb-dump"), *options], [servers.find("mariadb"), *options]
    options = [f"--host={server.folder}", f"--port={server.port}", f"--username={servers.USER}"]
    dump = [*servers.PostgreSql._program("pg_dump")[-1:], *options, "--clean", NAME]
    return dump, [*servers.PostgreSql._program("psql")[-1:], *options, "-q", "-d", NAME]


def test_restored_backup_is_detected(kind, monkeypatch):
    """The process keeps its connections, and the clocks reach the values that it has seen."""
    monkeypatch.setattr(server_checks, "INTERVAL_SECONDS", 0)
    with primary(kind) as (server, store):
        dump, restore = dump_and_restore(server)
        backup = subprocess.run(dump, check=True, capture_output=True, env=os.environ).stdout
        engine = Engine(store)
        claim(store, uuid(), {HOST: {"VCPU": 3}})
        assert used(engine) == {"VCPU": 3}
        clocks = store.probe()
        time.sleep(1.1)  # MariaDB tells restored tables apart by a creation time in seconds
        subprocess.run(restore, check=True, input=backup, capture_output=True)
        with opened(server.tcp_url(NAME)) as other:
            claim(other, uuid(), {HOST: {"VCPU": 5}})
            assert other.probe() == clocks
        assert used(engine) == {"VCPU": 5}


def test_everything_is_loaded_once_after_a_restart_of_the_server():
    """A write notices the end of the lineage; the connection of the load begins another one."""
    with primary("postgresql") as (server, store):
        observer = RecordingObserver()
        engine = Engine(store, observer)
        engine.current()
        server.execute("CHECKPOINT")  # its commits are not durable
        server.kill()
        with pytest.raises(exception.DatabaseUnavailable):
            claim(store, uuid(), {HOST: {"VCPU": 1}})
        server.start()
        for _ in range(2):
            assert used(engine) == {}
        assert observer.reports == ["load", "discard", "load"]


def test_epochs_are_unique(store):
    """Backup, sync, restore of the backup, sync."""
    engine = Engine(store)
    before = store.probe()
    migration.sync(store)
    first = store.probe()[seed.clocks.EPOCH_CLOCK]
    engine.current()

    def restore(tx):
        for clock, value in before.items():
            update = tables.clocks.update().where(tables.clocks.c.id == clock)
            tx.connection.execute(update.values(value=value))

    store.write(restore)
    migration.sync(store)
    assert store.probe()[seed.clocks.EPOCH_CLOCK] not in {first, before[seed.clocks.EPOCH_CLOCK]}


# --- servers that are not the primary -----------------------------------------------------


def end_lineage_of_new_connections(store, times):
    """End the lineage as often, each time between a new connection and its first use."""
    pools, remaining = store.engines(), [None] * times

    def end(*_):
        if remaining:
            remaining.pop()
            pools.lineage.end()

    for engine in (pools.writer, pools.reader):
        sa.event.listen(engine, "connect", end)  # called after the listener that checks the server
    return remaining


@pytest.mark.parametrize("backend", ["mariadb", "postgresql"], indirect=True)
def test_a_lineage_that_ends_before_a_new_connection_is_used(store):
    """The new connection is replaced, and the next one too; then the statement is retried."""
    provider.create(store, HOST, "host", None)
    store.dispose()
    remaining = end_lineage_of_new_connections(store, 4)
    provider.update(store, UpdateProvider(HOST, "renamed", None, has_parent=False, may_move=True))
    assert Engine(store).current().state(HOST).provider.name == "renamed"
    assert remaining == []


@pytest.mark.parametrize("backend", ["mariadb", "postgresql"], indirect=True)
def test_lineages_that_end_again_and_again_make_the_database_unavailable(store):
    provider.create(store, HOST, "host", None)
    store.dispose()
    end_lineage_of_new_connections(store, 100)
    for use in (
        lambda: provider.show(store, HOST),
        lambda: provider.update(
            store, UpdateProvider(HOST, "renamed", None, has_parent=False, may_move=True)
        ),
        Engine(store).current,
    ):
        with pytest.raises(exception.DatabaseUnavailable) as unavailable:
            use()
        assert "earlier lineage" in unavailable.value.reason


def set_read_only(old, _store=None):
    """Demote a primary; on PostgreSQL it is no standby, and open sessions get the setting."""
    if old.name == "mariadb":
        old.execute("SET GLOBAL read_only = 1")
    else:
        old.execute("ALTER SYSTEM SET default_transaction_read_only = on")
        old.execute("SELECT pg_reload_conf()")


@pytest.mark.parametrize("reads", ["snapshot", "database"])
def test_demoted_primary_is_detected(kind, monkeypatch, reads):
    """Its connections stay open after the switchover; writes fail there, and reads are old.

    The probe of the clocks detects it at once, other reads within a second.
    """
    with (
        primary(kind) as (old, _),
        primary(kind) as (new, new_store),
        Proxy(old.port) as proxy,
        opened(old.tcp_url(NAME, port=proxy.port)) as store,
    ):
        engine = Engine(store)
        assert used(engine) == {}
        claim(store, uuid(), {HOST: {"VCPU": 1}})
        set_read_only(old)
        proxy.switch(new.port)
        claim(new_store, uuid(), {HOST: {"VCPU": 5}})
        if reads == "snapshot":
            monkeypatch.setattr(server_checks, "INTERVAL_SECONDS", 3600)
            wait_until(lambda: are_read_only(store), pause_seconds=0.01)
            assert used(engine) == {"VCPU": 5}
        else:
            wait_until(lambda: factories.used(store, HOST) == {"VCPU": 5}, pause_seconds=0.1)
        claim(store, uuid(), {HOST: {"VCPU": 1}})
        assert used(engine) == {"VCPU": 6}


def are_read_only(store):
    """Return whether the open sessions of PostgreSQL have the setting of a demoted primary.

    Each gets it at a moment of its own. The sessions must not be checked at their next use.
    """
    if store.settings.backend == "mysql":
        return True
    settings = []
    for pool in (store.engines().reader, store.engines().writer):
        with pool.connect() as connection:
            shown = connection.exec_driver_sql("SHOW default_transaction_read_only")
            settings.append(shown.scalar_one())
    return settings == ["on", "on"]


@pytest.mark.parametrize("kind", ["postgresql"])
def test_a_demoted_primary_does_not_accept_writes(kind, monkeypatch):
    """No setting of the session overrides the one of the server."""
    monkeypatch.setattr(server_checks, "INTERVAL_SECONDS", 3600)
    with primary(kind) as (old, store):
        set_read_only(old)
        wait_until(lambda: are_read_only(store), pause_seconds=0.01)
        with pytest.raises(exception.DatabaseUnavailable):
            claim(store, uuid(), {HOST: {"VCPU": 1}})
        rows = old.execute("SELECT count(*) FROM allocations", NAME)
    assert rows == [(0,)]


def signal_error(number):
    """Return a function that makes a MariaDB server refuse claims with this error."""

    def refuse(old, _store):
        old.execute(
            "CREATE TRIGGER refuse BEFORE INSERT ON consumers FOR EACH ROW"
            f" SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = {number}, MESSAGE_TEXT = 'read only'",
            NAME,
        )

    return refuse


def restart_in_recovery_mode(old, store):
    old.stop()
    old.settings = ("--innodb-force-recovery=5",)
    old.start()
    store.probe()
    store.write(lambda tx: tx.connection.exec_driver_sql("SELECT 1"))


def set_sessions_read_only(_old, store):
    """Change open sessions, as a demotion does."""
    with store.engines().writer.connect() as connection:
        connection.exec_driver_sql("SET default_transaction_read_only = on")
        connection.commit()


REFUSALS = {
    "1290": ("mariadb", set_read_only),
    "1836": ("mariadb", restart_in_recovery_mode),
    "1036": ("mariadb", signal_error(1036)),
    "1792": ("mariadb", signal_error(1792)),
    "25006": ("postgresql", set_sessions_read_only),
}


@pytest.mark.parametrize("error", sorted(REFUSALS))
def test_a_write_that_a_read_only_server_refuses_is_run_on_the_new_primary(error, monkeypatch):
    """The connections of both pools are replaced, before their next periodic check."""
    monkeypatch.setattr(server_checks, "INTERVAL_SECONDS", 3600)
    kind, refuse = REFUSALS[error]
    with primary(kind) as (old, _), primary(kind) as (new, new_store):
        url = old.tcp_url(NAME) if kind == "postgresql" else as_common_user(old, new)
        with Proxy(old.port) as proxy:
            through = sa.make_url(url).set(port=proxy.port).render_as_string(hide_password=False)
            with opened(through) as store:
                for port in (new.port, old.port):  # both have been the primary before
                    proxy.switch(port)
                    store.dispose()
                    store.probe()
                claim(store, uuid(), {HOST: {"VCPU": 1}})
                engine = Engine(store)
                assert used(engine) == factories.used(store, HOST) == {"VCPU": 1}
                refuse(old, store)
                proxy.switch(new.port)
                claim(store, uuid(), {HOST: {"VCPU": 5}})
                assert used(engine) == factories.used(store, HOST) == {"VCPU": 5}
        assert used(Engine(new_store)) == {"VCPU": 5}


def as_common_user(*all_servers):
    """Return a URL without the privilege to write to a read-only server, which root has."""
    for server in all_servers:
        server.execute("CREATE USER common@'127.0.0.1'")
        server.execute(f"GRANT SELECT, INSERT, UPDATE, DELETE ON {NAME}.* TO common@'127.0.0.1'")
    return f"mysql+pymysql://common@127.0.0.1:1/{NAME}"


@pytest.mark.parametrize("driver", ["pymysql", "mysqldb"])
@pytest.mark.parametrize("option", ["--read-only", "--innodb-read-only"])
def test_a_server_that_is_read_only_from_the_start_is_reported(driver, option, caplog):
    """The error is reported once, without a traceback of the pool in the log."""
    pytest.importorskip({"mysqldb": "MySQLdb"}.get(driver, driver))
    with primary("mariadb") as (server, _):
        server.stop()
        server.settings = (option,)
        server.start()
        with opened(server.tcp_url(NAME, driver)) as store:
            with pytest.raises(exception.DatabaseUnavailable) as caught:
                store.probe()
            assert f":{server.port} (server_id 1) is read-only" in caught.value.reason
    warnings = [record for record in caplog.records if record.levelno >= logging.WARNING]
    assert [record.getMessage() for record in warnings] == []


@pytest.fixture(scope="module")
def postgresql_pair():
    """A primary and its streaming standby."""
    with primary("postgresql") as (first, store), standby_of(first) as second:
        yield first, second, store


@contextmanager
def standby_of(first):
    folder = Path(tempfile.mkdtemp(prefix="placement-standby-"))
    second = servers.PostgreSql(folder)
    if os.getuid() == 0:
        shutil.chown(folder, "postgres", "postgres")
    # without a fast checkpoint the copy begins minutes later, once a checkpoint has been spread
    options = ["-R", "-X", "stream", "--checkpoint=fast"]
    copy = [*second._program("pg_basebackup"), "-D", str(folder / "data"), *options]
    place = ["-h", str(first.folder), "-p", str(first.port), "-U", servers.USER]
    servers.run([*copy, *place], folder)
    second.start()
    try:
        yield second
    finally:
        second.stop()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.xdist_group("standby")
@pytest.mark.parametrize("driver", ["psycopg", "psycopg2"])
def test_standby_is_not_used_for_reads(postgresql_pair, driver):
    first, second, _ = postgresql_pair
    with (
        opened(second.tcp_url(NAME, driver)) as store,
        pytest.raises(exception.DatabaseUnavailable),
    ):
        store.probe()
    both = f"host=127.0.0.1:{second.port}&host=127.0.0.1:{first.port}"
    for attributes in ("any", "standby"):
        chosen = f"{both}&target_session_attrs={attributes}"
        with (
            opened(f"postgresql+{driver}://{servers.USER}@/{NAME}?{chosen}") as store,
            pytest.raises(exception.DatabaseUnavailable) as caught,
        ):
            store.probe()
        assert "is a standby" in caught.value.reason
    with opened(f"postgresql+{driver}://{servers.USER}@/{NAME}?{both}") as store:
        for _ in range(5):
            assert provider.show(store, HOST).name == "host"
            store.dispose()
        new_provider(store)


@pytest.fixture
def split(monkeypatch):
    """A primary, a replica without its last commits, and a store that reaches them by a proxy."""
    monkeypatch.setattr(server_checks, "INTERVAL_SECONDS", 3600)
    with (
        primary("mariadb") as (first, first_store),
        primary("mariadb") as (replica, replica_store),
        SplittingProxy(first.port, replica.port) as proxy,
        opened(first.tcp_url(NAME, port=proxy.port)) as store,
    ):
        use_clocks_of(replica_store, first_store)
        yield first, replica, proxy, store


def test_a_proxy_that_routes_reads_to_a_replica_is_refused_at_start(split):
    _first, _replica, proxy, store = split
    with pytest.raises(suitability.UnsuitableServer, match="several servers"):
        suitability.check(store)
    assert proxy.replica_reads > 0


@pytest.mark.parametrize("is_read_only", [True, False], ids=["read-only", "writable"])
def test_a_proxy_that_begins_to_route_reads_to_a_replica_is_detected(split, is_read_only):
    """No read of the replica is used: its data is old."""
    first, replica, proxy, store = split
    proxy.is_splitting = False
    engine = Engine(store)
    assert used(engine) == {}
    with opened(first.tcp_url(NAME)) as direct:
        claim(direct, uuid(), {HOST: {"VCPU": 5}})
    replica.execute(f"SET GLOBAL read_only = {is_read_only:d}")
    proxy.is_splitting = True
    with pytest.raises(exception.DatabaseUnavailable):
        engine.current()
    assert proxy.replica_reads > 0
    proxy.is_splitting = False
    assert used(engine) == {"VCPU": 5}


def test_a_proxy_that_begins_to_split_is_detected_by_reads_of_one_statement(split, monkeypatch):
    """When the connection is checked again, after a second: without a search for candidates."""
    _first, _replica, proxy, store = split
    proxy.is_splitting = False
    assert provider.show(store, HOST).name == "host"
    proxy.is_splitting = True
    monkeypatch.setattr(server_checks, "INTERVAL_SECONDS", 0)
    with pytest.raises(exception.DatabaseUnavailable):
        provider.show(store, HOST)
    assert proxy.replica_reads > 0
