"""Concurrent stress clients, and the checks at their end."""

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from placement.core.model import Inventory
from placement.db import tables
from placement.tests.functional.stress.client import VCPU, SharedState, StressClient, amounts
from placement.tests.functional.stress.history import History
from placement.tests.support.factories import assert_sound, new_provider, rows, uuid

# `make stress` sets minutes
SECONDS = float(os.environ.get("STRESS_SECONDS", "1.5"))
CLIENTS = 8
HOSTS = 5
SECONDS_TO_RECOVER = 60  # usually less than one; without recovery there is no limit


def new_shared_state(store, **faults: bool) -> SharedState:
    """Create hosts in an empty database."""
    hosts = [
        new_provider(
            store, VCPU=Inventory(total=VCPU), MEMORY_MB=100_000, DISK_GB=Inventory(total=1000)
        )
        for _ in range(HOSTS)
    ]
    return SharedState(hosts, [uuid() for _ in range(3)], History(), **faults)


@contextmanager
def running_clients(
    shared: SharedState, ports: list[int], count: int = CLIENTS, pause_seconds: float = 0
) -> Iterator[list[StressClient]]:
    """Run clients, which pause after each operation; stop and join them at the end."""
    stop = threading.Event()
    seed = int(os.environ.get("STRESS_SEED", time.time_ns() % 100_000))
    clients = [StressClient(shared, ports, seed * 100 + number) for number in range(count)]
    threads = [
        threading.Thread(target=one.run, args=(stop.is_set, pause_seconds)) for one in clients
    ]
    for thread in threads:
        thread.start()
    try:
        yield clients
    finally:
        stop.set()
        for thread in threads:
            thread.join(120)


def wait_until_served(
    clients: list[StressClient], at_most_seconds: float = SECONDS_TO_RECOVER
) -> float:
    """Return the seconds until each client has had a claim accepted; reads do not count."""
    since = time.monotonic()
    while any(one.last_claimed < since for one in clients):
        assert time.monotonic() - since < at_most_seconds, "the service does not recover"
        time.sleep(0.01)
    return time.monotonic() - since


def assert_consistent(store, shared: SharedState, clients: list[StressClient]) -> None:
    """Assert that the stored state is exactly what was acknowledged."""
    history = shared.history
    assert not history.violations, "\n".join(history.violations[:10])
    assert_sound(store)
    _assert_within_capacity(store)
    present = {row.uuid for row in rows(store, tables.consumers)}
    acknowledged = {uuid for one in clients for uuid in one.consumers}
    assert present - set(shared.shared_consumers) == acknowledged
    for one in clients:
        for consumer, state in one.consumers.items():
            body = one.read_until_available("GET", f"/allocations/{consumer}").body
            assert amounts(body) == state.resources
            assert body["consumer_generation"] == state.generation
    _assert_shared(shared, clients[0])
    _assert_children(store, clients)


def _assert_within_capacity(store) -> None:
    for row in rows(store, tables.inventories):
        assert row.used <= row.total * row.allocation_ratio, row


def _assert_shared(shared: SharedState, reader: StressClient) -> None:
    for consumer in set(shared.shared_consumers) - shared.history.unknown:
        body = reader.read_until_available("GET", f"/allocations/{consumer}").body
        at, written = shared.history.newest(consumer)
        assert body.get("consumer_generation", 0) == at + 1
        assert amounts(body) == (written or {})


def _assert_children(store, clients: list[StressClient]) -> None:
    by_uuid = {row.uuid: row for row in rows(store, tables.resource_providers)}
    for one in clients:
        for child, parent in one.children.items():
            parent_id = by_uuid[parent].id if parent else None
            assert by_uuid[child].parent_provider_id == parent_id


def report(name: str, shared: SharedState, processes: int, seconds: float) -> None:
    """Print one line with the numbers of operations, responses and violations."""
    history = shared.history
    kinds = {"2": "accepted", "4": "refused", "5": "unavailable", "b": "broken"}
    sums = dict.fromkeys(kinds.values(), 0)
    for what, count in history.responses.items():
        sums[kinds[what.split()[-1][0]]] += count
    print(
        f"\n{name}: {history.operations} operations, {processes} processes, {seconds:.0f} s, "
        f"{', '.join(f'{count} {kind}' for kind, count in sums.items())}, "
        f"slowest {history.slowest:.2f} s, {len(history.violations)} violations"
    )
