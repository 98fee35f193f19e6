"""Processes that write and processes that read, some of them killed: each read is exact.

A read is compared with a load of everything just after it, but for what changed meanwhile,
and with what was acknowledged before it began, by whichever process.
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
from placement.db.sqlalchemy.clocks import of_provider
from placement.db.sqlalchemy.engines import DatabaseSettings
from placement.db.sqlalchemy.store import SqlStore
from placement.engine.engine import Engine
from placement.objects import aggregate, allocation, provider, trait
from placement.tests.functional.db.factories import claim, generation, new_provider, uuid
from placement.tests.functional.db.snapshots import by_id, loaded

WRITERS, READERS, SLOTS = 3, 3, 3
# a long run: STORM_COMPARISONS=10000, of dozens of providers each
COMPARISONS = int(os.environ.get("STORM_COMPARISONS", "60"))
SECONDS_BETWEEN_KILLS = 0.7 if COMPARISONS < 1000 else 2.0
KILLS_AT_LEAST = 2
GENERATION_BITS = 32


@dataclass
class Board:
    """What processes tell each other; each writes places of its own, a number at a time.

    Nothing of it has a lock: a process that is killed would keep it.
    """

    acknowledged: object
    reads: object
    providers: object
    stop: object

    @classmethod
    def empty(cls):
        return cls(*(RawArray("q", size) for size in (WRITERS * SLOTS, READERS, READERS, 1)))


def write(settings: DatabaseSettings, board: Board, number: int, seed: int) -> None:
    """Write at random, and note what was acknowledged: a provider and its generation."""
    store, choose = SqlStore(settings), random.Random(seed)
    hosts = [new_provider(store, VCPU=10_000) for _ in range(SLOTS)]
    ids = [provider.show(store, host).id for host in hosts]
    consumers: list[str] = []
    while not board.stop[0]:
        slot = choose.randrange(SLOTS)
        try:
            _write_something(store, choose, hosts, slot, consumers)
        except exception.PlacementException:
            continue
        at = generation(store, hosts[slot])
        board.acknowledged[number * SLOTS + slot] = ids[slot] << GENERATION_BITS | at
    store.dispose()


def _write_something(store, choose, hosts, slot, consumers) -> None:
    host = hosts[slot]
    match choose.randrange(7):
        case 0 | 1:
            consumers.append(uuid())
            other = hosts[(slot + 1) % SLOTS]
            claim(store, consumers[-1], {host: {"VCPU": 1}, other: {"VCPU": 2}})
        case 2 if consumers:
            allocation.delete(store, consumers.pop())
        case 3:
            wanted = choose.sample(["HW_CPU_X86_AVX", "HW_CPU_X86_AVX2", "STORAGE_DISK_SSD"], 2)
            trait.replace(store, host, generation(store, host), wanted)
        case 4:
            aggregate.replace(store, host, [uuid()], generation(store, host))
        case 5:
            child = new_provider(store, parent=host, VCPU=2)
            if choose.random() < 0.5:
                provider.update(store, child, child, choose.choice(hosts), may_move=True)
            if choose.random() < 0.9:
                provider.delete(store, child)
        case _:
            name = f"CUSTOM_{choose.randrange(10)}"
            trait.ensure(store, name)
            trait.delete(store, name)


def read(settings: DatabaseSettings, board: Board, number: int, _seed: int) -> None:
    """Compare until told to stop; the first read that is not exact ends the process."""
    store = SqlStore(settings)
    engine = Engine(store)
    while not board.stop[0]:
        noted, before = list(board.acknowledged), store.probe()
        found = by_id(engine.current())
        for entry in filter(None, noted):
            id_, at = divmod(entry, 1 << GENERATION_BITS)
            assert found[id_].provider.generation >= at
        with store.read() as tx:
            after, fresh = tx.picture.clocks(), loaded(tx)
        # what did not change from before the read until the load is the same in both
        still = {clock for clock, value in before.items() if after[clock] == value}
        compared = _of(still, found)
        assert compared == _of(still, fresh)
        board.reads[number] += 1
        board.providers[number] += len(compared)
    store.dispose()


def _of(clocks: set[int], states: dict) -> dict:
    return {id_: state for id_, state in states.items() if of_provider(id_) in clocks}


class Crowd:
    """Processes that all do their work, and are replaced when they were killed."""

    def __init__(self, fork, settings: DatabaseSettings, board: Board) -> None:
        self._fork, self._arguments = fork, (settings, board)
        writers = [(write, at) for at in range(WRITERS)]
        self._works = writers + [(read, at) for at in range(READERS)]
        self._processes = [self._start(*work) for work in self._works]

    def _start(self, work, number):
        seed = random.getrandbits(32)
        process = self._fork.Process(target=work, args=(*self._arguments, number, seed))
        process.start()
        return process

    def kill_one(self) -> None:
        """End one, in the middle of whatever it does, and start another in its place."""
        at = random.randrange(len(self._processes))
        assert self._processes[at].is_alive()
        os.kill(self._processes[at].pid, signal.SIGKILL)
        self._processes[at].join()
        self._processes[at] = self._start(*self._works[at])

    def are_well(self) -> bool:
        return all(process.is_alive() for process in self._processes)

    def join(self) -> list[int | None]:
        for process in self._processes:
            process.join(60)
        return [process.exitcode for process in self._processes]


@pytest.mark.timeout(COMPARISONS / 50 + 120)
def test_reads_beside_writers_are_exact(settings, backend):
    fork = multiprocessing.get_context("fork")
    board = Board.empty()
    begun, kills = time.monotonic(), 0
    crowd = Crowd(fork, settings, board)
    try:
        while sum(board.reads) < COMPARISONS or kills < KILLS_AT_LEAST:
            time.sleep(SECONDS_BETWEEN_KILLS)
            assert crowd.are_well()
            crowd.kill_one()
            kills += 1
    finally:
        board.stop[0] = 1
        codes = crowd.join()
    assert codes == [0] * (WRITERS + READERS)
    print(
        f"\nexact reads on {backend}: {sum(board.reads)} reads of "
        f"{sum(board.providers)} providers compared, "
        f"{WRITERS} writers and {READERS} readers, {kills} killed, "
        f"{time.monotonic() - begun:.0f} s, none wrong"
    )
