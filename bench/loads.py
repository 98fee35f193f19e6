"""The CPU time of requests, and how evenly a scheduler fills the hosts.

CPU time is of all threads of the service and of the database server, from ``schedstat``. Unlike
latencies, it hardly depends on other programs on the machine.
"""

import json
import random
import statistics
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

from bench.client import Connection, Get
from bench.harness import PLACEMENT, UPSTREAM, Harness, Measurement, Measurements
from bench.measures import ACCEPTED
from bench.responses import WrongResponse
from bench.workloads import FLAVOR, Operation, Workload, put

ROUNDS, REQUESTS = 5, 20
# of the service, and of the database
Costs = Sequence[float]


def cpu_seconds(processes: Iterable[psutil.Process]) -> float:
    """Return the CPU time of all threads of the processes."""
    tasks = (path for one in processes for path in Path(f"/proc/{one.pid}/task").glob("*"))
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e9


@dataclass(frozen=True)
class CpuTime:
    """The CPU time of workloads, each with its weight; services alternate, each worker is warm."""

    workloads: Sequence[tuple[Workload, float]]
    unit: str = "ms CPU"

    def measure(self, harness: Harness) -> Measurements:
        connections = {name: list(harness.warm(name).values()) for name in (PLACEMENT, UPSTREAM)}
        rounds = [
            {name: self._round(harness, name, to) for name, to in connections.items()}
            for _ in range(ROUNDS + 1)
        ]
        return {name: self._median([costs[name] for costs in rounds[1:]]) for name in connections}

    def _median(self, rounds: Sequence[Costs]) -> Measurement:
        service, database = map(statistics.median, zip(*rounds, strict=True))
        note = f"{service:.2f} of it the service, {database:.2f} the database"
        samples = ROUNDS * REQUESTS * len(self.workloads)
        return Measurement(service + database, self.unit, samples=samples, note=note)

    def _round(self, harness: Harness, name: str, connections: Sequence[Connection]) -> Costs:
        """Return the weighted sums of the milliseconds of each workload."""
        numbers = random.Random(name)
        sums = [0.0, 0.0]
        for workload, weight in self.workloads:
            operation = workload(harness.loaded_world, numbers)
            for part, cost in enumerate(_milliseconds(harness, name, operation, connections)):
                sums[part] += weight * cost
        return sums


def _milliseconds(
    harness: Harness, name: str, operation: Operation, connections: Sequence[Connection]
) -> Costs:
    """Return the CPU times of one of the operations, which all workers execute in turn."""
    parts = (harness.services[name].workers(), harness.database_processes())
    before = [cpu_seconds(processes) for processes in parts]
    for number in range(REQUESTS):
        response = operation(connections[number % len(connections)])
        if response.status not in ACCEPTED:
            raise WrongResponse(f"{name}: status {response.status}: {response.body[:300]!r}")
    after = [cpu_seconds(processes) for processes in parts]
    return [(end - start) * 1000 / REQUESTS for start, end in zip(before, after, strict=True)]


@dataclass(frozen=True)
class Spread:
    """The standard deviation of servers per host, if a client selects the emptiest host.

    Of equal hosts it selects the first, in the order of their creation.
    """

    path: str
    claims: int

    def measure(self, harness: Harness) -> Measurements:
        return {name: self._filled(harness, name) for name in (PLACEMENT, UPSTREAM)}

    def _filled(self, harness: Harness, name: str) -> Measurement:
        hosts = harness.loaded_world.providers["host"]
        number_of = {host: number for number, host in enumerate(hosts)}
        request, connection = Get(harness.loaded_world.fill(self.path)), harness.connect(name)
        servers, offered = Counter(dict.fromkeys(hosts, 0)), set[str]()
        for _ in range(self.claims):
            found = json.loads(connection.send(request).body)["provider_summaries"]
            offered |= found.keys()
            host = min(found, key=lambda one: (servers[one], number_of[one]))
            if connection.send(put({host: FLAVOR})).status == 204:
                servers[host] += 1
        connection.close()
        note = f"{len(hosts) - len(offered)} of {len(hosts)} hosts never offered"
        deviation = statistics.pstdev(servers.values())
        return Measurement(deviation, "servers", samples=self.claims, note=note)
