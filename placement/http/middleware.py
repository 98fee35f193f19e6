"""The WSGI middleware between server and handlers, and the tasks that run after a response."""

import logging
import os
from collections.abc import Iterable, Iterator
from typing import cast
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from oslo_config import cfg
from oslo_middleware import cors, http_proxy_to_wsgi

from placement import profiling
from placement.http import auth
from placement.http.request import AFTER_RESPONSE, Task
from placement.http.request_log import RequestLog

LOG = logging.getLogger(__name__)


def pipeline(application: WSGIApplication, conf: cfg.ConfigOpts) -> WSGIApplication:
    """Return the application wrapped in all configured middleware.

    The order, from the inside out, is visible to clients: a preflight request needs no
    authentication, and every response has a request id. Middleware that is not configured is left
    out and costs nothing.
    """
    application = auth.with_authentication(_audited(application, conf), conf)
    application = RequestLog(_with_cross_origin(application, conf))
    return AfterResponse(_profiled(_behind_proxy(application, conf), conf))


def _audited(application: WSGIApplication, conf: cfg.ConfigOpts) -> WSGIApplication:
    """Return the application with audit events, which have the user, if [audit]enabled.

    Raises: RuntimeError if the map of the paths cannot be read.
    """
    options = conf.audit
    if not options.enabled:
        return application
    from keystonemiddleware import audit  # noqa: PLC0415  pycadf, which others do not need

    log = logging.getLogger("keystonemiddleware")
    level = log.level
    # It warns of each of its own parameters: "is not known to keystonemiddleware".
    log.setLevel(logging.ERROR)
    try:
        return cast(
            "WSGIApplication",
            audit.AuditMiddleware(
                application,
                oslo_config_config=conf,
                log_name="placement.audit",
                audit_map_file=options.audit_map_file,
                ignore_req_list=options.ignore_req_list,
                ignore_path_list="/",  # has no user
            ),
        )
    except (OSError, audit.PycadfAuditApiConfigError) as error:
        raise RuntimeError(
            f"[audit]audit_map_file = {options.audit_map_file} cannot be read: {error}. Copy "
            "etc/placement/api_audit_map.conf there, or set [audit]enabled = false."
        ) from None
    finally:
        log.setLevel(level)


def _with_cross_origin(application: WSGIApplication, conf: cfg.ConfigOpts) -> WSGIApplication:
    cross_origin: WSGIApplication = cors.CORS(application, conf)
    return cross_origin if conf.cors.allowed_origin else application


def _behind_proxy(application: WSGIApplication, conf: cfg.ConfigOpts) -> WSGIApplication:
    proxied: WSGIApplication = http_proxy_to_wsgi.HTTPProxyToWSGI(application, conf)
    return proxied if conf.oslo_middleware.enable_proxy_headers_parsing else application


def _profiled(application: WSGIApplication, conf: cfg.ConfigOpts) -> WSGIApplication:
    """Return the application wrapped in the profilers that are configured and installed."""
    application = _traced(application, conf)
    folder = os.environ.get("OS_WSGI_PROFILER")
    if not folder:
        return application
    from werkzeug.middleware import profiler  # noqa: PLC0415  an optional library

    return profiler.ProfilerMiddleware(application, stream=None, profile_dir=folder)


def _traced(application: WSGIApplication, conf: cfg.ConfigOpts) -> WSGIApplication:
    """Return the application with OSProfiler's traces, if [profiler]enabled.

    Raises: RuntimeError if its driver cannot work.
    """
    if not profiling.is_enabled(conf):
        return application
    from osprofiler import web  # noqa: PLC0415  an optional library

    profiling.start(conf, os.uname().nodename)
    return cast("WSGIApplication", web.WsgiMiddleware(application))


class AfterResponse:
    """Runs the tasks that handlers leave, when the server closes the response (PEP 3333).

    Servers do that when the last byte has been handed to the client's connection, in the same
    thread: the client has its response, and the thread is free again after the tasks. If an
    exception reaches the server, it has no response to close: the tasks run before.
    """

    def __init__(self, application: WSGIApplication) -> None:
        self._application = application

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Handle the request."""
        tasks: list[Task] = []
        environ[AFTER_RESPONSE] = tasks
        try:
            parts = self._application(environ, start_response)
        except BaseException:
            _Response((), tasks).close()
            raise
        return _Response(parts, tasks) if tasks else parts


class _Response:
    """The parts of a response, and the tasks that run after the last."""

    def __init__(self, parts: Iterable[bytes], tasks: list[Task]) -> None:
        self._parts = parts
        self._tasks = tasks

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._parts)

    def close(self) -> None:
        """Close the parts, and run each task once; an error of a task is logged."""
        tasks, self._tasks = self._tasks, []
        try:
            close = getattr(self._parts, "close", None)
            if close is not None:
                close()
        finally:
            for task in tasks:
                try:
                    task()
                except Exception:
                    LOG.exception("A task after the response failed")
