"""``/metrics``: figures for Prometheus, of all processes of a deployment.

Each process keeps its figures in files of [metrics]folder, and each can add them all up. What is
true of the cloud, not of a process, is read from the snapshot when it is asked for.
"""

import ipaddress
import os
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from oslo_config import cfg

from placement.core.model import Inventory, ProviderState
from placement.core.snapshot.snapshot import Snapshot
from placement.engine.engine import Engine
from placement.exception import DatabaseUnavailable
from placement.observability import metrics_multiprocess
from placement.observability.events import (
    CandidatesReturned,
    Event,
    RequestCompleted,
    SnapshotLoaded,
    SnapshotRefreshed,
    WriteRetried,
)
from placement.wsgi_wrapper import TEMPLATE

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

PATH = "/metrics"
FOLDER = "PROMETHEUS_MULTIPROC_DIR"
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_PROXIED = ("HTTP_X_FORWARDED_FOR", "HTTP_FORWARDED")
_COUNTS = (0, 1, 10, 100, 1_000, 10_000)
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60)


class Figures:
    """The observer that counts; safe to share between threads, and to fork with.

    Raises: ImportError without the library prometheus_client (the extra ``metrics``).
    """

    def __init__(self, folder: Path) -> None:
        self.library = _library(folder)
        self.folder = folder
        self.moved_at: float | None = None
        new = self.library
        self._requests = new.Counter(
            "placement_requests",
            "Requests answered.",
            ("method", "route", "status"),
            registry=None,
        )
        self._seconds = new.Histogram(
            "placement_request_seconds",
            "How long answers took.",
            ("method", "route"),
            registry=None,
            buckets=_SECONDS,
        )
        self._snapshot = new.Histogram(
            "placement_snapshot_refresh_seconds",
            "How long it took to load the snapshot, or to bring it up to date.",
            ("kind",),
            registry=None,
            buckets=_SECONDS,
        )
        self._candidates = new.Histogram(
            "placement_candidates_returned",
            "How many candidates searches returned.",
            registry=None,
            buckets=_COUNTS,
        )
        self._repeated = new.Counter(
            "placement_write_retries", "Transactions that lost a race.", registry=None
        )

    def __call__(self, event: Event) -> None:
        """Count what happened."""
        match event:
            case RequestCompleted(method, route, status, seconds):
                self._requests.labels(method, route, str(status)).inc()
                self._seconds.labels(method, route).observe(seconds)
            case SnapshotLoaded():
                self._note_move("load", event.seconds)
            case SnapshotRefreshed():
                self._note_move("refresh", event.seconds)
            case CandidatesReturned(count):
                self._candidates.observe(count)
            case WriteRetried():
                self._repeated.inc()

    def _note_move(self, kind: str, seconds: float) -> None:
        self.moved_at = time.monotonic()
        self._snapshot.labels(kind).observe(seconds)


def _library(folder: Path) -> ModuleType:
    """Return prometheus_client, which decides when it is imported where figures are kept."""
    folder.mkdir(parents=True, exist_ok=True)
    os.environ[FOLDER] = str(folder)
    import prometheus_client  # noqa: PLC0415  an optional library
    import prometheus_client.multiprocess  # noqa: PLC0415

    return prometheus_client


def folder_of(conf: cfg.ConfigOpts) -> Path:
    """Return where figures are kept.  Raises: RequiredOptError if nothing says it."""
    folder = conf.metrics.folder or os.environ.get(FOLDER)
    if not folder:
        raise cfg.RequiredOptError("folder", cfg.OptGroup("metrics"))
    return Path(folder)


