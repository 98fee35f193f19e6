"""The WSGI middleware between the server and the request handlers."""

import os
from typing import TYPE_CHECKING, cast

from oslo_config import cfg

from placement.conf import is_configured
from placement.http import auth
from placement.http.after_response import AfterResponse
from placement.http.request_log import RequestLog
from placement.policy import Policy

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIApplication


def pipeline(
    application: "WSGIApplication", conf: cfg.ConfigOpts, policy: Policy
) -> "WSGIApplication":
    """Return the application wrapped in all configured middleware.

    The order, from the inside out, is visible to clients: a preflight request needs no
    authentication, and every response has a request id. Middleware that is not configured is left
    out and costs nothing.
    """
    application = auth.with_authentication(application, conf, policy)
    application = RequestLog(_with_cross_origin(application, conf))
    return AfterResponse(_profiled(_behind_proxy(application, conf), conf))


def _with_cross_origin(application: "WSGIApplication", conf: cfg.ConfigOpts) -> "WSGIApplication":
    if not is_configured(conf, "cors"):
        return application
    from oslo_middleware import cors  # noqa: PLC0415  see is_configured

    cross_origin: WSGIApplication = cors.CORS(application, conf)
    return cross_origin if conf.cors.allowed_origin else application


def _behind_proxy(application: "WSGIApplication", conf: cfg.ConfigOpts) -> "WSGIApplication":
    if not is_configured(conf, "oslo_middleware"):
        return application
    from oslo_middleware import http_proxy_to_wsgi  # noqa: PLC0415  see is_configured

    proxied: WSGIApplication = http_proxy_to_wsgi.HTTPProxyToWSGI(application, conf)
    return proxied if conf.oslo_middleware.enable_proxy_headers_parsing else application


def _profiled(application: "WSGIApplication", conf: cfg.ConfigOpts) -> "WSGIApplication":
    """Return the application wrapped in the profilers that are configured and installed."""
    application = _traced(application, conf)
    folder = os.environ.get("OS_WSGI_PROFILER")
    if not folder:
        return application
    from werkzeug.middleware import profiler  # noqa: PLC0415  an optional library

    return profiler.ProfilerMiddleware(application, stream=None, profile_dir=folder)


def _traced(application: "WSGIApplication", conf: cfg.ConfigOpts) -> "WSGIApplication":
    """Return the application with OSProfiler's traces, if [profiler]enabled."""
    if not is_configured(conf, "profiler"):
        return application
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
