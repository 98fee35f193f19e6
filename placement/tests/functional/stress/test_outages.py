"""Faults under load: no acknowledged write is lost, none is applied in part.

While the database is unavailable the service responds 503 with Retry-After. It serves again
within seconds after the database returns, without a restart.
"""

import os
import random
import re
import subprocess
import tempfile
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
import sqlalchemy as sa

from placement import exception
from placement.db.schema import migration, seed
from placement.db.settings import DatabaseSettings
from placement.db.store import Store
from placement.db.tables import resource_providers
from placement.engine.engine import load
from placement.tests.functional.stress.abandoned import ends_of_transactions
from placement.tests.functional.stress.api import Api, Client
from placement.tests.functional.stress.workload import (
    SECONDS,
    assert_consistent,
    new_shared_state,
    report,
    running_clients,
    wait_until_served,
)
from placement.tests.support import servers
from placement.tests.support.factories import new_provider, uuid
from placement.tests.support.proxy import Proxy
from placement.tests.support.unreachable_host import PORT, unreachable_host
from placement.tests.support.waiting import wait_until

CLIENTS = 6
IS_LONG = SECONDS >= 30
# in the short form, a hundred operations a second suffice
PAUSE_SECONDS = 0 if IS_LONG else 0.05
WORKERS = 2
PART = SECONDS / 3
ROUNDS = max(1, round(SECONDS / 10))
KILLS_AT_LEAST = 2
SECONDS_UNRESPONSIVE = 60
# A refused claim is recorded after its response: names are read over an open connection and a
# new one, then a row is written over a new one. The next request on the connection waits for both.
SECONDS_UNTIL_TIMEOUT = 30 + 10 + 10
SECONDS_UNTIL_FAULT = 60
AGGREGATES = 2000
PROVIDERS = 20_000
SPACE_USED = (64 << 20) - (300 << 10)  # of 64 MiB: the load writes more than the rest

pytestmark = [pytest.mark.long, pytest.mark.timeout(SECONDS * 4 + 240)]


@pytest.fixture(params=sorted(servers.KINDS))
def db(request):
    """A durable server for one test, which may kill it."""
    with private(request.param) as server:
        yield server


@pytest.fixture(params=sorted(servers.KINDS))
def backend(request):
    return request.param


@pytest.fixture
def shared_db(server, backend, database_url):
    """The server that all tests share, and the name of a database, for faults of other parts."""
    return server(backend), sa.make_url(database_url).database


@contextmanager
def private(kind):
    with ExitStack() as stack:
        try:
            server = stack.enter_context(servers.private(kind))
        except servers.Missing as missing:
            if os.environ.get("CI") == "true":
                raise
            pytest.skip(str(missing))
        server.create("placement")
        yield server


@contextmanager
def under_load(name, folder, url, url_of_checks=None, *, workers_are_killed=False):
    """Clients at work on a service; at the end, all that was acknowledged must be stored.

    A 5xx other than 503 with Retry-After is a violation. So is a broken connection to the
    service, unless its workers are killed; without kills, the workers stay the same processes.
    """
    store = Store(DatabaseSettings(connection=url_of_checks or url, max_retries=0))
    migration.upgrade(store)
    seed.sync(store)
    shared = new_shared_state(store, survives_outages=True, workers_are_killed=workers_are_killed)
    started_at = time.monotonic()
    with (
        ends_of_transactions(url_of_checks or url) as shared.wait_for_abandoned,
        Api(folder / "api", url, WORKERS) as api,
    ):
        with running_clients(shared, [api.port], CLIENTS, PAUSE_SECONDS) as clients:
            workers = api.pids()
            time.sleep(PART)
            yield api, shared, clients
            time.sleep(PART)
            wait_until_served(clients)
            assert workers_are_killed or api.pids() == workers
        report(name, shared, WORKERS, time.monotonic() - started_at)
        assert_consistent(store, shared, clients)
    store.dispose()


def wait_until_unavailable(shared) -> None:
    """Wait for a 503."""
    wait_until(lambda: shared.history.unavailable, SECONDS_UNTIL_FAULT, message=lambda: "no 503")


def assert_unavailable(shared, clients) -> None:
    """Assert that without a database every request gets a 503."""
    since = time.monotonic()
    # the response to a request in progress may be another
    wait_until(lambda: all(client.last_refused > since for client in clients))
    served, refused = shared.history.served, shared.history.unavailable
    time.sleep(PART)
    wait_until(lambda: shared.history.unavailable >= refused + len(clients))
    assert shared.history.served == served


def test_the_database_server_is_killed(db, tmp_path):
    recovered = []
    with under_load(f"{db.name} killed", tmp_path, db.tcp_url("placement")) as parts:
        _api, shared, clients = parts
        for _ in range(ROUNDS):
            db.kill()
            assert_unavailable(shared, clients)
            db.start()
            recovered.append(wait_until_served(clients))
    print(f"{db.name} killed {ROUNDS} times: served again after {max(recovered):.2f} s")


