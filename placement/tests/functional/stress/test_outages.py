"""Storms in which something breaks: nothing acknowledged is lost, nothing is half applied.

While the database is away the service answers 503 with Retry-After, and it serves again
within seconds of its return, without a restart.
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

from placement.db.sqlalchemy import migration, seed
from placement.db.sqlalchemy.engines import DatabaseSettings
from placement.db.sqlalchemy.store import SqlStore
from placement.tests import servers
from placement.tests.functional.db.unreachable_host import PORT, far_host
from placement.tests.functional.stress.api import Api
from placement.tests.functional.stress.proxy import Proxy
from placement.tests.functional.stress.workload import (
    SECONDS,
    assert_kept,
    new_world,
    report,
    storm,
)

CLIENTS = 6
WORKERS = 2
PART = SECONDS / 3
ROUNDS = max(1, round(SECONDS / 10))
KILLS_AT_LEAST = 3
SECONDS_TO_ANSWER = 1
SECONDS_OF_SILENCE = 60
SECONDS_UNTIL_GIVEN_UP = 30
SECONDS_TO_RECOVER = 10
SECONDS_TO_FEEL = 60

pytestmark = pytest.mark.timeout(SECONDS * 4 + 240)


@pytest.fixture(params=sorted(servers.KINDS))
def running(request):
    """A server of its own, durable, which may be killed."""
    with private(request.param) as found:
        yield found


@contextmanager
def private(kind):
    with ExitStack() as stack:
        try:
            found = stack.enter_context(servers.private(kind))
        except servers.Missing as missing:
            if os.environ.get("CI") == "true":
                raise
            pytest.skip(str(missing))
        found.create("placement")
        yield found


@contextmanager
def in_a_storm(name, folder, url, url_of_checks=None, *, workers_are_killed=False):
    """A world, and clients at work on it; at the end, all that they were told must be there.

    Any answer but a 503 with Retry-After that tells of the fault, and any connection to the
    service that breaks, is a violation, unless its workers are killed; else they are the same
    processes at the end.
    """
    store = SqlStore(DatabaseSettings(connection=url_of_checks or url, max_retries=0))
    migration.upgrade(store)
    seed.sync(store)
    world = new_world(store, survives_outages=True, workers_are_killed=workers_are_killed)
    begun = time.monotonic()
    with Api(folder / "api", url, WORKERS) as api:
        with storm(world, [api.port], CLIENTS) as stormers:
            workers = api.pids()
            time.sleep(PART)
            yield api, world, stormers
            time.sleep(PART)
            wait_until_served(stormers)
            assert workers_are_killed or api.pids() == workers
        report(name, world, WORKERS, time.monotonic() - begun)
        assert_kept(store, world, stormers)
    store.dispose()


def wait_until_served(stormers) -> float:
    """Return the seconds until each client had a claim accepted since now: no read will do."""
    since = time.monotonic()
    while any(one.last_claimed < since for one in stormers):
        assert time.monotonic() - since < SECONDS_TO_RECOVER, "it does not recover"
        time.sleep(0.01)
    return time.monotonic() - since


def wait_until_unavailable(world) -> None:
    """Writes go on as long as there is room within the files: on MariaDB for ten seconds."""
    give_up_at = time.monotonic() + SECONDS_TO_FEEL
    while not world.ledger.unavailable:
        assert time.monotonic() < give_up_at, "nothing is refused"
        time.sleep(0.05)


def assert_away(world) -> None:
    """Without a database nobody is told anything, and each is told so at once."""
    time.sleep(SECONDS_TO_ANSWER)  # what was under way ends
    served, refused = world.ledger.served, world.ledger.unavailable
    time.sleep(PART)
    assert world.ledger.served == served
    assert world.ledger.unavailable > refused


def test_the_database_server_is_killed(running, tmp_path):
    recovered = []
    with in_a_storm(f"{running.name} killed", tmp_path, running.tcp_url("placement")) as found:
        _api, world, stormers = found
        for _ in range(ROUNDS):
            running.kill()
            assert_away(world)
            running.start()
            recovered.append(wait_until_served(stormers))
    print(f"{running.name} killed {ROUNDS} times: served again after {max(recovered):.2f} s")


def test_workers_of_the_service_are_killed(running, tmp_path):
    url, name = running.tcp_url("placement"), f"workers on {running.name} killed"
    with in_a_storm(name, tmp_path, url, workers_are_killed=True) as (api, world, stormers):
        kills, until = 0, time.monotonic() + PART
        while kills < KILLS_AT_LEAST or time.monotonic() < until:
            api.kill_a_worker()
            kills += 1
            time.sleep(random.uniform(0, 0.5))
        recovered = wait_until_served(stormers)
        assert world.ledger.unavailable == 0
    assert world.ledger.answers["broken"] > 0
    print(f"{name}: {kills} killed, served again after {recovered:.2f} s")


def test_connections_to_the_database_break(running, tmp_path):
    with Proxy(running.port) as proxy:
        url = running.tcp_url("placement", port=proxy.port)
        direct = running.tcp_url("placement")
        name = f"connections to {running.name} broken"
        with in_a_storm(name, tmp_path, url, direct) as (_, _, stormers):
            broken, until = 0, time.monotonic() + PART
            while time.monotonic() < until:
                broken += proxy.drop()
                time.sleep(random.uniform(0, 0.2))
            recovered = wait_until_served(stormers)
        print(f"{broken} connections broken, served again after {recovered:.2f} s")
        assert broken


def test_the_database_is_slow(running, tmp_path):
    with Proxy(running.port) as proxy:
        url = running.tcp_url("placement", port=proxy.port)
        direct = running.tcp_url("placement")
        with in_a_storm(f"{running.name} slow", tmp_path, url, direct) as (_, world, stormers):
            proxy.delay_seconds = 0.02
            time.sleep(PART)
            proxy.delay_seconds = 0.0
            wait_until_served(stormers)
        assert world.ledger.unavailable == 0


@pytest.mark.skipif(SECONDS < 30, reason="make storm runs it: it takes a minute")
def test_the_database_host_falls_silent(running, tmp_path):
    """It neither answers nor resets: that is noticed in the seconds that operators are told."""
    with far_host(running.socket) as host:
        url = sa.make_url(running.tcp_url("placement")).set(host=host.address, port=PORT)
        text = url.render_as_string(hide_password=False)
        name = f"host of {running.name} silent"
        with in_a_storm(name, tmp_path, text, running.tcp_url("placement")) as found:
            _, world, stormers = found
            host.fall_silent()
            time.sleep(SECONDS_OF_SILENCE)
            assert world.ledger.unavailable >= CLIENTS
            host.speak()
            recovered = wait_until_served(stormers)
        assert world.ledger.slowest < SECONDS_UNTIL_GIVEN_UP
        print(f"{name}: served again after {recovered:.2f} s")


# --- no room, no writing ------------------------------------------------------------------


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
    """No room at all, for as long as this lasts."""
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


def assert_full(*logs: Path) -> None:
    """It was the disk: the service, or the server that ended for it, says so."""
    said = "".join(log.read_text(errors="replace") for log in logs)
    assert re.search("is full|No space left on device", said)


def test_sqlite_has_no_room(tmp_path):
    with small_disk(8) as disk:
        url = f"sqlite:///{disk / 'placement.sqlite'}"
        with in_a_storm("sqlite full", tmp_path, url) as (api, world, stormers):
            with filled(disk):
                wait_until_unavailable(world)
            recovered = wait_until_served(stormers)
        assert_full(api.log)
        print(f"sqlite full: served again after {recovered:.2f} s")


@pytest.mark.parametrize(("kind", "megabytes"), [("mariadb", 256), ("postgresql", 160)])
def test_a_server_has_no_room(kind, megabytes, tmp_path):
    """It may end; it is started again as its operator would.

    Its log is on another disk, so that it can tell why.
    """
    log = tmp_path / "server.log"
    with small_disk(megabytes) as disk, private_in(kind, disk / "server", log) as running:
        url = running.tcp_url("placement")
        with in_a_storm(f"{kind} full", tmp_path, url) as (api, world, stormers):
            with filled(disk):
                wait_until_unavailable(world)
                time.sleep(PART)
            if running.process.poll() is not None:
                running.start()
            recovered = wait_until_served(stormers)
        assert_full(api.log, log)
        print(f"{kind} full: served again after {recovered:.2f} s")


@contextmanager
def private_in(kind, folder, log):
    try:
        servers.KINDS[kind](folder, 1).command()
    except servers.Missing as missing:
        pytest.skip(str(missing))
    folder.mkdir()
    running = servers.KINDS[kind](folder, durable=True)
    running.log = log
    try:
        running.start()
        running.create("placement")
        yield running
    finally:
        running.stop()


def test_the_database_is_read_only_for_a_while(tmp_path, running):
    """As after a failover: reads go on, writes are told to come back."""
    url = sa.make_url(running.tcp_url("placement"))
    if running.name == "mariadb":
        running.execute("CREATE USER app@'%' IDENTIFIED BY 'app'")
        running.execute("GRANT ALL ON placement.* TO app@'%'")
        url = url.set(username="app", password="app")
        only, again = ["SET GLOBAL read_only = 1"], ["SET GLOBAL read_only = 0"]
    else:
        setting = "ALTER DATABASE placement SET default_transaction_read_only = {}"
        only, again = ([setting.format(word)] for word in ("on", "off"))
    text = url.render_as_string(hide_password=False)
    name = f"{running.name} read-only"
    with in_a_storm(name, tmp_path, text, running.tcp_url("placement")) as (_, world, stormers):
        for statement in only:
            running.execute(statement)
        if running.name == "postgresql":
            running.disconnect("placement")  # the setting is for new connections
        wait_until_unavailable(world)
        time.sleep(PART)
        for statement in again:
            running.execute(statement)
        if running.name == "postgresql":
            running.disconnect("placement")
        recovered = wait_until_served(stormers)
    print(f"{name}: served again after {recovered:.2f} s")
