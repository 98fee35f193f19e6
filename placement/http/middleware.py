"""What a request passes on its way to the handler, and the answer on its way back."""

import os
from typing import TYPE_CHECKING, cast

from oslo_config import cfg
from oslo_middleware import cors, http_proxy_to_wsgi

from placement.http import auth
from placement.http.request_log import RequestLog
from placement.policy import Policy

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIApplication


def assembled(
    application: "WSGIApplication", conf: cfg.ConfigOpts, policy: Policy
) -> "WSGIApplication":
    """Return the application behind everything that a request passes before its handler.

    The order, from within, is a fact of the interface: a preflight needs no authentication, and
    every answer has a request id. What is not configured is not there, and costs nothing.
    """
    application = auth.authenticated(application, conf, policy)
    cross_origin = cors.CORS(application, conf)
    if conf.cors.allowed_origin:
        application = cross_origin
    application = RequestLog(application)
    proxied = http_proxy_to_wsgi.HTTPProxyToWSGI(application, conf)
    if conf.oslo_middleware.enable_proxy_headers_parsing:
        application = proxied
    return _profiled(application, conf)


def _profiled(application: "WSGIApplication", conf: cfg.ConfigOpts) -> "WSGIApplication":
    """Return the application under the profilers that are asked for and installed."""
    application = _traced(application, conf)
    folder = os.environ.get("OS_WSGI_PROFILER")
    if not folder:
        return application
    from werkzeug.middleware import profiler  # noqa: PLC0415  an optional library

    return profiler.ProfilerMiddleware(application, stream=None, profile_dir=folder)


def _traced(application: "WSGIApplication", conf: cfg.ConfigOpts) -> "WSGIApplication":
    """Return the application with OSProfiler's traces, if [profiler]enabled."""
    try:
        from osprofiler import initializer, opts, web  # noqa: PLC0415  an optional library
    except ImportError:
        return application
    opts.set_defaults(conf)
    if not conf.profiler.enabled:
        return application
    initializer.init_from_conf(
        conf=conf, context={}, project="placement", service="placement", host=os.uname().nodename
    )
    return cast("WSGIApplication", web.WsgiMiddleware(application))
