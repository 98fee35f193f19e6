"""Reader and writer processes, some of them killed: each read is exact.

A read is compared with a full load just after it, except for providers that changed in
between, and with the writes that any process had acknowledged before the read began.
"""

import multiprocessing
import os
import random
import signal
import time
from dataclasses import dataclass
from multiprocessing.sharedctypes import RawArray

import pytest

from placement import exception
from placement.core.model import UpdateProvider
from placement.db import clocks
from placement.db.settings import DatabaseSettings
from placement.db.store import Store
from placement.engine.engine import Engine
from placement.objects import aggregate, allocation, provider, trait
from placement.tests.support.factories import claim, generation, new_provider, uuid
from placement.tests.support.snapshots import by_id, loaded

pytestmark = pytest.mark.long

WRITERS, READERS, SLOTS = 3, 3, 3
# a long run: STRESS_COMPARISONS=10000, of dozens of providers each
COMPARISONS = int(os.environ.get("STRESS_COMPARISONS", "60"))
SECONDS_BETWEEN_KILLS = 0.7 if COMPARISONS < 1000 else 2.0
KILLS_AT_LEAST = 2
GENERATION_BITS = 32


@dataclass
class SharedMemory:
    """Shared memory of the processes; each writes elements of its own.

    It has no locks: a killed process would never release one.
    """

    acknowledged: object
    reads: object
    providers: object
    stop: object

    @classmethod
    def empty(cls):
        return cls(*(RawArray("q", size) for size in (WRITERS * SLOTS, READERS, READERS, 1)))


def write(settings: DatabaseSettings, memory: SharedMemory, number: int, seed: int) -> None:
    """Write at random, and store what was acknowledged: a provider and its generation."""
    store, numbers = Store(settings), random.Random(seed)
    hosts = [new_provider(store, VCPU=10_000) for _ in range(SLOTS)]
    ids = [provider.show(store, host).id for host in hosts]
    consumers: list[str] = []
    while not memory.stop[0]:
        slot = numbers.randrange(SLOTS)
        try:
            _write_something(store, numbers, hosts, slot, consumers)
        except exception.PlacementException:
            continue
        at = generation(store, hosts[slot])
        memory.acknowledged[number * SLOTS + slot] = ids[slot] << GENERATION_BITS | at
    store.dispose()


def _write_something(store, numbers, hosts, slot, consumers) -> None:
    host = hosts[slot]
    match numbers.randrange(7):
        case 0 | 1:
            consumers.append(uuid())
            other = hosts[(slot + 1) % SLOTS]
            claim(store, consumers[-1], {host: {"VCPU": 1}, other: {"VCPU": 2}})
        case 2 if consumers:
            allocation.delete(store, consumers.pop())
        case 3:
            requested = numbers.sample(
                ["HW_CPU_X86_AVX", "HW_CPU_X86_AVX2", "STORAGE_DISK_SSD"], 2
            )
            trait.replace(store, host, generation(store, host), requested)
        case 4:
            aggregate.replace(store, host, [uuid()], generation(store, host))
        case 5:
            child = new_provider(store, parent=host, VCPU=2)
            if numbers.random() < 0.5:
                provider.update(
                    store, UpdateProvider(child, child, numbers.choice(hosts), may_move=True)
                )
            if numbers.random() < 0.9:
                provider.delete(store, child)
        case _:
            name = f"CUSTOM_{numbers.randrange(10)}"
            trait.ensure(store, name)
            trait.delete(store, name)


def read(settings: DatabaseSettings, memory: SharedMemory, number: int, _seed: int) -> None:
    """Compare until stopped; the first read that is not exact ends the process."""
    store = Store(settings)
    engine = Engine(store)
    while not memory.stop[0]:
        acknowledged, before = list(memory.acknowledged), store.probe()
        states = by_id(engine.current())
        for entry in filter(None, acknowledged):
            id_, at = divmod(entry, 1 << GENERATION_BITS)
            assert states[id_].provider.generation >= at
        with store.read() as tx:
            after, fresh = clocks.values(tx.connection), loaded(tx)
        # providers that did not change between the read and the load must be equal
        unchanged = {clock for clock, value in before.items() if after[clock] == value}
        compared = _of(unchanged, states)
        assert compared == _of(unchanged, fresh)
        memory.reads[number] += 1
        memory.providers[number] += len(compared)
    store.dispose()


def _of(unchanged: set[int], states: dict) -> dict:
    return {id_: state for id_, state in states.items() if clocks.of_provider(id_) in unchanged}


class ProcessPool:
    """Writers and readers; a killed process is replaced."""

    def __init__(self, fork, settings: DatabaseSettings, memory: SharedMemory) -> None:
        self._fork, self._arguments = fork, (settings, memory)
        writers = [(write, at) for at in range(WRITERS)]
        self._functions = writers + [(read, at) for at in range(READERS)]
        self._processes = [self._start(*work) for work in self._functions]

    def _start(self, function, number):
        seed = random.getrandbits(32)
        process = self._fork.Process(target=function, args=(*self._arguments, number, seed))
        process.start()
        return process

    def kill_one(self) -> None:
        """Kill one process, and start another in its place."""
        at = random.randrange(len(self._processes))
        assert self._processes[at].is_alive()
        os.kill(self._processes[at].pid, signal.SIGKILL)
        self._processes[at].join()
        self._processes[at] = self._start(*self._functions[at])

    def are_alive(self) -> bool:
        return all(process.is_alive() for process in self._processes)

    def join(self) -> list[int | None]:
        for process in self._processes:
            process.join(60)
        return [process.exitcode for process in self._processes]


@pytest.mark.timeout(COMPARISONS + 120)
def test_reads_beside_writers_are_exact(settings, backend):
    fork = multiprocessing.get_context("fork")
    memory = SharedMemory.empty()
    started_at, kills = time.monotonic(), 0
    pool = ProcessPool(fork, settings, memory)
    try:
        while sum(memory.reads) < COMPARISONS or kills < KILLS_AT_LEAST:
            time.sleep(SECONDS_BETWEEN_KILLS)
            assert pool.are_alive()
            pool.kill_one()
            kills += 1
    finally:
        memory.stop[0] = 1
        codes = pool.join()
    assert codes == [0] * (WRITERS + READERS)
    print(
        f"\nexact reads on {backend}: {sum(memory.reads)} reads of "
        f"{sum(memory.providers)} providers compared, "
        f"{WRITERS} writers and {READERS} readers, {kills} killed, "
        f"{time.monotonic() - started_at:.0f} s, none wrong"
    )
