"""Health checks: ``/healthcheck`` of oslo.middleware, with a backend for this service."""

import logging
from collections.abc import Iterable
from typing import TYPE_CHECKING

from oslo_config import cfg
from oslo_middleware import healthcheck
from oslo_middleware.healthcheck import pluginbase

from placement.observability.health_checks import HealthChecks

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

LOG = logging.getLogger(__name__)

PATH = "/healthcheck"
_CHECKS = "placement.checks"


class HealthMiddleware:
    """Handles ``/healthcheck`` outside of the request log and of authentication.

    Requests from outside [healthcheck]allowed_source_ranges are passed on to the application.
    """

    def __init__(
        self, application: "WSGIApplication", conf: cfg.ConfigOpts, checks: HealthChecks
    ) -> None:
        self._application = application
        middleware = healthcheck.Healthcheck(application, conf)
        # the backends share this dictionary; there is no other way to pass the checks to them
        middleware.conf[_CHECKS] = checks
        self._health: WSGIApplication = middleware

    def __call__(
        self, environ: "WSGIEnvironment", start_response: "StartResponse"
    ) -> Iterable[bytes]:
        """Handle the request."""
        if environ.get("PATH_INFO") == PATH:
            return self._health(environ, start_response)
        return self._application(environ, start_response)


class Backend(pluginbase.HealthcheckBaseExtension):
    """The backend ``placement``: all that a request needs, see ``HealthChecks``."""

    def healthcheck(self, server_port: int) -> pluginbase.HealthcheckResult:  # noqa: ARG002
        """Return whether all checks pass, and the result of each."""
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
