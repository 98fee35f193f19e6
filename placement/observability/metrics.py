"""Metrics for Prometheus: ``/metrics``, for all processes of a deployment.

Each process stores its metrics in files of [metrics]folder; any process can add up all of them.
The files of a process remain when it exits, so that counters do not decrease, until the service
starts again. The inventory metrics are computed from the snapshot: see ``inventory_metrics``.
"""

import ipaddress
import os
import re
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any, Final
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from oslo_config import cfg

from placement.core.snapshot.snapshot import Snapshot
from placement.events import (
    CLIENT_REQUESTS,
    CUT_RESPONSES,
    MIXED_CONSUMERS,
    ROOTS_LEFT_OUT,
    TEMPLATE,
    VERSION,
    Observer,
    Total,
)
from placement.exception import DatabaseUnavailable
from placement.observability.inventory_metrics import InventoryMetrics

PATH = "/metrics"
INSIGHT = "/insight"
"""The routes without microversions."""

FOLDER_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

# Headers that proxies add begin with these: X-Forwarded-For, X-Forwarded-Proto, ...
_PROXIED = ("HTTP_X_FORWARDED_", "HTTP_FORWARDED", "HTTP_VIA", "HTTP_X_REAL_IP")
_COUNTS = (0, 1, 10, 100, 1_000, 10_000)
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60)


# keystoneauth writes the name of the program first, such as ``nova-compute keystoneauth1/5.9.1``.
# Clients can write any text, so only the names of known programs are labels.
OTHER: Final = "other"
KNOWN: Final = frozenset(
    {
        *("nova-api", "nova-api-wsgi", "nova-compute", "nova-conductor", "nova-manage"),
        *("nova-scheduler", "nova-status"),
        *("neutron-server", "neutron-api", "neutron-rpc-server", "neutron-periodic-workers"),
        *("cyborg-api", "cyborg-agent", "cyborg-conductor", "blazar-api", "blazar-manager"),
        *("watcher-api", "watcher-applier", "watcher-decision-engine", "zun-api", "zun-compute"),
        # servers of WSGI applications, and libraries without the name of a program
        *("uwsgi", "gunicorn", "keystoneauth1", "openstacksdk", "python-requests"),
        *("openstack", "python-openstackclient", "osc-lib", "curl"),
    }
)


def client_of(user_agent: str) -> str:
    """Return the name of the program in a User-Agent header, ``other`` if it is not known.

    >>> client_of("nova-scheduler keystoneauth1/5.9.1 python-requests/2.32.3")
    'nova-scheduler'
    >>> client_of("Mozilla/5.0 (X11)")
    'other'
    """
    name, *_ = re.split(r"[\s/]", user_agent, maxsplit=1)
    return name if name in KNOWN else OTHER


