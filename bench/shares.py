"""CPU time of a response: search, rendering and the rest (``python -m bench.shares``).

The requests are those of the GPU hosts and of flat hosts, with limit=1000. Search and rendering
are measured in this process, on a snapshot of the same world; the whole response as CPU time of
the uWSGI workers. The rest is the HTTP layer, reading the clocks and sending. CPU times
depend less on other load than latencies. With ``--record`` the table of the documentation is
written.
"""

import argparse
import csv
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from urllib.parse import parse_qsl

from bench.__main__ import FULL, PROJECT, started
from bench.client import Get
from bench.gpu_requests import GPU_REQUESTS
from bench.harness import PLACEMENT, UPSTREAM, Harness
from bench.pages import DOCS
from bench.rows import FLAT
from bench.services import install_upstream
from bench.worlds import World, flat, gpu, provider_states
from placement.core.request import SearchSettings
from placement.core.search.deadline import Deadline
from placement.core.search.search import search
from placement.core.snapshot.snapshot import Snapshot
from placement.microversion import MAX_VERSION
from placement.parse.candidates import candidate_request
from placement.render.candidates import pieces
from placement.tests.support.provider_tables import snapshot_of_states

REPEATS = 40
HEADINGS = ["request", "search", "rendering", "rest", "response, CPU ms", "body, MB"]


def requests(hosts: int) -> Iterator[tuple[World, str, str]]:
    """Yield world, name and query of each request."""
    yield flat(hosts), f"{hosts:,} flat hosts", f"{FLAT}&limit=1000"
    for name, query in GPU_REQUESTS.items():
        yield gpu(hosts), f"{hosts:,} GPU hosts, {name}", f"{query}&limit=1000"


def milliseconds_of(work: Callable[[], object]) -> float:
    """Return the median CPU time of a function in this process."""
    times = []
    for _ in range(REPEATS):
        began = time.process_time()
        work()
        times.append(time.process_time() - began)
    return sorted(times)[len(times) // 2] * 1000


def search_and_rendering(snapshot: Snapshot, query: str) -> tuple[float, float]:
    """Return the CPU times of the search and of rendering its result."""
    request = candidate_request(parse_qsl(query), MAX_VERSION)

    def searched() -> object:
        return search(snapshot, request, SearchSettings(), Deadline(60, time.monotonic))

    candidates = search(snapshot, request, SearchSettings(), Deadline(60, time.monotonic))

    def rendered() -> object:
        check_deadline = Deadline(60, time.monotonic).check
        return b"".join(pieces(candidates, request, MAX_VERSION, check_deadline))

    rendered()
    return milliseconds_of(searched), milliseconds_of(rendered)


def response(harness: Harness, query: str) -> tuple[float, int]:
    """Return the CPU time of the workers for one response, and the length of its body."""
    connection = harness.connect(PLACEMENT)
    get = Get(f"/allocation_candidates?{query}")
    body = connection.send(get).body
    connection.send(get)
    before = _cpu_seconds(harness)
    for _ in range(REPEATS):
        connection.send(get)
    used = _cpu_seconds(harness) - before
    connection.close()
    return used / REPEATS * 1000, len(body)


def _cpu_seconds(harness: Harness) -> float:
    times = [worker.cpu_times() for worker in harness.services[PLACEMENT].workers()]
    return sum(one.user + one.system for one in times)


def main() -> None:
    """Measure all requests, print the table and perhaps write it."""
    parser = argparse.ArgumentParser(prog="bench.shares", description=__doc__)
    parser.add_argument("--record", action="store_true", help="write the table of the page")
    parser.add_argument("--folder", type=Path, default=PROJECT / ".bench")
    options = parser.parse_args()
    environments = {PLACEMENT: Path(sys.prefix), UPSTREAM: install_upstream(options.folder)}
    lines = [HEADINGS]
    with (
        tempfile.TemporaryDirectory() as logs,
        started("mariadb", environments, Path(logs)) as run,
    ):
        loaded: World | None = None
        for hosts in (1_000, 10_000):
            for world, name, query in requests(hosts):
                if world != loaded:
                    harness, loaded = run.prepare(world, FULL), world
                    snapshot = snapshot_of_states(provider_states(world))
                lines.append(line(harness, snapshot, name, query))
                print(*lines[-1], sep=", ", flush=True)
    if options.record:
        with (DOCS / "performance-shares.csv").open("w", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows(lines)


def line(harness: Harness, snapshot: Snapshot, name: str, query: str) -> list[str]:
    """Return the cells of one request."""
    query = harness.loaded_world.fill(query)
    parts: Sequence[float] = search_and_rendering(snapshot, query)
    whole, length = response(harness, query)
    rest = max(whole - sum(parts), 0.0)
    shares = [f"{value:.1f} ms ({value / whole:.0%})" for value in (*parts, rest)]
    return [name, *shares, f"{whole:.1f}", f"{length / 1e6:.2f}"]


if __name__ == "__main__":
    main()
