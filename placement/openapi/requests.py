"""What a request brings: headers, parameters and a body."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from placement.microversion import SERVICE_TYPE, VERSIONS
from placement.openapi.operation import Operation
from placement.openapi.spans import Span, by_version, held
from placement.schemas.base import Schema

JSON = "application/json"

# A slash ends it, encoded or not.
_SEGMENT: Schema = {"type": "string", "pattern": "^[^/]+$"}

_Part = dict[str, Any]


def version_header(asked: Span) -> _Part:
    """Return the header that says which of the microversions is spoken."""
    versions = [version for version in VERSIONS if asked.first <= version <= asked.last]
    return {
        "name": "OpenStack-API-Version",
        "in": "header",
        "description": (
            "Without the header, the oldest microversion is spoken; under /insight the newest."
        ),
        "required": asked.first == asked.last,
        "schema": {
            "type": "string",
            "enum": [f"{SERVICE_TYPE} {version}" for version in versions],
        },
    }


def path_parameters(path: str) -> list[_Part]:
    """Return the parameters in the path."""
    return [
        {"name": name, "in": "path", "required": True, "schema": _SEGMENT}
        for name in re.findall(r"{(\w+)}", path)
    ]


def described(operation: Operation, span: Span) -> _Part:
    """Return what the operation takes in these microversions."""
    version = {"$ref": "#/components/parameters/microversion"}
    return {"parameters": [version, *_query(operation, span)], **_body(operation, span)}


def _body(operation: Operation, span: Span) -> _Part:
    schemas = [(part, schema) for part, schema in held(operation.body, span) if schema]
    if not schemas:
        return {}
    covered = Span(schemas[0][0].first, schemas[-1][0].last)
    schema = by_version(schemas, span)
    return {"requestBody": {"required": covered == span, "content": {JSON: {"schema": schema}}}}


def _query(operation: Operation, span: Span) -> Iterator[_Part]:
    """Yield the parameters in the query: those of one name, and then those of a suffix."""
    windows = list(held(operation.query, span))
    names = {name: None for _, query in windows for name in query.get("properties", ())}
    for name in names:
        known = [(part, query) for part, query in windows if name in query["properties"]]
        yield _parameter(name, known, span)
    patterns = [
        (part, {"type": "object", "patternProperties": query["patternProperties"]})
        for part, query in windows
        if "patternProperties" in query
    ]
    if patterns:
        yield {**_in_query("groups", by_version(patterns, span)), **_SUFFIXED}


_SUFFIXED: Mapping[str, Any] = {
    "style": "form",
    "explode": True,
    "description": "Parameters of a group of resources end in the suffix of the group.",
}


def _parameter(name: str, known: list[tuple[Span, Schema]], span: Span) -> _Part:
    required = all(name in query.get("required", ()) for _, query in known)
    schemas = [(part, query["properties"][name]) for part, query in known]
    return _in_query(name, by_version(schemas, span), required=required)


def _in_query(name: str, schema: Schema, *, required: bool = False) -> _Part:
    return {"name": name, "in": "query", "required": required, "schema": schema}
