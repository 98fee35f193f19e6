"""Both services over one world, measurements, and the budget of a row."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import psutil

from bench.audit import Audit
from bench.client import Connection, Get
from bench.responses import WrongResponse
from bench.services import PROCESSES, THREADS, Service
from bench.worlds import LoadedWorld

PLACEMENT, UPSTREAM = "placement", "upstream"
# in tables
LABELS = {PLACEMENT: "this service", UPSTREAM: "openstack-placement"}
# the unit of a difference, which may be zero or negative: it has no ratio
MORE = "ms more"


@dataclass(frozen=True)
class Budget:
    """How long a row may take; ``cutoff_seconds`` ends one request."""

    seconds: float
    samples: int
    cutoff_seconds: float
    restarts: int
    # how often concurrent clients alternate between the services
    rounds: int


@dataclass(frozen=True)
class Measurement:
    """A measured value of one service: milliseconds, operations a second, or MB."""

    value: float
    unit: str = "ms"
    p99: float | None = None
    samples: int = 1
    note: str = ""
    cut_off: bool = False
    # the length of the response body
    bytes: int = 0

    def with_note(self, note: str) -> "Measurement":
        """Return a copy with one more note."""
        return replace(self, note="; ".join(filter(None, (self.note, note))))


Measurements = Mapping[str, Measurement]
Services = Mapping[str, Service]


@dataclass
class Harness:
    """Both services over one world, with an audit of each."""

    services: Services
    loaded_world: LoadedWorld
    budget: Budget
    database_processes: Callable[[], Sequence[psutil.Process]] = tuple
    audits: dict[str, Audit] = field(init=False)

    def __post_init__(self) -> None:
        self.audits = {name: Audit(self.loaded_world) for name in self.services}

    def connect(self, name: str, timeout_seconds: float | None = None) -> Connection:
        """Connect to a service; the timeout is the cut-off of the budget by default."""
        timeout = timeout_seconds or self.budget.cutoff_seconds
        return self.services[name].connect(timeout, self.audits[name].record)

    def restart(self, name: str, *, graceful: bool = True) -> None:
        """Restart a service, and send one request to each of its processes."""
        self.services[name].stop(graceful=graceful)
        self.services[name].start()
        self.warm(name)

    def warm(self, name: str) -> dict[int, Connection]:
        """Return a connection to each process, after its first response with candidates.

        A small request to each process loads its snapshot.
        """
        root = next(iter(self.loaded_world.providers.values()))[0]
        request = Get(f"/allocation_candidates?resources=VCPU:1&limit=1&in_tree={root}")
        connected: dict[int, Connection] = {}
        connections: list[Connection] = []
        while len(connected) < PROCESSES and len(connections) < PROCESSES * THREADS:
            connections.append(self.connect(name))
            connections[-1].send(request)
            connected.setdefault(worker_of(self.services[name], connections[-1]), connections[-1])
        return connected

    def audited(self, measurements: Measurements) -> Measurements:
        """Return the measurements, with a note if openstack-placement lost or doubled claims.

        Raises: WrongResponse if this service did.
        """
        discrepancies = {name: self._discrepancy(name) for name in measurements}
        if discrepancies[PLACEMENT]:
            raise WrongResponse(f"{PLACEMENT}: {discrepancies[PLACEMENT]}")
        return {
            name: measurement.with_note(discrepancies[name])
            for name, measurement in measurements.items()
        }

    def _discrepancy(self, name: str) -> str:
        try:
            return self.audits[name].discrepancy(self.connect(name))
        except (OSError, WrongResponse) as error:
            return f"the stored usage is not known: {error}"


def worker_of(service: Service, connection: Connection) -> int:
    """Return the process id of the worker at the other end of a connection; 0 if not found."""
    port = connection.local_port()
    for worker in service.workers():
        for link in worker.net_connections("tcp4"):
            if link.raddr and link.raddr.port == port:
                return int(worker.pid)
    return 0
