"""Health checks: ``/healthcheck`` of oslo.middleware, with a backend for this service.

The backend checks the requirements of a request, one by one: database, schema revision, snapshot,
Keystone.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

import requests
from oslo_config import cfg
from oslo_middleware import healthcheck
from oslo_middleware.healthcheck import pluginbase

from placement.core.snapshot.snapshot import Snapshot
from placement.db.schema import compatibility, revisions
from placement.db.store import Store
from placement.exception import PlacementException

KEYSTONE_TIMEOUT_SECONDS = 5
_SERVER_ERROR = 500
_FAILURES = (
    PlacementException,
    revisions.SchemaTooOld,
    compatibility.IncompatibleSchema,
    requests.RequestException,
)

LOG = logging.getLogger(__name__)

PATH = "/healthcheck"
_CHECKS = "placement.checks"


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The result of one check; ``error`` is None if it passed."""

    name: str
    detail: str
    error: str | None = None

    def __str__(self) -> str:
        """Return name and detail, or the error.

        >>> str(CheckResult("snapshot", "3 providers"))
        'snapshot: 3 providers'
        """
        return f"{self.name}: {self.error or self.detail}"


class HealthChecks:
    """All checks of a deployment. Those of schema and Keystone are repeated after ``seconds``."""

    def __init__(
        self,
        store: Store,
        current: Callable[[], Snapshot],
        keystone_url: str | None,
        seconds: float = 10,
    ) -> None:
        self._store = store
        self._current = current
        self._schema = _Remembered(partial(_checked, "schema", self._revision), seconds)
        keystone = partial(_keystone_status, keystone_url)
        self._keystone = _Remembered(partial(_checked, "keystone", keystone), seconds)

    def results(self) -> Sequence[CheckResult]:
        """Return the results; without a database there is nothing else to check in it."""
        database = _checked("database", self._check_database)
        keystone = self._keystone()
        if database.error is not None:
            return [database, keystone]
        snapshot = _checked("snapshot", lambda: f"{self._current().size} providers")
        return [database, self._schema(), snapshot, keystone]

    def _check_database(self) -> str:
        self._store.probe()
        return "reachable"

    def _revision(self) -> str:
        revisions.check_is_new_enough(self._store)
        return revisions.version(self._store) or "none"


class _Remembered:
    """A check whose result is cached for some seconds.

    While one thread repeats the check, other threads return the cached result. Threads wait only
    for the first check: a Keystone that does not respond would otherwise block all threads of the
    service, one after another.
    """

    def __init__(self, check: Callable[[], CheckResult], seconds: float) -> None:
        self._check = check
        self._seconds = seconds
        self._lock = threading.Lock()
        self._kept: tuple[float, CheckResult] | None = None

    def __call__(self) -> CheckResult:
        cached = self._kept
        if cached is None:
            with self._lock:
                return self._kept[1] if self._kept else self._repeated()
        if time.monotonic() >= cached[0] and self._lock.acquire(blocking=False):
            try:
                return self._repeated()
            finally:
                self._lock.release()
        return cached[1]

    def _repeated(self) -> CheckResult:
        result = self._check()
        self._kept = (time.monotonic() + self._seconds, result)
        return result


def _checked(name: str, check: Callable[[], str]) -> CheckResult:
    try:
        return CheckResult(name, check())
    except _FAILURES as error:
        return CheckResult(name, "", str(error) or type(error).__name__)


def _keystone_status(url: str | None) -> str:
    """Return that Keystone responds, or that it is not used.  Raises: RequestException."""
    if url is None:
        return "not used"
    response = requests.get(url, timeout=KEYSTONE_TIMEOUT_SECONDS)
    if response.status_code >= _SERVER_ERROR:
        raise requests.HTTPError(f"{url} responds {response.status_code}")
    return "responds"


class HealthMiddleware:
    """Handles ``/healthcheck`` outside of the request log and of authentication.

    Requests from outside [healthcheck]allowed_source_ranges are passed on to the application.
    """

    def __init__(
        self, application: WSGIApplication, conf: cfg.ConfigOpts, checks: HealthChecks
    ) -> None:
        self._application = application
        middleware = healthcheck.Healthcheck(application, conf)
        # the backends share this dictionary; there is no other way to pass the checks to them
        middleware.conf[_CHECKS] = checks
        self._health: WSGIApplication = middleware

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Handle the request."""
        if environ.get("PATH_INFO") == PATH:
            return self._health(environ, start_response)
        return self._application(environ, start_response)


class Backend(pluginbase.HealthcheckBaseExtension):
    """The backend ``placement``: the requirements of a request, see ``HealthChecks``."""

    def healthcheck(self, server_port: int) -> pluginbase.HealthcheckResult:  # noqa: ARG002
        """Return whether all checks pass, and the results by check."""
        checks: HealthChecks = self.conf[_CHECKS]
        results = checks.results()
        failed = [str(result) for result in results if result.error is not None]
        for line in failed:
            LOG.warning("Health check failed: %s", line)
        return pluginbase.HealthcheckResult(
            available=not failed,
            reason="; ".join(failed) or "OK",
            details=", ".join(map(str, results)),
        )
