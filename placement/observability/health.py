"""Health checks: ``/healthcheck`` of oslo.middleware, with a backend for this service.

The backend checks the requirements of a request, one by one: database, schema revision, snapshot,
Keystone.
"""

import logging
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, NamedTuple
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

import requests
from oslo_config import cfg
from oslo_middleware import healthcheck
from oslo_middleware.healthcheck import pluginbase

from placement.core.snapshot.snapshot import Snapshot
from placement.db.schema import revisions
from placement.db.store import Store
from placement.exception import PlacementException

KEYSTONE_TIMEOUT_SECONDS = 5
CACHE_SECONDS = 10
_SERVER_ERROR = 500
_FAILURES = (
    PlacementException,
    revisions.SchemaTooOld,
    revisions.IncompatibleSchema,
    requests.RequestException,
)

LOG = logging.getLogger(__name__)

PATH = "/healthcheck"
_CHECKS = "placement.checks"


class CheckResult(NamedTuple):
    """The name of a check with its detail, or with its error if it has not passed."""

    text: str
    has_passed: bool


class HealthChecks:
    """All checks of a deployment; the results of schema and Keystone are cached."""

    def __init__(
        self, store: Store, current: Callable[[], Snapshot], keystone_url: str | None
    ) -> None:
        keystone = partial(_keystone_status, keystone_url)
        self._database = _Check("database", partial(_reached, store))
        self._schema = _Check("schema", partial(_revision, store), CACHE_SECONDS)
        self._snapshot = _Check("snapshot", lambda: f"{current().size} providers")
        self._keystone = _Check("keystone", keystone, CACHE_SECONDS)

    def results(self) -> Sequence[CheckResult]:
        """Return the results; without a database there is nothing else to check in it."""
        database, keystone = self._database(), self._keystone()
        if not database.has_passed:
            return [database, keystone]
        return [database, self._schema(), self._snapshot(), keystone]


class _Check:
    """A check whose result is cached for some seconds, if any.

    While one thread repeats the check, other threads return the cached result: a Keystone that
    does not respond would otherwise block all threads of the service, one after another.
    """

    def __init__(self, name: str, detail: Callable[[], str], seconds: float = 0) -> None:
        self._name, self._detail, self._seconds = name, detail, seconds
        self._result: CheckResult | None = None
        self._repeat_at = 0.0

    def __call__(self) -> CheckResult:
        if not self._seconds:
            return self._checked()
        now = time.monotonic()
        if self._result is None or now >= self._repeat_at:
            self._repeat_at = now + self._seconds
            self._result = self._checked()
        return self._result

    def _checked(self) -> CheckResult:
        try:
            return CheckResult(f"{self._name}: {self._detail()}", has_passed=True)
        except _FAILURES as error:
            reason = str(error) or type(error).__name__
            return CheckResult(f"{self._name}: {reason}", has_passed=False)


def _reached(store: Store) -> str:
    store.probe()
    return "reachable"


def _revision(store: Store) -> str:
    revisions.check_is_new_enough(store)
    return revisions.version(store) or "none"


def _keystone_status(url: str | None) -> str:
    """Return that Keystone responds, or that it is not used.  Raises: RequestException."""
    if url is None:
        return "not used"
    response = requests.get(url, timeout=KEYSTONE_TIMEOUT_SECONDS)
    if response.status_code >= _SERVER_ERROR:
        raise requests.HTTPError(f"{url} responds {response.status_code}")
    return "responds"


def with_health_checks(
    application: WSGIApplication, conf: cfg.ConfigOpts, checks: HealthChecks
) -> WSGIApplication:
    """Return the application with ``/healthcheck``, outside of its log and authentication.

    Requests from outside [healthcheck]allowed_source_ranges are passed on to the application.
    """
    middleware = healthcheck.Healthcheck(application, conf)
    # the backends share this dictionary; there is no other way to pass the checks to them
    middleware.conf[_CHECKS] = checks

    def handle(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        if environ.get("PATH_INFO") != PATH:
            return application(environ, start_response)

        def start(
            status: str, headers: list[tuple[str, str]], exc_info: Any = None, /
        ) -> Callable[[bytes], object]:
            return start_response(
                status, [*headers, ("X-Content-Type-Options", "nosniff")], exc_info
            )

        response: Iterable[bytes] = middleware(environ, start)
        return response

    return handle


class Backend(pluginbase.HealthcheckBaseExtension):
    """The backend ``placement``: the requirements of a request, see ``HealthChecks``."""

    def healthcheck(self, server_port: int) -> pluginbase.HealthcheckResult:  # noqa: ARG002
        """Return whether all checks pass, and the results by check."""
        checks: HealthChecks = self.conf[_CHECKS]
        results = checks.results()
        failed = [result.text for result in results if not result.has_passed]
        for line in failed:
            LOG.warning("Health check failed: %s", line)
        return pluginbase.HealthcheckResult(
            available=not failed,
            reason="; ".join(failed) or "OK",
            details=", ".join(result.text for result in results),
        )
