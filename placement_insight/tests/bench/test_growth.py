"""Growth with the cloud, and requests at a steady rate."""

import csv
import http.server
import itertools
import json
import threading
from functools import partial
from pathlib import Path

import pytest

from bench import growth
from bench.client import Connection, Get
from bench.databases import SERVERS
from bench.gpu_requests import GPU_REQUESTS
from bench.mixed_load import send_at_rate
from bench.pages import REFRESHES, write
from bench.workloads import sending
from bench.worlds import gpu
from placement.db import usage_counters
from placement.tests.support.servers import free_port


class _Server(http.server.HTTPServer):
    """Keeps all connections of a test waiting: the kernel would refuse those beyond five."""

    request_queue_size = 20


class _Pausing(http.server.BaseHTTPRequestHandler):
    """Responds 200; one request at a time."""

    def do_GET(self):
        self.server.may_respond.wait()
        self.send_response(503 if "broken" in self.path else 200)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *args):
        """Write no log."""


@pytest.fixture
def server():
    with _Server(("127.0.0.1", 0), _Pausing) as server:
        server.may_respond = threading.Event()
        server.may_respond.set()
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def test_latencies_count_from_when_a_request_is_due(server):
    opened = itertools.count()

    def connect():
        if next(opened) == 12:  # the first request is being served until 0.6 seconds have passed
            server.may_respond.set()
        return Connection(server.server_port, 60)

    server.may_respond.clear()
    samples = send_at_rate(connect, sending(Get("/")), 20, 1.0)
    assert [sample.error for sample in samples] == [""] * 20
    assert all(sample.latency >= (12 - n) / 20 for n, sample in enumerate(samples[:12]))


def test_statuses_and_lost_connections_are_errors(server):
    def only(port, path):
        (sample,) = send_at_rate(partial(Connection, port, 60), sending(Get(path)), 5, 0.2)
        return sample.error

    assert only(server.server_port, "/broken") == "503"
    assert only(free_port(), "/") == "ConnectionRefusedError"


@pytest.fixture
def cloud(tmp_path):
    """The URL of a database with 190 providers."""
    with SERVERS["sqlite"](tmp_path) as database:
        growth.fill(database, gpu(10))
        yield database.url(growth.SCHEMA)


def test_the_usage_counters_of_a_filled_database_are_correct(cloud):
    store = growth.opened(cloud)
    with store.read() as tx:
        assert usage_counters.differences(tx.connection) == []
        assert tx.connection.exec_driver_sql("SELECT SUM(used) FROM inventories").scalar() > 0
    store.dispose()


def test_growth_measures_wall_clock_and_cpu_time(cloud, monkeypatch):
    monkeypatch.setattr(growth, "BURST", 10)
    monkeypatch.setattr(growth, "REPEATED", 1)
    values = growth.measure_process(cloud)
    assert values["providers"] == 190
    assert all(values[name] > 0 for name in ("load", *REFRESHES, *GPU_REQUESTS))
    assert all(values[f"{name}, CPU"] > 0 for name in ("load", *REFRESHES, *GPU_REQUESTS))


def test_memory_is_all_that_is_resident():
    fields = Path("/proc/self/smaps_rollup").read_text().split("Rss:")[1].split()
    assert sum(growth.memory("self").values()) == pytest.approx(int(fields[0]) / 1024, rel=0.05)


def test_measured_sizes_replace_those_of_earlier_runs(tmp_path):
    names = ("load", *REFRESHES, *GPU_REQUESTS)
    times = {key: 0.0015 for name in names for key in (name, f"{name}, CPU")}
    row = {
        "private": 100.2,
        "shared": 20.3,
        "memory after requests": 140,
        "load average before": 2.1,
    }
    row |= times
    growth.merge(tmp_path / "growth.json", "mariadb", [row | {"providers": 190_000}])
    growth.merge(tmp_path / "growth.json", "mariadb", [row | {"providers": 9_994}])
    growth.merge(tmp_path / "growth.json", "sqlite", [row | {"providers": 190_000, "load": 2.04}])
    rows = json.loads((tmp_path / "growth.json").read_text())["rows"]
    assert [(row["providers"], row["database"]) for row in rows] == [
        (9_994, "mariadb"),
        (190_000, "sqlite"),
    ]
    write(tmp_path, tmp_path)
    heading, _, large = csv.reader(
        (tmp_path / "performance-growth-memory.csv").read_text().splitlines()
    )
    assert heading[-3:] == ["together", "after requests", "load average"]
    assert large == ["190,000", "2.0 s (0.0 s)", "100 MB", "20 MB", "120 MB", "140 MB", "2"]
    requests = csv.reader((tmp_path / "performance-growth-requests.csv").read_text().splitlines())
    assert next(requests) == ["providers", *REFRESHES, *GPU_REQUESTS]
    assert next(requests) == ["9,994", *["1.5 ms (1.5 ms)"] * 8]
