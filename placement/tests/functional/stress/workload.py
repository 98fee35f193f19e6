"""Many clients at once, and what must hold at the end."""

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from placement.core.model import Inventory
from placement.db.sqlalchemy import models
from placement.tests.functional.db.factories import assert_sound, new_provider, rows, uuid
from placement.tests.functional.stress.client import VCPU, Stormer, World, amounts
from placement.tests.functional.stress.ledger import Ledger

# `make storm` asks for minutes
SECONDS = float(os.environ.get("STORM_SECONDS", "2"))
CLIENTS = 8
HOSTS = 5


def new_world(store, **faults: bool) -> World:
    """Return hosts, in a database without any."""
    hosts = [
        new_provider(
            store, VCPU=Inventory(total=VCPU), MEMORY_MB=100_000, DISK_GB=Inventory(total=1000)
        )
        for _ in range(HOSTS)
    ]
    return World(hosts, [uuid() for _ in range(3)], Ledger(), **faults)


@contextmanager
def storm(world: World, ports: list[int], clients: int = CLIENTS) -> Iterator[list[Stormer]]:
    """Have clients at work; at the end they are stopped, and waited for."""
    stop = threading.Event()
    seed = int(os.environ.get("STORM_SEED", time.time_ns() % 100_000))
    stormers = [Stormer(world, ports, seed * 100 + count) for count in range(clients)]
    threads = [threading.Thread(target=one.run, args=(stop.is_set,)) for one in stormers]
    for thread in threads:
        thread.start()
    try:
        yield stormers
    finally:
        stop.set()
        for thread in threads:
            thread.join(120)


def assert_kept(store, world: World, stormers: list[Stormer]) -> None:
    """All that was acknowledged is there, and nothing else."""
    ledger = world.ledger
    assert not ledger.violations, "\n".join(ledger.violations[:10])
    assert_sound(store)
    _assert_within_capacity(store)
    present = {row.uuid for row in rows(store, models.consumers)}
    own = {uuid for one in stormers for uuid in one.own}
    assert present - set(world.shared_consumers) == own
    for one in stormers:
        for consumer, held in one.own.items():
            body = one.insist("GET", f"/allocations/{consumer}").body
            assert amounts(body) == held.resources
            assert body["consumer_generation"] == held.generation
        one.client.close()
    _assert_shared(world, stormers[0])
    stormers[0].client.close()
    _assert_children(store, stormers)


def _assert_within_capacity(store) -> None:
    for row in rows(store, models.inventories):
        assert row.used <= row.total * row.allocation_ratio, row


def _assert_shared(world: World, reader: Stormer) -> None:
    for consumer in set(world.shared_consumers) - world.ledger.doubtful:
        body = reader.insist("GET", f"/allocations/{consumer}").body
        at, written = world.ledger.newest(consumer)
        assert body.get("consumer_generation", 0) == at + 1
        assert amounts(body) == (written or {})


def _assert_children(store, stormers: list[Stormer]) -> None:
    by_uuid = {row.uuid: row for row in rows(store, models.resource_providers)}
    for one in stormers:
        for child, parent in one.children.items():
            parent_id = by_uuid[parent].id if parent else None
            assert by_uuid[child].parent_provider_id == parent_id


def report(name: str, world: World, processes: int, seconds: float) -> None:
    """Print one line: what was done, and what of it was wrong."""
    ledger = world.ledger
    kinds = {"2": "accepted", "4": "refused", "5": "unavailable", "b": "broken off"}
    sums = dict.fromkeys(kinds.values(), 0)
    for what, count in ledger.answers.items():
        sums[kinds[what.split()[-1][0]]] += count
    print(
        f"\n{name}: {ledger.operations} operations, {processes} processes, {seconds:.0f} s, "
        f"{', '.join(f'{count} {kind}' for kind, count in sums.items())}, "
        f"slowest {ledger.slowest:.2f} s, {len(ledger.violations)} violations"
    )
