"""Metrics for Prometheus: ``/metrics``, for all processes of a deployment.

Each process stores its metrics in files of [metrics]folder; any process can add up all of them.
The files of a process remain when it exits, so that counters do not decrease, until the service
starts again. The inventory metrics are computed from the snapshot: see ``inventory_metrics``.
"""

import ipaddress
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from oslo_config import cfg

from placement import events
from placement.core.snapshot.snapshot import Snapshot
from placement.engine.engine import View
from placement.events import Metric, Observer, Total, client_of
from placement.exception import DatabaseUnavailable
from placement.microversion import is_versioned

PATH = "/metrics"
FOLDER_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

# Headers that proxies add begin with these: X-Forwarded-For, X-Forwarded-Proto, ...
_PROXIED = ("HTTP_X_FORWARDED_", "HTTP_FORWARDED", "HTTP_VIA", "HTTP_X_REAL_IP")


class PrometheusObserver(Observer):
    """Counts events in Prometheus metrics. It is thread-safe and may be used across forks.

    Raises: ImportError without the library prometheus_client (the extra ``metrics``).
    """

    def __init__(self, folder: Path, further: Iterable[Metric] = ()) -> None:
        self.library = _library(folder)
        self.folder = folder
        metrics = (value for value in vars(events).values() if isinstance(value, Metric))
        self._collectors = {each: self._collector(*each) for each in (*metrics, *further)}

    def _collector(
        self, name: str, text: str, labels: Sequence[str], buckets: Sequence[float]
    ) -> Any:
        if buckets:
            return self.library.Histogram(name, text, labels, registry=None, buckets=buckets)
        return self.library.Counter(name, text, labels, registry=None)

    def _labeled(self, metric: Metric, labels: Sequence[str]) -> Any:
        collector = self._collectors[metric]
        return collector.labels(*labels) if labels else collector

    def count(self, metric: Metric, *labels: str, amount: int = 1) -> None:
        """Add to a counter."""
        self._labeled(metric, labels).inc(amount)

    def observe(self, metric: Metric, value: float, *labels: str) -> None:
        """Add a value to a histogram."""
        self._labeled(metric, labels).observe(value)

    def of_all_processes(self) -> Any:
        """Return a collector of the metrics of all processes of the host."""
        return self.library.multiprocess.MultiProcessCollector(None, path=str(self.folder))

    def totals(self, *metrics: Metric) -> Mapping[Metric, Sequence[Total]]:
        """Return the counters that are not 0, each the sum over all processes of the host."""
        families = {family.name: family.samples for family in self.of_all_processes().collect()}
        return {
            metric: [
                (sample.labels, int(sample.value))
                for sample in families.get(metric.name, ())
                if sample.value
            ]
            for metric in metrics
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
    # the folder may also contain a SQLite database
    paths = (*folder.glob("counter_*.db"), *folder.glob("histogram_*.db"))
    files = [path for path in paths if _process_id(path) != current_id]
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
    """Return the directory of the metrics.  Raises: RuntimeError if none is configured."""
    folder = conf.metrics.folder or os.environ.get(FOLDER_VARIABLE)
    if not folder:
        raise RuntimeError(
            f"[metrics]enabled is true, but neither [metrics]folder nor {FOLDER_VARIABLE} names a "
            "directory. Set [metrics]folder to a directory that the user of the service can "
            "write, or [metrics]enabled to false."
        )
    return Path(folder)


def check_is_available(conf: cfg.ConfigOpts) -> None:
    """Check the library and the directory of the metrics; the directory does not change.

    Raises: ImportError, RuntimeError.
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
        view: Callable[[], View],
        inventory: Callable[[Snapshot | None], bytes],
        allowed: Iterable[str],
    ) -> None:
        self._application = application
        self._observer = observer
        self._read_view = view
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
        library, view = self._observer.library, None
        with suppress(DatabaseUnavailable):
            view = self._read_view()
        of_snapshot = SimpleNamespace(collect=partial(_of_snapshot, view, library))
        collectors = (self._observer.of_all_processes(), of_snapshot)
        texts = map(library.generate_latest, collectors)
        return b"".join(texts) + self._inventory(None if view is None else view.snapshot)

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
        self._count(environ, statuses[-1], time.monotonic() - started_at)
        return response

    def _count(self, environ: WSGIEnvironment, status: int, seconds: float) -> None:
        """Count a request that was completed."""
        observer, route = self._observer, environ.get(events.TEMPLATE, "")
        method = environ["REQUEST_METHOD"] if route else ""  # bounds the number of label values
        observer.count(events.REQUESTS, method, route, str(status))
        observer.observe(events.REQUEST_SECONDS, seconds, method, route)
        if events.VERSION in environ and is_versioned(route):
            client = client_of(environ.get("HTTP_USER_AGENT", ""))
            observer.count(events.CLIENT_REQUESTS, client, str(environ[events.VERSION]))


def _of_snapshot(view: View | None, library: Any) -> Iterator[Any]:
    """Yield the metrics of the snapshot; if the database is unreachable, only that it is."""
    gauge = library.core.GaugeMetricFamily
    is_up = view is not None
    yield gauge("openstack_placement_up", "Whether the database is reachable.", int(is_up))
    if view is not None:
        count, age = view.snapshot.size, time.monotonic() - view.refreshed
        yield gauge("placement_snapshot_providers", "Number of resource providers.", count)
        yield gauge(
            "placement_snapshot_age_seconds", "Seconds since the snapshot last changed.", age
        )
