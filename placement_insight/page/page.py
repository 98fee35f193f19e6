"""The dashboard's static files, under ``/insight/page/``."""

import json
import mimetypes
from collections.abc import Iterable, Mapping
from pathlib import Path
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

import webob

from placement.microversion import UNVERSIONED

PATH = f"{UNVERSIONED}/page"
STATIC = Path(__file__).parent / "static"

# noauth2 accepts every token: the page does not need the token of a user.
DEVELOPMENT_HEADERS = {"X-Auth-Token": "admin"}

# The page needs only its files and the routes of the service: no inline code, no other host.
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
        "img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}


class DashboardMiddleware:
    """Serves the page before authentication: the files contain no data of the cloud.

    The page adds ``request_headers`` to its requests, for example a development token. With
    Keystone they are empty: a proxy that authenticates the user adds the token, for example
    ``openstack placement dashboard``. ``region`` is the name of the region that the page displays.
    ``has_names`` is whether ``/insight/names`` has the names of aggregates, projects and servers.
    """

    def __init__(
        self,
        application: WSGIApplication,
        request_headers: Mapping[str, str],
        region: str | None = None,
        *,
        has_names: bool = False,
    ) -> None:
        self._application = application
        self._files = {path.name: path.read_bytes() for path in STATIC.iterdir()}
        settings = {
            "headers": dict(request_headers),
            "region": region or "",
            "has_names": has_names,
        }
        self._files["settings.json"] = json.dumps(settings).encode()

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Respond to a request for the page; pass all others on."""
        path = environ.get("PATH_INFO", "")
        if path != PATH and not path.startswith(f"{PATH}/"):
            return self._application(environ, start_response)
        response = self._response(webob.Request(environ), path)
        response.headers.update(HEADERS)
        responded: Iterable[bytes] = response(environ, start_response)
        return responded

    def _response(self, request: webob.Request, path: str) -> webob.Response:
        if request.method not in {"GET", "HEAD"}:
            return webob.Response(status=405, headers={"Allow": "GET, HEAD"})
        if path == PATH:
            return webob.Response(status=301, location=f"{request.script_name}{PATH}/")
        name = path.removeprefix(f"{PATH}/") or "index.html"
        if name not in self._files:
            return webob.Response("Not found", status=404)
        response = webob.Response(
            self._files[name], content_type=mimetypes.guess_type(name)[0], charset="UTF-8"
        )
        # WebOb's conditional responses raise for malformed ranges and dates, and take seconds for
        # long ones, without authentication
        response.md5_etag()
        if response.etag in request.if_none_match:
            return webob.Response(status=304, etag=response.etag)
        return response
