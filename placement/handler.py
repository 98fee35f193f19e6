"""The routes of the API, and the dispatch of requests to their handlers."""

import logging
import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple, cast
from wsgiref.types import StartResponse, WSGIEnvironment

import webob

from placement import exception, microversion, surface
from placement.core.text import canonical
from placement.events import TEMPLATE, VERSION
from placement.handlers import (
    allocation,
    allocation_candidate,
    inventory,
    names,
    resource_provider,
    root,
)
from placement.http import request_body
from placement.http.errors import add_version_headers, error_response, unexpected
from placement.http.request import (
    CONTEXT,
    ROUTE,
    SERVICES,
    Context,
    HandlerFunction,
    Request,
    Services,
)

LOG = logging.getLogger(__name__)

Methods = Mapping[str, HandlerFunction]
Declarations = Mapping[str, Methods]

# The ``allow`` header lists the methods in this order.
ROUTE_DECLARATIONS: Declarations = {
    "": {"GET": root.show},
    "/": {"GET": root.show},
    "/resource_classes": {
        "GET": names.list_resource_classes,
        "POST": names.create_resource_class,
    },
    "/resource_classes/{name}": {
        "GET": names.show_resource_class,
        "PUT": names.update_resource_class,
        "DELETE": names.delete_resource_class,
    },
    "/resource_providers": {
        "GET": resource_provider.list_resource_providers,
        "POST": resource_provider.create_resource_provider,
    },
    "/resource_providers/{uuid}": {
        "GET": resource_provider.show_resource_provider,
        "DELETE": resource_provider.delete_resource_provider,
        "PUT": resource_provider.update_resource_provider,
    },
    "/resource_providers/{uuid}/inventories": {
        "GET": inventory.list_inventories,
        "POST": inventory.create_inventory,
        "PUT": inventory.replace_inventories,
        "DELETE": inventory.delete_inventories,
    },
    "/resource_providers/{uuid}/inventories/{resource_class}": {
        "GET": inventory.show_inventory,
        "PUT": inventory.update_inventory,
        "DELETE": inventory.delete_inventory,
    },
    "/resource_providers/{uuid}/usages": {"GET": allocation.show_usages_of_provider},
    "/resource_providers/{uuid}/aggregates": {
        "GET": resource_provider.list_aggregates,
        "PUT": resource_provider.replace_aggregates,
    },
    "/resource_providers/{uuid}/allocations": {"GET": allocation.list_allocations_on_provider},
    "/resource_providers/{uuid}/traits": {
        "GET": names.list_traits_of_provider,
        "PUT": names.replace_traits_of_provider,
        "DELETE": names.delete_traits_of_provider,
    },
    "/allocations": {"POST": allocation.manage_allocations},
    "/allocations/{consumer_uuid}": {
        "GET": allocation.list_allocations,
        "PUT": allocation.replace_allocations,
        "DELETE": allocation.delete_allocations,
    },
    "/allocation_candidates": {"GET": allocation_candidate.list_allocation_candidates},
    "/traits": {"GET": names.list_traits},
    "/traits/{name}": {
        "GET": names.show_trait,
        "PUT": names.ensure_trait,
        "DELETE": names.delete_trait,
    },
    "/usages": {"GET": allocation.show_usages},
    "/reshaper": {"POST": allocation.reshape},
}


def all_routes() -> Declarations:
    """Return the declarations of the API and of the add-on."""
    return {**ROUTE_DECLARATIONS, **surface.installed().routes()}


class Route(NamedTuple):
    """The match of a path: its handlers by method and the parameters in the path.

    ``template`` is the declared path.
    """

    methods: Methods
    parameters: dict[str, str]
    template: str


class Routes:
    """The declared paths: ``/traits/{name}`` has one parameter, a segment that is not empty.

    If several match, the one declared first applies.
    """

    def __init__(self, declarations: Declarations) -> None:
        self._routes = [
            (re.compile(re.sub(r"{(\w+)}", r"(?P<\1>[^/]+)", path)), methods, path)
            for path, methods in declarations.items()
        ]

    def find(self, path: str) -> Route:
        """Return the match of a decoded path.  Raises: RouteNotFound."""
        for pattern, methods, template in self._routes:
            if match := pattern.fullmatch(path):
                return Route(methods, match.groupdict(), template)
        raise exception.RouteNotFound


class PlacementHandler:
    """The application behind authentication: negotiates the version and dispatches requests."""

    def __init__(self, services: Services, declarations: Declarations | None = None) -> None:
        self.services = services
        self._routes = Routes(all_routes() if declarations is None else declarations)

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Handle the request; exceptions become error documents."""
        request = Request(environ)
        try:
            with self.services.shared.short_requests.counted():
                response = self._dispatch(request)
            add_version_headers(request, response)
        except exception.PlacementException as error:
            if isinstance(error, exception.DatabaseUnavailable | exception.PolicyCheckFailed):
                LOG.warning("%s Reason: %s", error, error.reason)
            response = error_response(request, error)
        except Exception as error:
            response = unexpected(request, error)
        return cast("Iterable[bytes]", response(environ, start_response))

    def _dispatch(self, request: Request) -> webob.Response:
        environ = request.environ
        environ[CONTEXT] = Context.from_environ(environ)
        environ[SERVICES] = self.services
        is_versioned = microversion.is_versioned(environ["PATH_INFO"])
        default = microversion.MIN_VERSION if is_versioned else microversion.MAX_VERSION
        header = environ.get("HTTP_OPENSTACK_API_VERSION")
        environ[VERSION] = microversion.negotiate(header, default)
        request_body.check_headers(environ, self.services.max_body_bytes)
        route = self._routes.find(_path(environ))
        handler = route.methods.get(environ["REQUEST_METHOD"])
        if handler is None:
            raise exception.MethodNotAllowed(tuple(route.methods))
        environ[ROUTE] = {
            name: canonical(text) if name.endswith("uuid") else text
            for name, text in route.parameters.items()
        }
        environ[TEMPLATE] = route.template
        if not is_versioned:  # for operators, who ask about the whole cloud
            request.after_response(self.services.threads.take())
        response = handler(request)
        if not is_versioned:
            # browsers may cache the response, for If-None-Match; shared proxies may not
            response.headers["cache-control"] = "private, no-cache"
        return response


def _path(environ: WSGIEnvironment) -> str:
    """Return the path below the mount point, as the server has percent-decoded it.

    Bytes that are not UTF-8, and NUL, which databases cannot store, are replaced by U+FFFD. No
    identifier contains this character: lookups find nothing, and names are refused.
    """
    path: str = environ["PATH_INFO"].encode("latin-1", errors="replace").decode(errors="replace")
    return path.replace("\0", "\ufffd")