class PrometheusObserver(Observer):
    """Counts events in Prometheus metrics. It is thread-safe and may be used across forks.

    Raises: ImportError without the library prometheus_client (the extra ``metrics``).
    """

    def __init__(self, folder: Path) -> None:
        self.library = _library(folder)
        self.folder = folder
        self.refreshed_at: float | None = None
        self._requests = self._counter(
            "placement_requests", "Requests answered.", ("method", "route", "status")
        )
        self._seconds = self._histogram(
            "placement_request_seconds", "Time to answer requests.", ("method", "route"), _SECONDS
        )
        self._clients = self._counter(
            CLIENT_REQUESTS,
            "Requests to the Placement API, by the program and the microversion.",
            ("client", "microversion"),
        )
        self._snapshot = self._histogram(
            "placement_snapshot_refresh_seconds",
            "Time to load or to refresh the snapshot.",
            ("kind",),
            _SECONDS,
        )
        self._discards = self._counter(
            "placement_snapshot_discards",
            "Snapshots dropped because the lineage or epoch of the database changed.",
        )
        self._candidates = self._histogram(
            "placement_candidates_returned",
            "Number of candidates that searches returned.",
            (),
            _COUNTS,
        )
        self._cut = self._counter(
            CUT_RESPONSES, "Requests for candidates whose limit left out roots."
        )
        self._left_out = self._counter(
            ROOTS_LEFT_OUT, "Roots that the limits of requests for candidates left out."
        )
        self._empty = self._counter(
            "placement_empty_responses",
            "Requests for candidates that found none, by the requirement that removed the last.",
            ("reason",),
        )
        self._refused = self._counter(
            "placement_refused_claims", "Claims that were refused.", ("reason", "resource_class")
        )
        self._mixed = self._counter(
            MIXED_CONSUMERS,
            "Consumers written below microversion 1.28 and at 1.28 or newer, by the programs.",
            ("with_generation", "without_generation"),
        )
        self._retries = self._counter(
            "placement_write_retries", "Transactions that failed because of a concurrent update."
        )

    def _counter(self, name: str, text: str, labels: Sequence[str] = ()) -> Any:
        return self.library.Counter(name, text, labels, registry=None)

    def _histogram(
        self, name: str, text: str, labels: Sequence[str], buckets: Sequence[float]
    ) -> Any:
        return self.library.Histogram(name, text, labels, registry=None, buckets=buckets)

    def snapshot_read(self, kind: str, seconds: float) -> None:
        """Record the time of a load or of a refresh."""
        self.refreshed_at = time.monotonic()
        self._snapshot.labels(kind).observe(seconds)

    def snapshot_discarded(self) -> None:
        """Count a discarded snapshot."""
        self._discards.inc()

    def candidates_returned(self, count: int, roots_left_out: int) -> None:
        """Record the number of candidates, and the roots that a limit left out."""
        self._candidates.observe(count)
        if roots_left_out:
            self._cut.inc()
            self._left_out.inc(roots_left_out)

    def empty_response(self, reason: str) -> None:
        """Count a response without candidates."""
        self._empty.labels(reason).inc()

    def claim_refused(self, reason: str, resource_class: str) -> None:
        """Count a refused claim."""
        self._refused.labels(reason, resource_class).inc()

    def consumer_mixed(self, with_generation: str, without_generation: str) -> None:
        """Count a consumer by the programs that write it."""
        self._mixed.labels(client_of(with_generation), client_of(without_generation)).inc()

    def write_retried(self) -> None:
        """Count a conflict of a write."""
        self._retries.inc()

    def count_request(self, environ: WSGIEnvironment, status: int, seconds: float) -> None:
        """Count a request that was completed."""
        route = environ.get(TEMPLATE, "")
        method = environ["REQUEST_METHOD"] if route else ""  # bounds the number of label values
        self._requests.labels(method, route, str(status)).inc()
        self._seconds.labels(method, route).observe(seconds)
        if VERSION in environ and not route.startswith(INSIGHT):
            client = client_of(environ.get("HTTP_USER_AGENT", ""))
            self._clients.labels(client, str(environ[VERSION])).inc()

    def of_all_processes(self) -> Any:
        """Return a collector of the metrics of all processes of the host."""
        return self.library.multiprocess.MultiProcessCollector(None, path=str(self.folder))

    def totals(self, names: Collection[str]) -> Mapping[str, Sequence[Total]]:
        """Return the values of counters by name, each the sum over all processes of the host."""
        return {
            family.name: [(sample.labels, int(sample.value)) for sample in family.samples]
            for family in self.of_all_processes().collect()
            if family.name in names
        }


