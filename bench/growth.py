"""Measure how load, memory, refresh and search grow with the cloud: ``make bench-growth``.

Clouds of GPU hosts, 19 providers each, are written to SQLite files. For each a new process loads
the snapshot, refreshes it after claims, and searches. Times are CPU times of the process, so other
load on the machine affects them little; those of MariaDB and PostgreSQL differ by their drivers.
"""

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from urllib.parse import parse_qsl

from bench.gpu_requests import GPU_REQUESTS
from bench.world_loader import load
from bench.worlds import gpu
from placement import db_api, wsgi
from placement.core.model import ConsumerClaim, ReplaceAllocations
from placement.core.request import SearchSettings
from placement.core.search.deadline import Deadline
from placement.core.search.search import search
from placement.core.snapshot.snapshot import Snapshot
from placement.db.store import Store
from placement.engine.engine import Engine
from placement.microversion import Version
from placement.objects import allocation
from placement.parse.candidates import candidate_request
from placement.render.candidates import allocation_candidates

PROVIDERS = (10_000, 100_000, 190_000, 500_000, 1_000_000)
PROVIDERS_OF_A_HOST = 19
REPEATED = 5
LATEST = Version(1, 39)

# name of a column, and its value
Figure = tuple[str, str]


def opened(file: Path) -> Store:
    """Return the store of a SQLite file, which is created, with its schema, if it is missing."""
    connection = ("placement_database", "connection")
    sync = ("placement_database", "sync_on_startup")
    conf = wsgi.read_configuration([], {connection: f"sqlite:///{file}", sync: True})
    return db_api.store(conf)


def measure(file: Path) -> Iterator[Figure]:
    """Yield the figures of the cloud in a file.  The process must not have loaded another."""
    store = opened(file)
    engine, before = Engine(store), private_megabytes()
    seconds = cpu_seconds(engine.current)
    snapshot = engine.current()
    yield "providers", f"{len(snapshot):,}"
    yield "load", f"{seconds:.1f} s"
    yield "memory", f"{private_megabytes():.0f} MB ({before:.0f} MB before)"
    yield "refresh after a claim", milliseconds(refreshes(store, engine))
    snapshot = engine.current()
    for name, query in GPU_REQUESTS.items():
        times = [cpu_seconds(partial(respond, snapshot, query)) for _ in range(REPEATED)]
        yield name, f"{times[0] * 1000:.0f} ms, then {milliseconds(times[1:])}"


def refreshes(store: Store, engine: Engine) -> Iterator[float]:
    """Yield how long each of some refreshes takes, each after a claim on another provider."""
    snapshot = engine.current()
    hosts = [state.provider.uuid for state in snapshot.states() if "DISK_GB" in state.inventories]
    for host in hosts[:REPEATED]:
        claim = ConsumerClaim(str(uuid.uuid4()), {host: {"DISK_GB": 1}}, "bench", "bench")
        allocation.replace(store, ReplaceAllocations((claim,)))
        yield cpu_seconds(engine.current)


def respond(snapshot: Snapshot, query: str) -> bytes:
    """Return the response to a request for 1,000 candidates, without a deadline."""
    settings = SearchSettings(budget_seconds=600)
    request = candidate_request(parse_qsl(f"{query}&limit=1000"), LATEST)
    deadline = Deadline(settings.budget_seconds, time.monotonic)
    candidates = search(snapshot, request, settings, deadline)
    return allocation_candidates(candidates, request, LATEST, deadline.check)


def cpu_seconds(operation: Callable[[], object]) -> float:
    """Return the CPU time of an operation in this process."""
    began = time.process_time()
    operation()
    return time.process_time() - began


def milliseconds(seconds: Iterable[float]) -> str:
    """Return the median."""
    return f"{statistics.median(seconds) * 1000:.1f} ms"


def private_megabytes() -> float:
    """Return the memory that this process shares with no other one; Linux only."""
    lines = Path("/proc/self/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("Private")) / 1024


def main() -> None:
    """Measure clouds of growing size, each in a process of its own."""
    parser = argparse.ArgumentParser(prog="bench.growth", description=__doc__)
    parser.add_argument("providers", nargs="*", type=int, default=PROVIDERS)
    parser.add_argument("--file", type=Path, help="measure the cloud in this file")
    options = parser.parse_args()
    if options.file:
        for name, value in measure(options.file):
            print(f"{name}: {value}", flush=True)
        return
    for providers in options.providers:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "growth.sqlite"
            opened(file)
            load(f"sqlite:///{file}", gpu(providers // PROVIDERS_OF_A_HOST))
            command = [sys.executable, "-m", "bench.growth", f"--file={file}"]
            subprocess.run(command, check=True)


if __name__ == "__main__":
    main()
