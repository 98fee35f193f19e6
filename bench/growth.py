"""Measure how load, memory, refresh and search grow with the cloud: ``make bench-growth``.

Clouds of GPU hosts, 19 providers each, are written to a database. For each, a uWSGI worker loads
the snapshot, whose memory is measured; then a new process loads it, refreshes it after claims, and
searches. Times of that process are its wall clock time and its CPU time, which other load on the
machine affects little. ``--record`` replaces the measured sizes in the documentation.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from functools import partial
from itertools import cycle, islice
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import sqlalchemy as sa

from bench.client import Get
from bench.databases import SERVERS, Database
from bench.gpu_requests import GPU_REQUESTS
from bench.pages import AFTER_CLAIMS, AFTER_PROVIDER, DOCS, RESULTS, write
from bench.services import Service
from bench.worlds import World, gpu, load
from placement import db_api, wsgi
from placement.core.model import ConsumerClaim
from placement.core.request import SearchSettings
from placement.core.search.deadline import Deadline
from placement.core.search.search import search
from placement.core.snapshot.snapshot import Snapshot
from placement.db.schema import migration, seed
from placement.db.store import Store
from placement.engine.engine import Engine
from placement.microversion import MAX_VERSION
from placement.objects import allocation, provider
from placement.parse.candidates import candidate_request
from placement.render.candidates import pieces
from placement_insight.demo.database import count_usage

PROVIDERS = (10_000, 100_000, 190_000, 500_000, 1_000_000)
PROVIDERS_OF_A_HOST = 19
REPEATED = 5
BURST, CLAIMS_AT_ONCE = 2_000, 100

SCHEMA = "placement"

# name of a value, and the value: seconds, or MB
Values = dict[str, float]


# --- the database ---------------------------------------------------------------------------


def opened(url: str) -> Store:
    """Return the store of a database."""
    defaults = {("placement_database", "connection"): url}
    return Store(db_api.settings(wsgi.read_configuration([], defaults)))


def fill(database: Database, world: World) -> None:
    """Create the schema, and load the world; what another world left there is dropped."""
    database.create(SCHEMA)
    url = database.url(SCHEMA)
    _sync(url)
    load(url, world)
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    with engine.begin() as connection:
        count_usage(connection)
    _sync(url)  # compares the counters


def _sync(url: str) -> None:
    store = opened(url)
    migration.sync(store)
    seed.sync(store)
    store.dispose()


# --- in a process of its own --------------------------------------------------------------


def measure_process(url: str) -> Values:
    """Return the times of a cloud in a database.  The process must not have loaded another."""
    store = opened(url)
    engine = Engine(store)
    values = times("load", [engine.current])
    snapshot = engine.current()
    values["providers"] = snapshot.size
    hosts = _hosts(snapshot)
    for name, claims in zip(AFTER_CLAIMS, (1, BURST), strict=True):
        values |= times(name, _after_claims(store, engine, hosts, claims))
    values |= times(AFTER_PROVIDER, _after_providers(store, engine))
    snapshot = engine.current()
    for name, query in GPU_REQUESTS.items():
        respond(snapshot, query)  # renders text that is kept
        values |= times(name, [partial(respond, snapshot, query)] * REPEATED)
    return values


def times(name: str, operations: Iterable[Callable[[], object]]) -> Values:
    """Return the median wall clock time and CPU time of operations."""
    walls, cpus = [], []
    for operation in operations:
        wall, cpu = time.perf_counter(), time.process_time()
        operation()
        walls.append(time.perf_counter() - wall)
        cpus.append(time.process_time() - cpu)
    return {name: statistics.median(walls), f"{name}, CPU": statistics.median(cpus)}


def _hosts(snapshot: Snapshot) -> list[str]:
    return [state.provider.uuid for state in snapshot.states() if "DISK_GB" in state.inventories]


def _after_claims(
    store: Store, engine: Engine, hosts: list[str], claims: int
) -> Iterator[Callable[[], object]]:
    """Yield refreshes, each after so many claims on different hosts, if there are so many."""
    rest = cycle(hosts)
    for _ in range(REPEATED):
        chosen = islice(rest, claims)
        while part := tuple(map(_claim, islice(chosen, CLAIMS_AT_ONCE))):
            allocation.replace(store, part)
        yield engine.current


def _after_providers(store: Store, engine: Engine) -> Iterator[Callable[[], object]]:
    """Yield refreshes, each after the creation of a root provider."""
    for _ in range(REPEATED):
        uuid_ = str(uuid.uuid4())
        provider.create(store, uuid_, uuid_, None)
        yield engine.current


def _claim(host: str) -> ConsumerClaim:
    return ConsumerClaim(str(uuid.uuid4()), {host: {"DISK_GB": 1}}, "bench", "bench")


def respond(snapshot: Snapshot, query: str) -> bytes:
    """Return the response to a request for 1,000 candidates, without a deadline."""
    settings = SearchSettings(budget_seconds=600)
    request = candidate_request(parse_qsl(f"{query}&limit=1000"), MAX_VERSION)
    deadline = Deadline(settings.budget_seconds, time.monotonic)
    candidates = search(snapshot, request, settings, deadline)
    return b"".join(pieces(candidates, request, MAX_VERSION, deadline.check))


# --- the worker of a server -----------------------------------------------------------------


def measure_worker(url: str, folder: Path) -> Values:
    """Return the memory of a uWSGI worker in MB after the load, and after requests.

    Also the seconds from the start until the first response; the worker has loaded the snapshot.
    """
    service = Service("placement", Path(sys.prefix), folder, url)
    values = {"start": service.start(processes=1)}
    try:
        (worker,) = service.workers()
        values |= memory(worker.pid)
        connection = service.connect(60)
        for query in GPU_REQUESTS.values():
            connection.send(Get(f"/allocation_candidates?{query}&limit=1000"))
        connection.close()
        after = memory(worker.pid)
        values["memory after requests"] = after["private"] + after["shared"]
    finally:
        service.stop()
    return values


def memory(pid: int) -> Values:
    """Return the resident memory in MB that a process shares with others, and the rest; Linux."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]
    sizes = {line.split(":")[0]: int(line.split()[1]) / 1024 for line in lines}
    return {
        kind.lower(): sizes[f"{kind}_Clean"] + sizes[f"{kind}_Dirty"]
        for kind in ("Private", "Shared")
    }