def _library(folder: Path) -> ModuleType:
    """Return prometheus_client, which reads the directory of its files when it is imported."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    remove_files_of_last_run(folder)
    os.environ[FOLDER_VARIABLE] = str(folder)
    import prometheus_client  # noqa: PLC0415  an optional library
    import prometheus_client.core  # noqa: PLC0415
    import prometheus_client.multiprocess  # noqa: PLC0415

    return prometheus_client


def remove_files_of_last_run(folder: Path) -> None:
    """Remove the files of metrics if all processes that wrote them have exited.

    Then this process is the first of the service. The last part of the name of a file is the id of
    its process; the file of a process with the id of this one is used again.
    """
    current_id = str(os.getpid())
    files = [path for path in folder.glob("*.db") if _process_id(path) != current_id]
    if not any(map(_is_running, {_process_id(path) for path in files})):
        for path in files:
            path.unlink(missing_ok=True)  # another process that starts may do the same


def _process_id(path: Path) -> str:
    return path.stem.rpartition("_")[2]


def _is_running(process_id: str) -> bool:
    try:
        os.kill(int(process_id), 0)
    except (ProcessLookupError, ValueError):
        return False
    except PermissionError:
        pass  # the process exists and belongs to another user
    return True


def configured_folder(conf: cfg.ConfigOpts) -> Path:
    """Return the directory of the metrics.  Raises: RequiredOptError if none is configured."""
    folder = conf.metrics.folder or os.environ.get(FOLDER_VARIABLE)
    if not folder:
        raise cfg.RequiredOptError("folder", cfg.OptGroup("metrics"))
    return Path(folder)


def check_is_available(conf: cfg.ConfigOpts) -> None:
    """Check the library and the directory of the metrics; the directory does not change.

    Raises: ImportError, RequiredOptError, RuntimeError.
    """
    if find_spec("prometheus_client") is None:
        raise ModuleNotFoundError("No module named 'prometheus_client'", name="prometheus_client")
    folder = configured_folder(conf)
    existing = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    if not existing.is_dir() or not os.access(existing, os.W_OK | os.X_OK):
        raise RuntimeError(
            f"[metrics]folder is {folder}, and this user cannot write to {existing}. Run the "
            "check as the user of the service, or set another directory."
        )


class MetricsMiddleware:
    """Serves ``/metrics``, and measures all other requests."""

    def __init__(
        self,
        application: WSGIApplication,
        observer: PrometheusObserver,
        current: Callable[[], Snapshot],
        inventory: InventoryMetrics,
        allowed: Iterable[str],
    ) -> None:
        self._application = application
        self._observer = observer
        self._read_snapshot = current
        self._inventory = inventory
        self._allowed = [ipaddress.ip_network(network) for network in allowed]

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Handle the request."""
        if environ.get("PATH_INFO") == PATH and self._is_allowed(environ):
            body = self.text()
            headers = [
                ("Content-Type", CONTENT_TYPE),
                ("Content-Length", str(len(body))),
                ("X-Content-Type-Options", "nosniff"),
            ]
            start_response("200 OK", headers)
            return [body]
        return self._timed(environ, start_response)

    def text(self) -> bytes:
        """Return all metrics, in the text format of Prometheus; the snapshot is read once."""
        library = self._observer.library
        snapshot = self._current()
        collectors = (
            self._observer.of_all_processes(),
            SnapshotCollector(snapshot, self._observer),
        )
        return b"".join(map(library.generate_latest, collectors)) + self._inventory.text(snapshot)

    def _current(self) -> Snapshot | None:
        """Return the current snapshot; None if the database is unreachable."""
        try:
            return self._read_snapshot()
        except DatabaseUnavailable:
            return None

    def _is_allowed(self, environ: WSGIEnvironment) -> bool:
        if any(header.startswith(_PROXIED) for header in environ):
            return False
        try:
            address = ipaddress.ip_address(environ.get("REMOTE_ADDR", ""))
        except ValueError:
            return False
        return any(address in network for network in self._allowed)

    def _timed(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        started_at = time.monotonic()
        statuses = []

        def start(
            status: str, headers: list[tuple[str, str]], exc_info: Any = None, /
        ) -> Callable[[bytes], object]:
            statuses.append(int(status[:3]))
            return start_response(status, headers, exc_info)

        response = self._application(environ, start)
        self._observer.count_request(environ, statuses[-1], time.monotonic() - started_at)
        return response


class SnapshotCollector:
    """Collects the metrics of the snapshot of this process.

    ``snapshot`` is None if the database is unreachable.
    """

    def __init__(self, snapshot: Snapshot | None, observer: PrometheusObserver) -> None:
        self._snapshot = snapshot
        self._observer = observer

    def collect(self) -> Iterator[Any]:
        """Yield the families; if the database is unreachable, only the first, with value 0."""
        gauge = self._observer.library.core.GaugeMetricFamily
        is_up = self._snapshot is not None
        yield gauge("openstack_placement_up", "Whether the database is reachable.", int(is_up))
        if self._snapshot is None:
            return
        count = self._snapshot.size
        yield gauge("placement_snapshot_providers", "Number of resource providers.", count)
        refreshed_at = self._observer.refreshed_at
        if refreshed_at is not None:
            age = time.monotonic() - refreshed_at
            yield gauge(
                "placement_snapshot_age_seconds", "Seconds since the snapshot last changed.", age
            )
