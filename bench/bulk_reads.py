"""The bulk reads under ``/insight``, beside the same by a request per provider.

``python -m bench.bulk_reads [flat] [gpu]`` serves a world of 10,000 hosts from SQLite and prints,
for each read, the wall-clock and the CPU seconds of the service (least of five), the size of the
response and what it adds to the peak of the service's memory. The reads of an exporter are the
list of providers and three requests for each; they are sent for some providers and multiplied.
"""

import argparse
import json
import re
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import requests

from bench import world_loader
from bench.services import Service
from bench.worlds import World, gpu, used
from placement.db.schema import migration, seed
from placement.db.settings import DatabaseSettings
from placement.db.store import Store

REPEATS = 5
SAMPLE = 200
HEADERS = {"X-Auth-Token": "admin", "Accept-Encoding": "identity"}
LATEST = {"OpenStack-API-Version": "placement latest"}
WORLDS: dict[str, Callable[[int], World]] = {"flat": used, "gpu": gpu}
SHAPES = {
    "flat": "resources=VCPU:8,MEMORY_MB:16384,DISK_GB:100",
    "gpu": "resources=DISK_GB:100&resources1=VCPU:4,MEMORY_MB:8192"
    "&resources2=PGPU:1&same_subtree=1,2&group_policy=none",
}


class Served:
    """A running service, its session and its process."""

    def __init__(self, url: str, process: psutil.Process) -> None:
        self.url = url
        self.process = process
        self.session = requests.Session()

    def get(self, path: str, **headers: str) -> requests.Response:
        """Return a response, which must be a success."""
        response = self.session.get(
            f"{self.url}{path}", headers={**HEADERS, **LATEST, **headers}, timeout=300, stream=True
        )
        response.raise_for_status()
        return response

    def cpu_seconds(self) -> float:
        """Return the CPU seconds that the service has used."""
        times = self.process.cpu_times()
        return float(times.user + times.system)

    def peak_megabytes(self) -> float:
        """Return the peak of the resident memory since ``reset_peak``."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmHWM:\s+(\d+)", status)[1]) / 1024  # type: ignore[index]

    def reset_peak(self) -> None:
        """Begin a new measurement of the peak."""
        Path(f"/proc/{self.process.pid}/clear_refs").write_text("5")


def read(served: Served, name: str, path: str, **headers: str) -> None:
    """Print the figures of one read."""
    walls, cpus, growths, size = [], [], [], 0
    for _ in range(REPEATS):
        served.reset_peak()
        resident = served.process.memory_info().rss / 2**20
        cpu, begun = served.cpu_seconds(), time.perf_counter()
        response = served.get(path, **headers)
        size = sum(len(chunk) for chunk in response.raw.stream(1 << 16))
        walls.append(time.perf_counter() - begun)
        cpus.append(served.cpu_seconds() - cpu)
        growths.append(served.peak_megabytes() - resident)
    print(
        f"{name:42} {response.status_code} {min(walls) * 1000:9.1f} ms {min(cpus) * 1000:9.0f} ms"
        f" CPU {size / 1000:10.1f} kB  +{max(growths):.1f} MB"
    )


def exporter(served: Served) -> None:
    """Print what the same takes by a request for the list, and three for each provider."""
    cpu, begun = served.cpu_seconds(), time.perf_counter()
    listed = served.get("/resource_providers").json()["resource_providers"]
    one_list, list_cpu = time.perf_counter() - begun, served.cpu_seconds() - cpu
    cpu, begun, size = served.cpu_seconds(), time.perf_counter(), 0
    for provider in listed[:SAMPLE]:
        for noun in ("inventories", "usages", "traits"):
            path = f"/resource_providers/{provider['uuid']}/{noun}"
            size += len(served.get(path).content)
    wall, own = time.perf_counter() - begun, served.cpu_seconds() - cpu
    times = len(listed) / min(SAMPLE, len(listed))
    print(
        f"{'1 + 3N requests, N = ' + str(len(listed)):42} 200 "
        f"{(one_list + wall * times) * 1000:9.0f} ms {(list_cpu + own * times) * 1000:9.0f} ms"
        f" CPU {size * times / 1000:10.1f} kB  (from {SAMPLE} providers)"
    )


def change(served: Served, count: int) -> None:
    """Change the aggregates of some providers."""
    for provider in served.get("/resource_providers").json()["resource_providers"][:count]:
        path = f"{served.url}/resource_providers/{provider['uuid']}"
        generation = served.session.get(path, headers={**HEADERS, **LATEST}).json()["generation"]
        body = {
            "resource_provider_generation": generation,
            "aggregates": ["aaaaaaaa-0000-4000-8000-000000000001"],
        }
        served.session.put(f"{path}/aggregates", json=body, headers={**HEADERS, **LATEST})


def measure(name: str, hosts: int) -> None:
    """Serve a world and print its figures."""
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{folder}/placement.sqlite"
        store = Store(DatabaseSettings(connection=url, sqlite_synchronous=False))
        migration.upgrade(store)
        seed.sync(store)
        world_loader.load(url, WORLDS[name](hosts))
        migration.sync(store)
        store.dispose()
        service = Service("placement", Path(sys.prefix), Path(folder) / "service", url)
        service.start(processes=1)
        try:
            (worker,) = service.workers()
            served = Served(f"http://127.0.0.1:{service.port}", worker)
            overview = served.get("/insight").json()["snapshot"]
            print(f"{name}: {overview['roots']} roots, {overview['providers']} providers")
            figures(served, name)
        finally:
            service.stop()


def figures(served: Served, name: str) -> None:
    """Print the figures of each read."""
    path = "/insight/providers"
    read(served, "GET /insight/providers", path)
    read(served, "  as lines", path, Accept="application/x-ndjson")
    read(served, "  compressed", path, **{"Accept-Encoding": "gzip"})
    read(served, "  fields=uuid,name", f"{path}?fields=uuid,name")
    tag = served.get(f"{path}?name=none").headers["etag"]
    read(served, "  If-None-Match", path, **{"If-None-Match": tag})
    for count in (0, 1, 100):
        token = json.loads(served.get(f"{path}?name=none").content)["token"]
        change(served, count)
        read(served, f"  changed_since, {count} changed", f"{path}?changed_since={token}")
    for by in ("none", "aggregate", "root"):
        read(served, f"capacity by {by}", f"/insight/capacity?{SHAPES[name]}&by={by}")
    exporter(served)


def main() -> None:
    """Print the figures of some worlds."""
    parser = argparse.ArgumentParser(prog="bench.bulk_reads", description=__doc__)
    parser.add_argument("worlds", nargs="*", default=list(WORLDS), help="flat, gpu")
    parser.add_argument("--hosts", type=int, default=10_000)
    arguments = parser.parse_args()
    for name in arguments.worlds:
        measure(name, arguments.hosts)


if __name__ == "__main__":
    main()