class Page:
    """Answers ``/metrics``, and times every request behind it."""

    def __init__(
        self,
        application: "WSGIApplication",
        figures: Figures,
        engine: Engine,
        allowed: Iterable[str],
    ) -> None:
        self._application = application
        self._figures = figures
        self._cloud = Cloud(engine, figures)
        self._allowed = [ipaddress.ip_network(network) for network in allowed]

    def __call__(
        self, environ: "WSGIEnvironment", start_response: "StartResponse"
    ) -> Iterable[bytes]:
        """Answer the request."""
        if environ["PATH_INFO"] == PATH and self._is_allowed(environ):
            body = self.text()
            headers = [("Content-Type", CONTENT_TYPE), ("Content-Length", str(len(body)))]
            start_response("200 OK", headers)
            return [body]
        return self._timed(environ, start_response)

    def text(self) -> bytes:
        """Return all figures, in the text format of Prometheus."""
        library = self._figures.library
        folder = self._figures.folder
        with metrics_multiprocess.gathered(folder, library):
            counted: bytes = library.generate_latest(
                library.multiprocess.MultiProcessCollector(None, path=str(folder))
            )
        found: bytes = library.generate_latest(self._cloud)
        return counted + found

    def _is_allowed(self, environ: "WSGIEnvironment") -> bool:
        if any(header in environ for header in _PROXIED):
            return False
        try:
            address = ipaddress.ip_address(environ.get("REMOTE_ADDR", ""))
        except ValueError:
            return False
        return any(address in network for network in self._allowed)

    def _timed(
        self, environ: "WSGIEnvironment", start_response: "StartResponse"
    ) -> Iterable[bytes]:
        begun = time.monotonic()
        statuses = []

        def start(
            status: str, headers: list[tuple[str, str]], exc_info: Any = None, /
        ) -> Callable[[bytes], object]:
            statuses.append(int(status[:3]))
            return start_response(status, headers, exc_info)

        answer = self._application(environ, start)
        route, seconds = environ.get(TEMPLATE, ""), time.monotonic() - begun
        method = environ["REQUEST_METHOD"] if route else ""  # what clients make up is not kept
        self._figures(RequestCompleted(method, route, statuses[-1], seconds))
        return answer


class Cloud:
    """What there is of everything, under the names that OpenStack's exporter uses."""

    def __init__(self, engine: Engine, figures: Figures) -> None:
        self._engine = engine
        self._figures = figures

    def collect(self) -> Iterator[Any]:
        """Yield the families of figures; just that nothing is up if the database is away."""
        gauge = self._figures.library.metrics_core.GaugeMetricFamily
        try:
            snapshot = self._engine.current()
        except DatabaseUnavailable:
            yield gauge("openstack_placement_up", "Whether the database is reached.", 0)
            return
        yield gauge("openstack_placement_up", "Whether the database is reached.", 1)
        yield gauge("placement_snapshot_providers", "Providers there are.", len(snapshot))
        moved_at = self._figures.moved_at
        if moved_at is not None:
            age = time.monotonic() - moved_at
            yield gauge("placement_snapshot_age_seconds", "Since anything was written.", age)
        yield from _inventories(snapshot, gauge)


def _inventories(snapshot: Snapshot, gauge: Callable[..., Any]) -> Iterator[Any]:
    """Yield four families, each with a figure for each class that each provider has."""
    for name, text, read in _INVENTORY:
        family = gauge(f"openstack_placement_resource_{name}", text, labels=_LABELS)
        for state in snapshot.states():
            for resource_class, inventory in state.inventories.items():
                labels = (state.provider.name, resource_class)
                family.add_metric(labels, read(state, resource_class, inventory))
        yield family


_Read = Callable[[ProviderState, str, Inventory], float]
_LABELS = ("hostname", "resourcetype")
_INVENTORY: tuple[tuple[str, str, _Read], ...] = (
    ("total", "What a provider has.", lambda _state, _name, inventory: inventory.total),
    ("usage", "What is allocated of it.", lambda state, name, _: state.used.get(name, 0)),
    ("reserved", "What is not for allocations.", lambda _state, _name, it: it.reserved),
    (
        "allocation_ratio",
        "How often it may be allocated.",
        lambda _state, _name, inventory: inventory.allocation_ratio,
    ),
)
