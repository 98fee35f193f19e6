"""The request of an operation: its headers, parameters and body."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from openapi.operations import Operation
from openapi.version_range import VersionRange, by_version, values_in_range
from placement.microversion import SERVICE_TYPE, VERSIONS
from placement.schemas.base import Schema

JSON = "application/json"

# It ends at a slash, percent-encoded or not.
_SEGMENT: Schema = {"type": "string", "pattern": "^[^/]+$"}

_Part = dict[str, Any]


def version_header(requested: VersionRange) -> _Part:
    """Return the header that selects the microversion."""
    versions = [version for version in VERSIONS if requested.first <= version <= requested.last]
    return {
        "name": "OpenStack-API-Version",
        "in": "header",
        "description": (
            "Without the header the oldest microversion applies; under /insight the newest."
        ),
        "required": requested.first == requested.last,
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


def describe(operation: Operation, versions: VersionRange) -> _Part:
    """Return the parameters and the body of the operation in these microversions."""
    version = {"$ref": "#/components/parameters/microversion"}
    return {"parameters": [version, *_query(operation, versions)], **_body(operation, versions)}


def _body(operation: Operation, versions: VersionRange) -> _Part:
    schemas = [
        (part, schema) for part, schema in values_in_range(operation.body, versions) if schema
    ]
    if not schemas:
        return {}
    covered = VersionRange(schemas[0][0].first, schemas[-1][0].last)
    schema = by_version(schemas, versions)
    return {
        "requestBody": {"required": covered == versions, "content": {JSON: {"schema": schema}}}
    }


def _query(operation: Operation, versions: VersionRange) -> Iterator[_Part]:
    """Yield the query parameters: parameters with fixed names, then parameters with a suffix."""
    windows = list(values_in_range(operation.query, versions))
    names = {name: None for _, query in windows for name in query.get("properties", ())}
    for name in names:
        queries = [(part, query) for part, query in windows if name in query["properties"]]
        yield _parameter(name, queries, versions)
    patterns = [
        (part, {"type": "object", "patternProperties": query["patternProperties"]})
        for part, query in windows
        if "patternProperties" in query
    ]
    if patterns:
        yield {**_in_query("groups", by_version(patterns, versions)), **_SUFFIXED}


_SUFFIXED: Mapping[str, Any] = {
    "style": "form",
    "explode": True,
    "description": "The parameters of a request group end in the suffix of the group.",
}


def _parameter(
    name: str, queries: list[tuple[VersionRange, Schema]], versions: VersionRange
) -> _Part:
    required = all(name in query.get("required", ()) for _, query in queries)
    schemas = [(part, query["properties"][name]) for part, query in queries]
    return _in_query(name, by_version(schemas, versions), required=required)


def _in_query(name: str, schema: Schema, *, required: bool = False) -> _Part:
    return {"name": name, "in": "query", "required": required, "schema": schema}