def broken(shared) -> int:
    """Return the number of requests whose connection broke."""
    return shared.history.responses["broken"]


def test_workers_of_the_service_are_killed(shared_db, tmp_path):
    db, database = shared_db
    url, name = db.tcp_url(database), f"workers on {db.name} killed"
    with under_load(name, tmp_path, url, workers_are_killed=True) as (api, shared, clients):
        kills, until = 0, time.monotonic() + PART
        # the worker that is killed may have no request just then
        while kills < KILLS_AT_LEAST or time.monotonic() < until or not broken(shared):
            assert time.monotonic() < until + SECONDS_UNTIL_FAULT, "no request was interrupted"
            api.kill_a_worker()
            kills += 1
            time.sleep(random.uniform(0, 0.5))
        recovered = wait_until_served(clients)
        assert shared.history.unavailable == 0
    print(f"{name}: {kills} killed, served again after {recovered:.2f} s")


def test_connections_to_the_database_break(shared_db, tmp_path):
    db, database = shared_db
    with Proxy(db.port) as proxy:
        url = db.tcp_url(database, port=proxy.port)
        direct = db.tcp_url(database)
        name = f"connections to {db.name} broken"
        with under_load(name, tmp_path, url, direct) as (_, _, clients):
            broken, until = 0, time.monotonic() + PART
            while time.monotonic() < until or not broken:
                assert time.monotonic() < until + SECONDS_UNTIL_FAULT, "no connection was open"
                broken += proxy.drop()
                time.sleep(random.uniform(0, 0.2))
            recovered = wait_until_served(clients)
        print(f"{broken} connections broken, served again after {recovered:.2f} s")


def test_the_database_is_slow(shared_db, tmp_path):
    db, database = shared_db
    with Proxy(db.port) as proxy:
        url = db.tcp_url(database, port=proxy.port)
        direct = db.tcp_url(database)
        with under_load(f"{db.name} slow", tmp_path, url, direct) as (
            _,
            shared,
            clients,
        ):
            proxy.delay_seconds = 0.02
            time.sleep(PART)
            proxy.delay_seconds = 0.0
            wait_until_served(clients)
        assert shared.history.unavailable == 0


@pytest.mark.skipif(not IS_LONG, reason="takes a minute: make stress runs it")
def test_the_database_host_stops_responding(db, tmp_path):
    """It neither responds nor resets; timeouts detect it within the documented time."""
    with unreachable_host(db.socket) as host:
        url = sa.make_url(db.tcp_url("placement")).set(host=host.address, port=PORT)
        text = url.render_as_string(hide_password=False)
        name = f"host of {db.name} unresponsive"
        with under_load(name, tmp_path, text, db.tcp_url("placement")) as parts:
            _, shared, clients = parts
            host.stop_responding()
            time.sleep(SECONDS_UNRESPONSIVE)
            assert shared.history.unavailable >= CLIENTS
            host.resume_responding()
            recovered = wait_until_served(clients)
        assert shared.history.slowest < SECONDS_UNTIL_TIMEOUT
        print(f"{name}: served again after {recovered:.2f} s")


# --- full disks, read-only databases ----------------------------------------------


@contextmanager
def small_disk(megabytes: int):
    """The folder of a file system of its own."""
    folder = Path(tempfile.mkdtemp(prefix="placement-disk-"))
    mount = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m,mode=755", "tmpfs", str(folder)]
    try:
        if os.getuid() != 0 or subprocess.run(mount, check=False, capture_output=True).returncode:
            pytest.skip("only root can make a file system, and not everywhere")
        try:
            yield folder
        finally:
            subprocess.run(["umount", "--lazy", str(folder)], check=True)
    finally:
        folder.rmdir()


@contextmanager
def filled(folder: Path):
    """Fill the disk for the length of the block."""
    ballast = folder / "ballast"
    with ballast.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(b"\0" * 4096)
        except OSError:
            pass
    try:
        yield
    finally:
        ballast.unlink()


def write_until_unavailable(api: Api) -> None:
    """Write ever more until a 503. Small writes may find free pages in the files for minutes."""
    provider, generation = uuid(), 0
    deadline = time.monotonic() + SECONDS_UNTIL_FAULT
    client = Client([api.port])
    body = {"uuid": provider, "name": provider}
    response = client.send("POST", "/resource_providers", body)
    while response.status == 200:
        assert time.monotonic() < deadline, "no 503"
        body = {
            "resource_provider_generation": generation,
            "aggregates": [uuid() for _ in range(AGGREGATES)],
        }
        path = f"/resource_providers/{provider}/aggregates"
        response = client.send("PUT", path, body)
        generation += 1
    assert (response.status, bool(response.retry_after)) == (503, True)


