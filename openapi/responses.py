"""The responses of an operation: their statuses, headers and schemas."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from openapi.operations import Operation
from openapi.requests import JSON
from openapi.version_range import VersionRange, by_version, values_in_range
from placement import errors
from placement.schemas.base import TEXT, Schema, closed

LINES = "application/x-ndjson"
# a malformed or unsupported microversion; a request line or headers that are too long
_ANY_REQUEST = frozenset({400, 406, 414, 431})
_AUTHENTICATED = frozenset({401, 403, 503})
_WITH_BODY = frozenset({413, 415})

_Part = dict[str, Any]

HEADERS: Mapping[str, Mapping[str, Any]] = {
    "request-id": {
        "description": "The id of the request in the log of the service.",
        "required": True,
        "schema": {"type": "string", "pattern": "^req-[0-9a-f-]{36}$"},
    },
    "microversion": {
        "description": "The microversion of the response.",
        "required": True,
        "schema": {"type": "string", "pattern": r"^placement 1\.[0-9]+$"},
    },
    "location": {"description": "The URL of the resource.", "schema": TEXT},
    "last-modified": {"description": "Since 1.15.", "schema": TEXT},
    "cache-control": {
        "description": "Since 1.15; below /insight, private as well.",
        "schema": {"enum": ["no-cache", "private, no-cache"]},
    },
    "etag": {
        "description": "Of responses made from the snapshot, under /insight.",
        "schema": TEXT,
    },
    "retry-after": {
        "description": "After how many seconds a request succeeds, probably.",
        "schema": {"type": "string", "pattern": "^[0-9]+$"},
    },
}
_RETRY_HEADER = {"retry-after": {"$ref": "#/components/headers/retry-after"}}
_ID_HEADER = {"x-openstack-request-id": {"$ref": "#/components/headers/request-id"}}
_SUCCESS_HEADERS = {
    **_ID_HEADER,
    "openstack-api-version": {"$ref": "#/components/headers/microversion"},
    **{
        name: {"$ref": f"#/components/headers/{name}"}
        for name in ("location", "last-modified", "cache-control", "etag")
    },
}


def describe(operation: Operation, versions: VersionRange, *, is_open: bool) -> _Part:
    """Return the responses of the operation in these microversions, by status."""
    statuses = {
        status
        for _, by_status in values_in_range(operation.success, versions)
        for status in by_status
    }
    error_statuses = operation.errors | _ANY_REQUEST
    if not is_open:
        error_statuses |= _AUTHENTICATED
    if operation.body:
        error_statuses |= _WITH_BODY
    return {
        **{str(status): _success(operation, status, versions) for status in sorted(statuses)},
        **{str(status): _reference(status) for status in sorted(error_statuses)},
    }


def _success(operation: Operation, status: int, versions: VersionRange) -> _Part:
    response: _Part = {"description": HTTPStatus(status).phrase, "headers": _SUCCESS_HEADERS}
    schemas = [
        (part, schema)
        for part, by_status in values_in_range(operation.success, versions)
        if (schema := by_status.get(status))
    ]
    if schemas:
        response["content"] = {JSON: {"schema": by_version(schemas, versions)}}
        if operation.line is not None:
            response["content"][LINES] = {"schema": operation.line}
    return response


# --- errors ---------------------------------------------------------------------------


def error_responses() -> _Part:
    """Return the error responses, by the names of their statuses."""
    statuses = {error.status for error in errors.TABLE.values()}
    unauthorized = {
        "description": HTTPStatus.UNAUTHORIZED.phrase,
        "headers": _ID_HEADER,
        "content": {
            JSON: {"schema": {"type": "object"}}
        },  # the authentication middleware writes it
    }
    return {_name(401): unauthorized} | {
        _name(status): _error(status) for status in sorted(statuses)
    }


def _reference(status: int) -> _Part:
    return {"$ref": f"#/components/responses/{_name(status)}"}


def _name(status: int) -> str:
    return HTTPStatus(status).name.lower().replace("_", "-")


def _error(status: int) -> _Part:
    mapped = [error for error in errors.TABLE.values() if error.status == status]
    codes = sorted({error.code for error in mapped})
    is_temporary = any(error.headers == errors.RETRY_SOON for error in mapped)
    return {
        "description": HTTPStatus(status).phrase,
        "headers": _ID_HEADER | (_RETRY_HEADER if is_temporary else {}),
        "content": {
            JSON: {"schema": _document(status, codes)},
            "text/html": {"schema": TEXT},
            "text/plain": {"schema": TEXT},
        },
    }


def _document(status: int, codes: list[str]) -> Schema:
    """Return the schema of the error document; it has ``code`` since 1.23."""
    required: Schema = {
        "status": {"const": status},
        "title": {"const": HTTPStatus(status).phrase},
        "detail": TEXT,
        "request_id": TEXT,
    }
    optional: _Part = {"code": {"type": "string", "enum": codes}}
    if status == HTTPStatus.NOT_ACCEPTABLE:
        optional |= {"min_version": TEXT, "max_version": TEXT}
    error_list = {
        "type": "array",
        "minItems": 1,
        "maxItems": 1,
        "items": closed({**required, **optional}, *required),
    }
    return closed({"errors": error_list}, "errors")
