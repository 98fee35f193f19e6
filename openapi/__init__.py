"""The API as an OpenAPI 3.1 document, generated from the data that the service itself uses.

Routes, microversion windows and request schemas are the data that the service checks requests
against; summaries come from the policy rules. If a body or a response changes with the
microversion, its forms are alternatives, annotated with ``x-openstack: {min-ver, max-ver}`` as in
the descriptions of other services. A header selects the form, which OpenAPI cannot express. The
document of a single microversion has one form of everything and is exact.
"""

from collections.abc import Mapping
from typing import Any

from openapi import requests, responses
from openapi.operations import OPERATIONS
from openapi.version_range import VersionRange, supported_versions
from placement import policies
from placement.handler import all_routes

Document = dict[str, Any]

_OPEN_PATHS = frozenset({"", "/"})


def document(versions: VersionRange | None = None) -> Document:
    """Return the description of the API at these microversions; by default, at all of them.

    Operations that none of them supports are left out.
    """
    requested = versions or VersionRange()
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Placement",
            "summary": "An inventory of resources, and claims on them.",
            "version": str(requested.last),
            "license": {"name": "Apache 2.0", "identifier": "Apache-2.0"},
        },
        "security": [{"token": []}],
        "paths": {path: item for path in _paths() if (item := _path_item(path, requested))},
        "components": {
            "securitySchemes": {
                "token": {"type": "apiKey", "in": "header", "name": "X-Auth-Token"}
            },
            "parameters": {"microversion": requests.version_header(requested)},
            "responses": responses.error_responses(),
            "headers": responses.HEADERS,
        },
    }


def _paths() -> list[str]:
    """Return the declared paths; OpenAPI has no empty path, only ``/``."""
    return [path for path in all_routes() if path]


def _path_item(path: str, requested: VersionRange) -> Document:
    methods = {
        method.lower(): _operation(method, path, versions)
        for method, handler in all_routes()[path].items()
        if (versions := supported_versions(handler).intersect(requested))
    }
    if not methods:
        return {}
    return {"parameters": requests.path_parameters(path), **methods}


def _operation(method: str, path: str, versions: VersionRange) -> Document:
    operation = OPERATIONS[method, path]
    is_open = path in _OPEN_PATHS
    return {
        "operationId": _operation_id(method, path),
        **_policy_summary(method, path),
        **requests.describe(operation, versions),
        "responses": responses.describe(operation, versions, is_open=is_open),
        **({"security": []} if is_open else {}),
        "x-openstack": {"min-ver": str(versions.first), "max-ver": str(versions.last)},
    }


def _operation_id(method: str, path: str) -> str:
    """Return the identifier of an operation: ``get_traits_name``."""
    return "_".join([method.lower(), *(part.strip("{}") for part in path.split("/") if part)])


def _policy_summary(method: str, path: str) -> Mapping[str, str]:
    """Return the description and the name of the policy rule of the operation."""
    for rule in policies.list_rules():
        for operation in getattr(rule, "operations", ()):
            if (operation["method"], operation["path"]) == (method, path):
                return {"summary": str(rule.description), "x-openstack-policy": rule.name}
    return {"summary": "Show the supported microversions."}
