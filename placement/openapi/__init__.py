"""The interface as an OpenAPI 3.1 document, made of what the service itself works with.

Routes, windows of microversions and schemas of requests are those that requests meet; summaries
are those of the policy rules. Where a body or an answer changes with the microversion, its forms
are alternatives, each marked ``x-openstack: {min-ver, max-ver}`` as in the descriptions of other
services. Which of them is meant is told by a header, which OpenAPI cannot express: the document
of a single microversion has one form of everything, and is exact.
"""

from collections.abc import Mapping
from typing import Any

from placement import policies
from placement.handler import ROUTE_DECLARATIONS
from placement.openapi import answers, requests
from placement.openapi.operations import OPERATIONS
from placement.openapi.spans import Span, served

Document = dict[str, Any]

_OPEN_PATHS = frozenset({"", "/"})


def document(versions: Span | None = None) -> Document:
    """Return the description of the interface at these microversions: at all, if none are given.

    An operation that none of them has is left out.
    """
    asked = versions or Span()
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Placement",
            "summary": "Which hosts could hold this, and a claim on them.",
            "version": str(asked.last),
            "license": {"name": "Apache 2.0", "identifier": "Apache-2.0"},
        },
        "security": [{"token": []}],
        "paths": {path: item for path in _paths() if (item := _path_item(path, asked))},
        "components": {
            "securitySchemes": {
                "token": {"type": "apiKey", "in": "header", "name": "X-Auth-Token"}
            },
            "parameters": {"microversion": requests.version_header(asked)},
            "responses": answers.error_responses(),
            "headers": answers.HEADERS,
        },
    }


def _paths() -> list[str]:
    """Return the declared paths; that of nothing is ``/`` to OpenAPI."""
    return [path for path in ROUTE_DECLARATIONS if path]


def _path_item(path: str, asked: Span) -> Document:
    methods = {
        method.lower(): _operation(method, path, span)
        for method, handler in ROUTE_DECLARATIONS[path].items()
        if (span := served(handler).within(asked))
    }
    if not methods:
        return {}
    return {"parameters": requests.path_parameters(path), **methods}


def _operation(method: str, path: str, span: Span) -> Document:
    described = OPERATIONS[method, path]
    is_open = path in _OPEN_PATHS
    return {
        "operationId": _name(method, path),
        **_told(method, path),
        **requests.described(described, span),
        "responses": answers.described(described, span, is_open=is_open),
        **({"security": []} if is_open else {}),
        "x-openstack": {"min-ver": str(span.first), "max-ver": str(span.last)},
    }


def _name(method: str, path: str) -> str:
    """Return the name of an operation, for programs: ``get_traits_name``."""
    return "_".join([method.lower(), *(part.strip("{}") for part in path.split("/") if part)])


def _told(method: str, path: str) -> Mapping[str, str]:
    """Return what the policy rule of the operation tells of it."""
    for rule in policies.list_rules():
        for operation in getattr(rule, "operations", ()):
            if (operation["method"], operation["path"]) == (method, path):
                return {"summary": str(rule.description), "x-openstack-policy": rule.name}
    return {"summary": "Show which microversions there are."}
