"""Which handler answers which path and method, and the way there."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import webob

from placement import body, exception, microversion
from placement.handlers import allocation_candidate, resource_provider_list, root
from placement.parts import Parts
from placement.routes import Route, Routes
from placement.wsgi_wrapper import (
    PARTS,
    ROUTE,
    VERSION,
    HandlerFunction,
    PlacementWsgify,
    Request,
)

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

Declarations = Mapping[str, Mapping[str, HandlerFunction]]

# The order of the methods is that of the ``allow`` header.
ROUTE_DECLARATIONS: Declarations = {
    "": {"GET": root.show},
    "/": {"GET": root.show},
    "/allocation_candidates": {"GET": allocation_candidate.list_allocation_candidates},
    "/resource_providers": {"GET": resource_provider_list.list_resource_providers},
}


class PlacementHandler:
    """The service behind authentication: version, headers, route, handler, in this order."""

    def __init__(self, parts: Parts, declarations: Declarations = ROUTE_DECLARATIONS) -> None:
        self.parts = parts
        self._routes = Routes(declarations)
        self._application = PlacementWsgify(self._dispatch)

    def __call__(
        self, environ: "WSGIEnvironment", start_response: "StartResponse"
    ) -> Iterable[bytes]:
        """Answer the request."""
        return self._application(environ, start_response)

    def _dispatch(self, request: Request) -> webob.Response:
        environ = request.environ
        environ[PARTS] = self.parts
        environ[VERSION] = microversion.negotiate(environ.get("HTTP_OPENSTACK_API_VERSION"))
        body.check_headers(environ)
        route = self._routes.find(_path(environ))
        environ[ROUTE] = route.parameters
        return _handler(route, environ["REQUEST_METHOD"])(request)


def _handler(route: Route, method: str) -> HandlerFunction:
    try:
        return route.methods[method]
    except KeyError:
        raise exception.MethodNotAllowed(tuple(route.methods)) from None


def _path(environ: "WSGIEnvironment") -> str:
    """Return the path below the mount point, which the server has percent-decoded, as text.

    Raises: RouteNotFound for what is not UTF-8, and for NUL, which no database stores.
    """
    try:
        path: str = environ["PATH_INFO"].encode("latin-1").decode()
    except UnicodeError:
        raise exception.RouteNotFound from None
    if "\0" in path:
        raise exception.RouteNotFound
    return path
