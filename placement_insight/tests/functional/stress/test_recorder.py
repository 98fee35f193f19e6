"""Many empty responses a second: other requests do not become slower, and the table stays bounded.

Two services on one database, one with the recorder and one without, get the same load in turns.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

import pytest
import sqlalchemy as sa

from placement.db import tables
from placement.tests.functional.stress.api import Api, Client
from placement.tests.functional.stress.workload import SECONDS
from placement.tests.support.factories import new_provider, uuid
from placement.tests.support.waiting import wait_until
from placement_insight.explain.records.recorder import PRUNE_AFTER_ROWS

pytestmark = pytest.mark.long

WORKERS = 2
EMPTY_PER_SECOND = 200
CLIENTS = 8
MAX_ROWS = 20
# Short turns, so that what else the machine does falls on both services alike.
TURN_SECONDS = 1.0
# In the short form, a stall of the machine may be in one turn alone: only `make stress` compares.
IS_LONG = SECONDS >= 30
TURNS = ["off", "on"] * int(SECONDS) if IS_LONG else ["on"]
HOSTS = 500 if IS_LONG else 50
# What two equal turns may differ by on a busy machine; the figures are printed.
TOLERANCE = 2.0
TOLERANCE_SECONDS = 0.05

EMPTY = f"/allocation_candidates?resources=VCPU:4,MEMORY_MB:1024&member_of={uuid()}"
FITTING = "/allocation_candidates?resources=VCPU:1&limit=10"


@pytest.fixture
def hosts(store):
    return [new_provider(store, VCPU=8, MEMORY_MB=4096) for _ in range(HOSTS)]


@pytest.fixture
def services(hosts, database_url, tmp_path):
    """Return the ports of a service with the recorder, and of one without it, by name."""
    with ExitStack() as stack:
        ports = {}
        for name in sorted(set(TURNS)):
            (tmp_path / name).mkdir()
            options = f"[insight]\nrecord_max_rows = {MAX_ROWS}\nrecord = {name == 'on'}"
            (tmp_path / name / "placement.conf").write_text(options)
            ports[name] = stack.enter_context(Api(tmp_path / name, database_url, WORKERS)).port
        yield ports


@contextmanager
def running(count: int, run: Callable[[Callable[[], bool]], None]) -> Iterator[None]:
    """Run a function in threads, until the end."""
    stop = threading.Event()
    threads = [threading.Thread(target=run, args=[stop.is_set]) for _ in range(count)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join(60)


def send_empty_requests(port: int, counts: list[int]) -> Callable[[Callable[[], bool]], None]:
    """Return a function that asks, at its share of the rate, for what there is not."""

    def run(until: Callable[[], bool]) -> None:
        client = Client([port])
        due = time.monotonic()
        while not until():
            response = client.send("GET", EMPTY)
            assert response.body["allocation_requests"] == []
            counts.append(1)
            due += CLIENTS / EMPTY_PER_SECOND
            time.sleep(max(0.0, due - time.monotonic()))

    return run


def others(port: int, hosts: list[str], seconds: float) -> list[float]:
    """Return how long other requests took: searches, claims, and their removal."""
    took: list[float] = []

    def timed(client: Client, status: int, *request: object) -> None:
        began = time.monotonic()
        assert client.send(*request).status == status
        took.append(time.monotonic() - began)

    client = Client([port])
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        consumer = f"/allocations/{uuid()}"
        timed(client, 200, "GET", FITTING)
        timed(client, 204, "PUT", consumer, claim(hosts[len(took) % HOSTS]))
        timed(client, 204, "DELETE", consumer)
        time.sleep(0.01)
    return took


def claim(host: str) -> dict[str, object]:
    return {
        "allocations": {host: {"resources": {"VCPU": 1}}},
        "project_id": "project",
        "user_id": "user",
        "consumer_generation": None,
        "consumer_type": "INSTANCE",
    }


def percentile(took: list[float], share: float) -> float:
    return sorted(took)[int(share * (len(took) - 1))]


def row_count(store) -> int:
    with store.read() as tx:
        statement = sa.select(sa.func.count()).select_from(tables.insight_requests)
        return tx.connection.execute(statement).scalar_one()


@pytest.mark.timeout(SECONDS * 4 + 300)
def test_empty_responses_do_not_slow_others_down(store, services, hosts, backend):
    took: dict[str, list[float]] = {name: [] for name in services}
    empty: dict[str, list[int]] = {name: [] for name in services}
    highest = 0
    for name in TURNS:
        with running(CLIENTS, send_empty_requests(services[name], empty[name])):
            took[name] += others(services[name], hosts, TURN_SECONDS)
        if name == "on":  # requests are recorded after their responses
            wait_until(lambda: row_count(store))
        highest = max(highest, row_count(store))
    p99 = {name: percentile(times, 0.99) for name, times in took.items()}
    for name, times in took.items():
        rate = len(empty[name]) / (TURN_SECONDS * TURNS.count(name))
        print(
            f"\nrecorder {name}, {backend}: {rate:.0f} empty responses a second; {len(times)} "
            f"others: p50 {percentile(times, 0.5) * 1000:.1f}, p99 {p99[name] * 1000:.1f} ms"
        )
    assert 0 < highest <= MAX_ROWS + WORKERS * PRUNE_AFTER_ROWS
    assert not IS_LONG or p99["on"] <= p99["off"] * TOLERANCE + TOLERANCE_SECONDS