# --- the run --------------------------------------------------------------------------------


def measure(url: str, folder: Path) -> Values:
    """Return the values of a cloud in a database; the process measures in another."""
    load_average = os.getloadavg()[0]
    values = measure_worker(url, folder / "service")
    command = [sys.executable, "-m", "bench.growth", "--url", url]
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout
    values |= json.loads(output)
    return values | {"load average before": load_average}


def merge(path: Path, database: str, rows: Iterable[Values]) -> None:
    """Replace the rows of the measured sizes in a file of results."""
    document: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {"rows": []}
    measured = {row["providers"]: {"database": database, **row} for row in rows}
    kept = {row["providers"]: row for row in document["rows"]}
    document["rows"] = [row for _, row in sorted((kept | measured).items())]
    path.write_text(json.dumps(document, indent=1) + "\n")


def arguments() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(prog="bench.growth", description=__doc__)
    parser.add_argument("providers", nargs="*", type=int, default=PROVIDERS)
    parser.add_argument("--database", choices=sorted(SERVERS), default="mariadb")
    parser.add_argument("--record", action="store_true", help="write the results to bench/results")
    parser.add_argument("--url", help="measure the cloud in this database only, in this process")
    return parser.parse_args()


def main() -> None:
    """Measure clouds of growing size, each in processes of its own."""
    options = arguments()
    if options.url:
        print(json.dumps(measure_process(options.url)))
        return
    rows: list[Values] = []
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bench-growth-")))
        database = stack.enter_context(SERVERS[options.database](folder))
        for providers in options.providers:
            began = time.monotonic()
            fill(database, gpu(providers // PROVIDERS_OF_A_HOST))
            filled = time.monotonic()
            rows.append(measure(database.url(SCHEMA), folder))
            took = (
                f"filled in {filled - began:.0f} s, measured in {time.monotonic() - filled:.0f} s"
            )
            print(json.dumps(rows[-1], indent=1), took, flush=True)
            if options.record:
                merge(RESULTS / "growth.json", options.database, rows)
                write(RESULTS, DOCS)


if __name__ == "__main__":
    main()
