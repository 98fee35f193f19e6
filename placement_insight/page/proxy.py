"""The dashboard for one user of this machine: the page, and a proxy with their credentials."""

import secrets
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple
from urllib.parse import quote
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment
from wsgiref.util import shift_path_info

import webob

from placement.microversion import UNVERSIONED, is_versioned
from placement_insight.page.page import PATH, DashboardMiddleware

# Only the headers that describe the body of the request or the response are forwarded.
_REQUEST_HEADERS = ("Accept", "Content-Type", "If-None-Match", "OpenStack-API-Version")
_RESPONSE_HEADERS = ("Cache-Control", "Content-Type", "ETag", "Retry-After")


class UpstreamResponse(NamedTuple):
    """A response of the service."""

    status_code: int
    headers: Mapping[str, str]
    content: bytes


Send = Callable[[str, Mapping[str, str], bytes | None], UpstreamResponse]
"""Sends a GET, or a POST with a body, to a path and query, with the token of the user added."""

_PLANS = (f"{UNVERSIONED}/drain", f"{UNVERSIONED}/room")
"""The only paths to which a POST is forwarded: it writes nothing."""
_MOST_BYTES = 65_536


@dataclass(frozen=True, slots=True)
class LocalDashboard:
    """A WSGI application for the loopback address.

    Other users of the machine reach that address as well, and so do pages in the browser. The
    path therefore begins with a random secret, and requests that name another host (DNS
    rebinding) are refused. Only requests that write nothing are forwarded, and only to the routes
    below ``/insight``; ``send`` also responds to ``/insight/names``, with the names in nova and
    keystone.
    """

    send: Send
    region: str | None = None
    secret: str = field(default_factory=lambda: secrets.token_urlsafe(24))

    @property
    def path(self) -> str:
        """The path of the page."""
        return f"/{self.secret}{PATH}/"

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Respond with the page, or with the response of the service."""
        prefix = shift_path_info(environ) or ""
        is_allowed = secrets.compare_digest(prefix.encode(), self.secret.encode())
        if not (is_allowed and _is_local(webob.Request(environ).host)):
            application: WSGIApplication = webob.Response("Not found", status=404)
        else:
            application = DashboardMiddleware(self._forward, {}, self.region, has_names=True)
        return application(environ, start_response)

    def _forward(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        response: WSGIApplication = self._forwarded(webob.Request(environ))
        return response(environ, start_response)

    def _forwarded(self, request: webob.Request) -> webob.Response:
        path = request.environ["PATH_INFO"]
        # clients and proxies on the way remove dot segments: /insight/../traits is /traits
        if is_versioned(path) or {".", ".."}.intersection(path.split("/")):
            return webob.Response("Not found", status=404)
        allowed = "POST" if path in _PLANS else "GET"
        if request.method != allowed:
            return webob.Response(status=405, headers={"Allow": allowed})
        if (request.content_length or 0) > _MOST_BYTES:
            return webob.Response(status=413)
        query = f"?{request.query_string}" if request.query_string else ""
        passed = {
            name: request.headers[name] for name in _REQUEST_HEADERS if name in request.headers
        }
        body = request.body if allowed == "POST" else None
        upstream = self.send(quote(path, encoding="latin-1") + query, passed, body)
        response = webob.Response(upstream.content, status=upstream.status_code)
        for name in _RESPONSE_HEADERS:
            if name in upstream.headers:
                response.headers[name] = upstream.headers[name]
        response.headers["X-Content-Type-Options"] = "nosniff"
        return response


def _is_local(host: str) -> bool:
    return host.rpartition(":")[0] in {"127.0.0.1", "localhost", "[::1]"}
