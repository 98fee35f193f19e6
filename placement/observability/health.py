"""Health checks: ``/healthcheck`` of oslo.middleware, with a backend for this service."""

import logging
from collections.abc import Iterable
from typing import TYPE_CHECKING

from oslo_config import cfg
from oslo_middleware import healthcheck
from oslo_middleware.healthcheck import pluginbase

from placement.engine.engine import Engine
from placement.exception import PlacementException

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

LOG = logging.getLogger(__name__)

PATH = "/healthcheck"
_ENGINE = "placement.engine"


class HealthMiddleware:
    """Handles ``/healthcheck`` outside of the request log and of authentication.

    Requests from outside [healthcheck]allowed_source_ranges are passed on to the application.
    """

    def __init__(
        self, application: "WSGIApplication", conf: cfg.ConfigOpts, engine: Engine
    ) -> None:
        self._application = application
        middleware = healthcheck.Healthcheck(application, conf)
        # the backends share this dictionary; there is no other way to pass the engine to them
        middleware.conf[_ENGINE] = engine
        self._health: WSGIApplication = middleware

    def __call__(
        self, environ: "WSGIEnvironment", start_response: "StartResponse"
    ) -> Iterable[bytes]:
        """Handle the request."""
        if environ.get("PATH_INFO") == PATH:
            return self._health(environ, start_response)
        return self._application(environ, start_response)


class Backend(pluginbase.HealthcheckBaseExtension):
    """The backend ``placement``: whether the snapshot can be refreshed from the database."""

    def healthcheck(self, server_port: int) -> pluginbase.HealthcheckResult:  # noqa: ARG002
        """Return whether a search is possible now, and the number of providers."""
        engine: Engine = self.conf[_ENGINE]
        return _result(engine)


def _result(engine: Engine) -> pluginbase.HealthcheckResult:
    try:
        details = f"{len(engine.current())} providers"
    except PlacementException as error:
        LOG.warning("Health check failed: %s", error)
        return pluginbase.HealthcheckResult(
            available=False, reason="The database is not reached", details=str(error)
        )
    return pluginbase.HealthcheckResult(available=True, reason="OK", details=details)
