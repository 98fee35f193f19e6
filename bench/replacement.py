"""Measure how long requests wait while workers are replaced: ``python -m bench.replacement``.

Each server has two workers over a cloud of GPU hosts on MariaDB. Requests for candidates and
claims alternate at a steady rate. ``--record`` writes the results to the documentation.
"""

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
import uuid
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import cycle
from pathlib import Path

import psutil

from bench.client import Connection, Get, Request, Send
from bench.databases import SERVERS
from bench.gpu_requests import GPU_REQUESTS
from bench.open_loop import TIMEOUT_SECONDS, Sample, send, send_at_rate
from bench.own_database import SCHEMA, fill
from bench.pages import DOCS, RESULTS, write
from bench.replaced_servers import REPLACEMENTS, WORKERS, Place, Replacement, RunningServer
from bench.services import CONFIGURATION, compile_placement
from bench.workloads import sending
from bench.worlds import PROJECT, LoadedWorld, gpu
from placement.tests.support.servers import free_port

PROVIDERS_OF_A_HOST = 19
START_SECONDS = 60
REPLACEMENT_SECONDS = 30
_CANDIDATES = f"/allocation_candidates?{GPU_REQUESTS['plain']}"


@dataclass(frozen=True)
class Load:
    """The requests of one replacement."""

    rate: float
    seconds: float


def requests(world: LoadedWorld) -> Iterator[Request]:
    """Requests for 1,000 candidates, as Nova sends them, and claims, alternately."""
    hosts = list(world.providers["host"])
    random.Random("replacement").shuffle(hosts)
    for host in cycle(hosts):
        yield Get(f"{_CANDIDATES}&limit=1000")
        yield _claim(host)


def _claim(host: str) -> Request:
    body = {
        "allocations": {host: {"resources": {"DISK_GB": 1}}},
        "project_id": PROJECT,
        "user_id": PROJECT,
        "consumer_generation": None,
        "consumer_type": "INSTANCE",
    }
    return Send("PUT", f"/allocations/{uuid.uuid4()}", body, {})


def measure(replacement: Replacement, url: str, world: LoadedWorld, load: Load) -> list[Sample]:
    """Return the samples of one replacement.  Raises: RuntimeError if it does not happen."""
    with served(replacement, url) as server:
        before = set(server.master.children())
        samples = send_at_rate(
            partial(Connection, server.place.port, TIMEOUT_SECONDS),
            map(sending, requests(world)),
            load.rate,
            load.seconds,
            lambda: replacement.replace(server),
        )
        _wait_for_replacement(replacement, server, before)
        return samples


@contextmanager
def served(replacement: Replacement, url: str) -> Iterator[RunningServer]:
    """Run a server until the end of the block."""
    with tempfile.TemporaryDirectory(prefix="bench-replacement-") as name:
        place = Place(Path(name), free_port())
        (place.folder / "placement.conf").write_text(CONFIGURATION.format(url=url))
        (place.folder / "reload").touch()
        with (place.folder / "log").open("wb") as log:
            process = subprocess.Popen(
                list(map(str, replacement.command(place))),
                env=os.environ | {"OS_PLACEMENT_CONFIG_DIR": name},
                cwd=name,
                stdout=log,
                stderr=log,
            )
        server = RunningServer(psutil.Process(process.pid), place)
        try:
            _warm(place.port)
            yield server
        except Exception:
            print((place.folder / "log").read_text()[-3000:], file=sys.stderr)
            raise
        finally:
            _stop(server.master)


def _warm(port: int) -> None:
    """Send requests for candidates until the workers have loaded the snapshot."""
    ten, deadline = sending(Get(f"{_CANDIDATES}&limit=10")), time.perf_counter() + START_SECONDS
    connect = partial(Connection, port, TIMEOUT_SECONDS)

    def sample(_: int) -> Sample:
        now = time.perf_counter()
        return send(connect, ten, now, now)

    while time.perf_counter() < deadline:
        with ThreadPoolExecutor(4 * WORKERS) as clients:
            samples = list(clients.map(sample, range(4 * WORKERS)))
        if not any(sample.error or sample.latency > 0.5 for sample in samples):
            return
        time.sleep(0.1)
    raise RuntimeError(f"the server did not respond within {START_SECONDS} s")


def _stop(master: psutil.Process) -> None:
    """Stop a server and its workers."""
    processes = [master, *master.children(recursive=True)]
    master.terminate()
    _, alive = psutil.wait_procs(processes, timeout=20)
    for process in alive:
        process.kill()


def _wait_for_replacement(
    replacement: Replacement, server: RunningServer, before: set[psutil.Process]
) -> None:
    """Wait until the workers are replaced.  Raises: RuntimeError."""
    deadline = time.monotonic() + REPLACEMENT_SECONDS
    while time.monotonic() < deadline:
        now = set(server.master.children())
        if len(before - now) == replacement.workers and len(now) == WORKERS:
            return
        time.sleep(0.1)
    raise RuntimeError(f"{replacement.name}: workers {before} before, {now} now")


def cells(samples: Sequence[Sample]) -> dict[str, str]:
    """The columns of a row: number of requests, errors, and latencies."""
    latencies = sorted(sample.latency for sample in samples)
    errors = Counter(sample.error for sample in samples if sample.error)
    p99 = latencies[min(len(latencies) - 1, round(0.99 * len(latencies)))]
    return {
        "requests": f"{len(samples):,}",
        "errors": ", ".join(f"{count} {error}" for error, count in errors.items()) or "0",
        "median": f"{statistics.median(latencies):.3f} s",
        "p99": f"{p99:.2f} s",
        "longest": f"{latencies[-1]:.2f} s",
    }


def arguments() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(prog="bench.replacement", description=__doc__)
    parser.add_argument("--providers", type=int, default=190_000)
    parser.add_argument("--rate", type=float, default=20, help="requests a second")
    parser.add_argument("--seconds", type=float, default=15, help="duration of each measurement")
    parser.add_argument("--repeat", type=int, default=3, help="measurements of each way")
    parser.add_argument("--only", metavar="TEXT", default="", help="ways that contain the text")
    parser.add_argument("--record", action="store_true", help="write the results to bench/results")
    return parser.parse_args()


def main() -> None:
    """Measure each way to replace workers."""
    options = arguments()
    compile_placement()
    load = Load(options.rate, options.seconds)
    rows: dict[str, dict[str, str]] = {}
    with (
        tempfile.TemporaryDirectory(prefix="bench-") as name,
        SERVERS["mariadb"](Path(name)) as database,
    ):
        world = fill(database, gpu(options.providers // PROVIDERS_OF_A_HOST))
        url = database.url(SCHEMA)
        for replacement in (one for one in REPLACEMENTS if options.only in one.name):
            load_average = f"{os.getloadavg()[0]:.0f}"
            repeated = [measure(replacement, url, world, load) for _ in range(options.repeat)]
            measured = cells([sample for samples in repeated for sample in samples])
            rows[replacement.name] = measured | {"load average": load_average}
            print(replacement.name, rows[replacement.name], flush=True)
            if options.record:
                merge(RESULTS / "replacement.json", rows)
                write(RESULTS, DOCS)


def merge(path: Path, rows: dict[str, dict[str, str]]) -> None:
    """Replace the measured rows in a file of results; keep the order of REPLACEMENTS."""
    recorded = json.loads(path.read_text()) if path.exists() else {}
    recorded |= rows
    ordered = {one.name: recorded[one.name] for one in REPLACEMENTS if one.name in recorded}
    path.write_text(json.dumps(ordered, indent=1) + "\n")


if __name__ == "__main__":
    main()
