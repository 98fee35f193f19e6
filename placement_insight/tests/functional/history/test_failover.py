"""After the failover of a primary, the records are those of the commits that its successor has."""

import shutil
import tempfile
import threading
from contextlib import contextmanager
from pathlib import Path

import pytest

from placement import exception
from placement.core.changes import AllocationsChange
from placement.tests.functional.db.connections.test_lineage import (
    HOST,
    NAME,
    opened,
    primary,
    standby_of,
)
from placement.tests.support import servers
from placement.tests.support.factories import claim, set_inventories, uuid
from placement.tests.support.proxy import Proxy
from placement.tests.support.waiting import wait_until
from placement_insight.history.observer import History
from placement_insight.tests.functional.history.replay import oldest_first, state_of

pytestmark = pytest.mark.long

WRITERS, CLAIMS = 2, 10


class PostgreSqlPair:
    """A primary and its asynchronous standby; the URL has both hosts."""

    @contextmanager
    def running(self):
        with primary("postgresql") as (first, _), standby_of(first) as second:
            self.first, self.second = first, second
            hosts = "&".join(f"host=127.0.0.1:{each.port}" for each in (first, second))
            yield f"postgresql+psycopg://{servers.USER}@/{NAME}?{hosts}"

    def stop_replication(self):
        self.second.execute("ALTER SYSTEM SET primary_conninfo = ''")
        self.second.execute("SELECT pg_reload_conf()")
        wait_until(lambda: not self.first.execute("SELECT 1 FROM pg_stat_replication"))

    def promote(self):
        self.second.execute("SELECT pg_promote()")


class MariaDbPair:
    """A primary and a replica with GTIDs; a proxy takes the place of the address of both."""

    @contextmanager
    def running(self):
        folder = Path(tempfile.mkdtemp(prefix="placement-replica-"))
        with primary("mariadb") as (first, _), Proxy(first.port) as proxy:
            first.stop()
            shutil.copytree(first.folder / "data", folder / "data")
            first.settings = ("--log-bin=binlog", "--server-id=1")
            first.start()
            options = ("--server-id=2", "--read-only")
            second = servers.MariaDb(folder, settings=options)
            second.start()
            self.first, self.second, self.proxy = first, second, proxy
            try:
                second.execute(
                    f"CHANGE MASTER TO MASTER_HOST = '127.0.0.1', MASTER_PORT = {first.port}, "
                    "MASTER_USER = 'root', MASTER_SSL = 0, MASTER_USE_GTID = slave_pos"
                )
                second.execute("START SLAVE")
                yield first.tcp_url(NAME, port=proxy.port)
            finally:
                second.stop()
                shutil.rmtree(folder, ignore_errors=True)

    def stop_replication(self):
        self.second.execute("STOP SLAVE")

    def promote(self):
        self.second.execute("RESET SLAVE ALL")
        self.second.execute("SET GLOBAL read_only = 0")
        self.proxy.switch(self.second.port)


@contextmanager
def claiming(store):
    """Yield the consumers whose claims were acknowledged, while threads claim."""
    acknowledged, end = [], threading.Event()

    def work():
        while not end.is_set():
            consumer = uuid()
            try:
                claim(store, consumer, {HOST: {"VCPU": 1}})
            except exception.PlacementException:
                end.wait(0.1)
            else:
                acknowledged.append(consumer)

    threads = [threading.Thread(target=work) for _ in range(WRITERS)]
    for thread in threads:
        thread.start()
    try:
        yield acknowledged
    finally:
        end.set()
        for thread in threads:
            thread.join()


def wait_for_more(acknowledged):
    wanted = len(acknowledged) + CLAIMS
    wait_until(lambda: len(acknowledged) >= wanted)


@pytest.mark.parametrize("pair", [PostgreSqlPair(), MariaDbPair()], ids=["postgresql", "mariadb"])
def test_records_after_a_failover_that_loses_commits(pair):
    with pair.running() as url, opened(url) as store:
        set_inventories(store, HOST, VCPU=1_000_000)
        before = state_of(store)
        with claiming(store.writing_with(observer=History(store, 100_000))) as acknowledged:
            wait_for_more(acknowledged)
            pair.stop_replication()
            on_both = len(acknowledged)
            wait_for_more(acknowledged)
            pair.first.kill()
            lost = acknowledged[on_both:]
            pair.promote()
            wait_for_more(acknowledged)
        records = oldest_first(store)
        assert before.replay(records).values() == state_of(store).values()
    recorded = [
        record.change.consumer_uuid
        for record in records
        if isinstance(record.change, AllocationsChange)
    ]
    assert len(recorded) == len(set(recorded))
    assert set(lost) - set(recorded), "the primary was killed with commits of its own"
    assert set(acknowledged[-CLAIMS + WRITERS :]) <= set(recorded)