def assert_full(*logs: Path) -> None:
    """Assert that the service, or the server that stopped, logged the full disk."""
    text = "".join(log.read_text(errors="replace") for log in logs)
    assert re.search("is full|No space left on device", text)


def test_the_disk_of_sqlite_is_full(tmp_path):
    with small_disk(8) as disk:
        url = f"sqlite:///{disk / 'placement.sqlite'}"
        with under_load("sqlite full", tmp_path, url) as (api, _, clients):
            with filled(disk):
                write_until_unavailable(api)
            recovered = wait_until_served(clients)
        assert_full(api.log)
        print(f"sqlite full: served again after {recovered:.2f} s")


@pytest.mark.parametrize(("kind", "megabytes"), [("mariadb", 256), ("postgresql", 160)])
def test_the_disk_of_a_server_is_full(kind, megabytes, tmp_path):
    """The server may stop; it is started again, as by its operator.

    Its log is on another disk, so that it contains the reason.
    """
    log = tmp_path / "server.log"
    with small_disk(megabytes) as disk, private_in(kind, disk / "server", log) as server:
        url = server.tcp_url("placement")
        with under_load(f"{kind} full", tmp_path, url) as (api, _, clients):
            with filled(disk):
                write_until_unavailable(api)
                time.sleep(PART)
            if server.process.poll() is not None:
                server.start()
            recovered = wait_until_served(clients)
        assert_full(api.log, log)
        print(f"{kind} full: served again after {recovered:.2f} s")


@contextmanager
def private_in(kind, folder, log):
    try:
        servers.KINDS[kind](folder, 1).command()
    except servers.Missing as missing:
        pytest.skip(str(missing))
    folder.mkdir()
    server = servers.KINDS[kind](folder, durable=True)
    server.log = log
    try:
        server.start()
        server.create("placement")
        yield server
    finally:
        server.stop()


def test_the_database_is_read_only_for_a_while(tmp_path, db):
    """As after a failover: reads continue, writes get 503 with Retry-After."""
    url = sa.make_url(db.tcp_url("placement"))
    if db.name == "mariadb":
        db.execute("CREATE USER app@'%' IDENTIFIED BY 'app'")
        db.execute("GRANT ALL ON placement.* TO app@'%'")
        url = url.set(username="app", password="app")
        only, again = ["SET GLOBAL read_only = 1"], ["SET GLOBAL read_only = 0"]
    else:
        setting = "ALTER DATABASE placement SET default_transaction_read_only = {}"
        only, again = ([setting.format(word)] for word in ("on", "off"))
    text = url.render_as_string(hide_password=False)
    name = f"{db.name} read-only"
    with under_load(name, tmp_path, text, db.tcp_url("placement")) as (
        _,
        shared,
        clients,
    ):
        for statement in only:
            db.execute(statement)
        if db.name == "postgresql":
            db.disconnect("placement")  # the setting is for new connections
        wait_until_unavailable(shared)
        time.sleep(PART)
        for statement in again:
            db.execute(statement)
        if db.name == "postgresql":
            db.disconnect("placement")
        recovered = wait_until_served(clients)
    print(f"{name}: served again after {recovered:.2f} s")


@contextmanager
def with_temporary_files_on(kind, disk):
    """A server whose sorts write temporary files to a disk, with the database "placement"."""
    with servers.private(kind, durable=False) as server:
        server.create("placement")
        if kind == "mariadb":
            server.stop()
            small = ["--tmp-table-size=1024", "--sort-buffer-size=1024"]
            server.settings = [f"--tmpdir={disk}", *small]
            server.start()
        else:
            subprocess.run(["chown", "postgres:", disk], check=True)
            server.execute(f"CREATE TABLESPACE small LOCATION '{disk}'")
            for setting in ("temp_tablespaces = 'small'", "work_mem = '64kB'"):
                server.execute(f"ALTER DATABASE placement SET {setting}")
        yield server


@pytest.mark.parametrize("kind", ["mariadb", "postgresql"])
def test_the_temporary_directory_of_a_server_is_full_during_a_load(kind):
    """The load is a 503, and succeeds when there is space again."""
    with small_disk(64) as disk, with_temporary_files_on(kind, disk) as server:
        store = Store(DatabaseSettings(connection=server.tcp_url("placement"), max_retries=0))
        migration.upgrade(store)
        seed.sync(store)
        names = [f"{number:0100}" for number in range(PROVIDERS)]
        rows = [{"uuid": uuid(), "name": name, "root_provider_id": 1} for name in names]
        new_provider(store)
        store.write(lambda tx: tx.connection.execute(resource_providers.insert(), rows) and None)
        with filled(disk):
            os.truncate(disk / "ballast", SPACE_USED)
            with pytest.raises(exception.DatabaseUnavailable), store.read() as tx:
                load(tx)
        with store.read() as tx:
            assert load(tx).snapshot.size == PROVIDERS + 1
        store.dispose()
