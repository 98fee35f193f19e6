"""What a request is answered with: the statuses, and the form of each."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from placement import errors
from placement.openapi.operation import Operation
from placement.openapi.requests import JSON
from placement.openapi.spans import Span, by_version, held
from placement.schemas.base import TEXT, Schema, closed

_ANY_REQUEST = frozenset({400, 406})  # a version that is none, or none of ours
_OF_SOMEBODY = frozenset({401, 403, 503})
_WITH_BODY = frozenset({415})

_Part = dict[str, Any]

HEADERS: Mapping[str, Mapping[str, Any]] = {
    "request-id": {
        "description": "The name of the request in the log of the service.",
        "required": True,
        "schema": {"type": "string", "pattern": "^req-[0-9a-f-]{36}$"},
    },
    "microversion": {
        "description": "The microversion in which the answer is written.",
        "required": True,
        "schema": {"type": "string", "pattern": r"^placement 1\.[0-9]+$"},
    },
    "location": {"description": "Where the thing is found.", "schema": TEXT},
    "last-modified": {"description": "Since 1.15.", "schema": TEXT},
    "cache-control": {"description": "Since 1.15.", "schema": {"const": "no-cache"}},
    "etag": {
        "description": "Of responses made from the snapshot, under /insight.",
        "schema": TEXT,
    },
}
_ID = {"x-openstack-request-id": {"$ref": "#/components/headers/request-id"}}
_OF_SUCCESS = {
    **_ID,
    "openstack-api-version": {"$ref": "#/components/headers/microversion"},
    **{
        name: {"$ref": f"#/components/headers/{name}"}
        for name in ("location", "last-modified", "cache-control", "etag")
    },
}


def described(operation: Operation, span: Span, *, is_open: bool) -> _Part:
    """Return the answers of the operation in these microversions, by status."""
    statuses = {status for _, answer in held(operation.success, span) for status in answer}
    refusals = operation.errors | _ANY_REQUEST
    if not is_open:
        refusals |= _OF_SOMEBODY
    if operation.body:
        refusals |= _WITH_BODY
    return {
        **{str(status): _success(operation, status, span) for status in sorted(statuses)},
        **{str(status): _reference(status) for status in sorted(refusals)},
    }


def _success(operation: Operation, status: int, span: Span) -> _Part:
    answer: _Part = {"description": HTTPStatus(status).phrase, "headers": _OF_SUCCESS}
    schemas = [
        (part, schema)
        for part, answers in held(operation.success, span)
        if (schema := answers.get(status))
    ]
    if schemas:
        answer["content"] = {JSON: {"schema": by_version(schemas, span)}}
    return answer


# --- errors ---------------------------------------------------------------------------


def error_responses() -> _Part:
    """Return the answers that tell of errors, by the names of their statuses."""
    statuses = {wire.status for wire in errors.TABLE.values()}
    refused = {
        "description": HTTPStatus.UNAUTHORIZED.phrase,
        "headers": _ID,
        "content": {JSON: {"schema": {"type": "object"}}},  # whoever authenticates words it
    }
    return {_name(401): refused} | {_name(status): _error(status) for status in sorted(statuses)}


def _reference(status: int) -> _Part:
    return {"$ref": f"#/components/responses/{_name(status)}"}


def _name(status: int) -> str:
    return HTTPStatus(status).name.lower().replace("_", "-")


def _error(status: int) -> _Part:
    codes = sorted({wire.code for wire in errors.TABLE.values() if wire.status == status})
    return {
        "description": HTTPStatus(status).phrase,
        "headers": _ID,
        "content": {
            JSON: {"schema": _document(status, codes)},
            "text/html": {"schema": TEXT},
            "text/plain": {"schema": TEXT},
        },
    }


def _document(status: int, codes: list[str]) -> Schema:
    """Return the schema of the document; the code is told since 1.23."""
    told: Schema = {
        "status": {"const": status},
        "title": {"const": HTTPStatus(status).phrase},
        "detail": TEXT,
        "request_id": TEXT,
    }
    also: _Part = {"code": {"type": "string", "enum": codes}}
    if status == HTTPStatus.NOT_ACCEPTABLE:
        also |= {"min_version": TEXT, "max_version": TEXT}
    errors_told = {
        "type": "array",
        "minItems": 1,
        "maxItems": 1,
        "items": closed({**told, **also}, *told),
    }
    return closed({"errors": errors_told}, "errors")
