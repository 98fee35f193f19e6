"""``/healthcheck``: oslo.middleware's, and what it can ask of this service."""

import logging
from collections.abc import Callable, Iterable
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


class Health:
    """Answers ``/healthcheck`` before anything else sees the request, log and authentication.

    A request from where it is not to be answered (``allowed_source_ranges``) goes on.
    """

    def __init__(
        self, application: "WSGIApplication", conf: cfg.ConfigOpts, engine: Engine
    ) -> None:
        self._application = application
        middleware = healthcheck.Healthcheck(application, conf)
        # its backends keep this very dictionary, the only way to tell them anything
        middleware.conf[_ENGINE] = engine
        self._health: WSGIApplication = middleware

    def __call__(
        self, environ: "WSGIEnvironment", start_response: "StartResponse"
    ) -> Iterable[bytes]:
        """Answer the request."""
        if environ["PATH_INFO"] == PATH:
            return self._health(environ, start_response)
        return self._application(environ, start_response)


class Backend(pluginbase.HealthcheckBaseExtension):
    """Whether the database is reached and the snapshot fresh: the backend ``placement``."""

    def healthcheck(self, server_port: int) -> pluginbase.HealthcheckResult:  # noqa: ARG002
        """Return whether a search could be answered, and over how many providers."""
        engine: Engine = self.conf[_ENGINE]
        return _result(lambda: f"{len(engine.current())} providers")


def _result(ask: Callable[[], str]) -> pluginbase.HealthcheckResult:
    try:
        details = ask()
    except PlacementException as error:
        LOG.warning("The health check finds: %s", error)
        return pluginbase.HealthcheckResult(
            available=False, reason="The database is not reached", details=str(error)
        )
    return pluginbase.HealthcheckResult(available=True, reason="OK", details=details)
