"""The operations of the API: body, query and responses; route and handler define the rest."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from openapi import insight_schemas as schemas
from openapi import response_schemas as responses
from placement.microversion import UNVERSIONED
from placement.schemas import allocation, names, queries, resource_provider
from placement.schemas.base import Schema, Version, Windows
from placement_insight.audit.http import CONSUMERS_QUERY, FINDINGS_QUERY, IDENTITY_QUERY
from placement_insight.explain.http import EXPLANATION_QUERY
from placement_insight.explain.records.http import REQUESTS_QUERY, SUMMARY_QUERY
from placement_insight.history.http import CHANGES_QUERY
from placement_insight.page.feed.http import PROVIDERS_QUERY
from placement_insight.plan.capacity.http import CAPACITY_QUERY
from placement_insight.plan.http import DRAIN_BODY, DRAIN_QUERY, SURVIVAL_BODY, SURVIVAL_QUERY
from placement_insight.plan.room_http import ROOM
from placement_insight.queries import NOTHING_QUERY
from placement_insight.top import TOP_QUERY

Responses = Sequence[tuple[Version, Mapping[int, Schema | None]]]
Bodies = Sequence[tuple[Version, Schema | None]]
Codes = frozenset[int]


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation: ``success`` maps a status to the schema of its body, None without a body.

    ``errors`` are the error statuses particular to the operation, without the common statuses.
    ``line`` is the schema of each line, if the response can be newline-delimited JSON.
    """

    success: Responses
    errors: Codes = frozenset()
    body: Bodies = ()
    query: Windows = ()
    line: Schema | None = None


def _ok(windows: Windows, status: int = 200) -> Responses:
    return tuple((since, {status: schema}) for since, schema in windows)


def _from_snapshot(windows: Windows) -> Responses:
    """Return the responses of an operation on the snapshot: 200, and 304 if it is unchanged."""
    return tuple((since, {200: schema, 304: None}) for since, schema in windows)


def _no_body(*statuses: int) -> Responses:
    return (((1, 0), dict.fromkeys(statuses)),)


_ROOT = Operation(_ok(responses.VERSIONS))
_NOT_FOUND = frozenset({404})
_CONFLICT = frozenset({409})
_NOT_FOUND_OR_CONFLICT = _NOT_FOUND | _CONFLICT
_NO_CONTENT = _no_body(204)

_SINCE_1_20 = tuple(window for window in _ok(responses.PROVIDER) if window[0] >= (1, 14))
_CREATED_PROVIDER: Responses = (
    *_no_body(201),
    *(((1, 20), response) for _, response in _SINCE_1_20),
)
_RENAMED_OR_ENSURED: Responses = (
    *_ok(responses.RESOURCE_CLASS),
    ((1, 7), {201: None, 204: None}),
)

OPERATIONS: Mapping[tuple[str, str], Operation] = {
    ("GET", ""): _ROOT,
    ("GET", "/"): _ROOT,
    ("GET", "/resource_classes"): Operation(_ok(responses.RESOURCE_CLASSES)),
    ("POST", "/resource_classes"): Operation(_no_body(201), _CONFLICT, names.NAMED),
    ("GET", "/resource_classes/{name}"): Operation(_ok(responses.RESOURCE_CLASS), _NOT_FOUND),
    ("PUT", "/resource_classes/{name}"): Operation(
        _RENAMED_OR_ENSURED,
        _NOT_FOUND_OR_CONFLICT,
        (*names.NAMED, ((1, 7), None)),
    ),
    ("DELETE", "/resource_classes/{name}"): Operation(_NO_CONTENT, _NOT_FOUND_OR_CONFLICT),
    ("GET", "/traits"): Operation(_ok(responses.TRAITS), query=names.LIST_QUERY),
    ("GET", "/traits/{name}"): Operation(_NO_CONTENT, _NOT_FOUND),
    ("PUT", "/traits/{name}"): Operation(_no_body(201, 204)),
    ("DELETE", "/traits/{name}"): Operation(_NO_CONTENT, _NOT_FOUND_OR_CONFLICT),
    ("GET", "/resource_providers"): Operation(
        _ok(responses.PROVIDERS), query=queries.PROVIDERS_QUERY
    ),
    ("POST", "/resource_providers"): Operation(
        _CREATED_PROVIDER, _CONFLICT, resource_provider.CREATE
    ),
    ("GET", "/resource_providers/{uuid}"): Operation(_ok(responses.PROVIDER), _NOT_FOUND),
    ("PUT", "/resource_providers/{uuid}"): Operation(
        _ok(responses.PROVIDER), _NOT_FOUND_OR_CONFLICT, resource_provider.UPDATE
    ),
    ("DELETE", "/resource_providers/{uuid}"): Operation(_NO_CONTENT, _NOT_FOUND_OR_CONFLICT),
    ("GET", "/resource_providers/{uuid}/inventories"): Operation(
        _ok(responses.INVENTORIES), _NOT_FOUND
    ),
    ("POST", "/resource_providers/{uuid}/inventories"): Operation(
        _ok(responses.INVENTORY, 201), _NOT_FOUND_OR_CONFLICT, resource_provider.CREATE_INVENTORY
    ),
    ("PUT", "/resource_providers/{uuid}/inventories"): Operation(
        _ok(responses.INVENTORIES), _NOT_FOUND_OR_CONFLICT, resource_provider.REPLACE_INVENTORIES
    ),
    ("DELETE", "/resource_providers/{uuid}/inventories"): Operation(
        _NO_CONTENT, _NOT_FOUND_OR_CONFLICT
    ),
    ("GET", "/resource_providers/{uuid}/inventories/{resource_class}"): Operation(
        _ok(responses.INVENTORY), _NOT_FOUND
    ),
    ("PUT", "/resource_providers/{uuid}/inventories/{resource_class}"): Operation(
        _ok(responses.INVENTORY), _NOT_FOUND_OR_CONFLICT, resource_provider.UPDATE_INVENTORY
    ),
    ("DELETE", "/resource_providers/{uuid}/inventories/{resource_class}"): Operation(
        _NO_CONTENT, _NOT_FOUND_OR_CONFLICT
    ),
    ("GET", "/resource_providers/{uuid}/usages"): Operation(
        _ok(responses.USAGES_OF_PROVIDER), _NOT_FOUND
    ),
    ("GET", "/resource_providers/{uuid}/aggregates"): Operation(
        _ok(responses.AGGREGATES), _NOT_FOUND
    ),
    ("PUT", "/resource_providers/{uuid}/aggregates"): Operation(
        _ok(responses.AGGREGATES), _NOT_FOUND_OR_CONFLICT, resource_provider.REPLACE_AGGREGATES
    ),
    ("GET", "/resource_providers/{uuid}/allocations"): Operation(
        _ok(responses.ALLOCATIONS_ON_PROVIDER), _NOT_FOUND
    ),
    ("GET", "/resource_providers/{uuid}/traits"): Operation(
        _ok(responses.TRAITS_OF_PROVIDER), _NOT_FOUND
    ),
    ("PUT", "/resource_providers/{uuid}/traits"): Operation(
        _ok(responses.TRAITS_OF_PROVIDER), _NOT_FOUND_OR_CONFLICT, names.REPLACE
    ),
    ("DELETE", "/resource_providers/{uuid}/traits"): Operation(
        _NO_CONTENT, _NOT_FOUND_OR_CONFLICT
    ),
    ("POST", "/allocations"): Operation(_NO_CONTENT, _CONFLICT, allocation.MANAGE),
    ("GET", "/allocations/{consumer_uuid}"): Operation(_ok(responses.ALLOCATIONS)),
    ("PUT", "/allocations/{consumer_uuid}"): Operation(_NO_CONTENT, _CONFLICT, allocation.REPLACE),
    ("DELETE", "/allocations/{consumer_uuid}"): Operation(_NO_CONTENT, _NOT_FOUND),
    ("GET", "/allocation_candidates"): Operation(
        _ok(responses.CANDIDATES), query=queries.CANDIDATES_QUERY
    ),
    ("GET", "/usages"): Operation(_ok(responses.USAGES), query=queries.OF_PROJECT_QUERY),
    ("POST", "/reshaper"): Operation(_NO_CONTENT, _CONFLICT, allocation.RESHAPE),
    ("GET", UNVERSIONED): Operation(_from_snapshot(schemas.OVERVIEW), query=NOTHING_QUERY),
    ("GET", f"{UNVERSIONED}/explanation"): Operation(
        _from_snapshot(schemas.EXPLANATION), query=EXPLANATION_QUERY
    ),
    ("GET", f"{UNVERSIONED}/providers"): Operation(
        _from_snapshot(schemas.PROVIDERS),
        query=PROVIDERS_QUERY,
        line=schemas.PROVIDERS_LINE,
    ),
    ("GET", f"{UNVERSIONED}/top"): Operation(_from_snapshot(schemas.TOP), query=TOP_QUERY),
    ("GET", f"{UNVERSIONED}/requests"): Operation(_ok(schemas.REQUESTS), query=REQUESTS_QUERY),
    ("GET", f"{UNVERSIONED}/requests/summary"): Operation(
        _ok(schemas.REQUESTS_SUMMARY), query=SUMMARY_QUERY
    ),
    ("GET", f"{UNVERSIONED}/requests/{{request_id}}"): Operation(
        _ok(schemas.REQUESTS), _NOT_FOUND, query=NOTHING_QUERY
    ),
    ("GET", f"{UNVERSIONED}/capacity"): Operation(
        _from_snapshot(schemas.CAPACITY), query=CAPACITY_QUERY
    ),
    ("GET", f"{UNVERSIONED}/consumers"): Operation(_ok(schemas.CONSUMERS), query=CONSUMERS_QUERY),
    ("GET", f"{UNVERSIONED}/findings"): Operation(_ok(schemas.FINDINGS), query=FINDINGS_QUERY),
    ("GET", f"{UNVERSIONED}/identity"): Operation(_ok(schemas.IDENTITY), query=IDENTITY_QUERY),
    ("GET", f"{UNVERSIONED}/changes"): Operation(_ok(schemas.CHANGES), query=CHANGES_QUERY),
    ("GET", f"{UNVERSIONED}/clients"): Operation(_ok(schemas.CLIENTS), query=NOTHING_QUERY),
    ("GET", f"{UNVERSIONED}/drain"): Operation(_from_snapshot(schemas.DRAIN), query=DRAIN_QUERY),
    ("POST", f"{UNVERSIONED}/drain"): Operation(_ok(schemas.DRAIN), body=DRAIN_BODY),
    ("GET", f"{UNVERSIONED}/survival"): Operation(
        _from_snapshot(schemas.SURVIVAL), query=SURVIVAL_QUERY
    ),
    ("POST", f"{UNVERSIONED}/survival"): Operation(_ok(schemas.SURVIVAL), body=SURVIVAL_BODY),
    ("POST", f"{UNVERSIONED}/room"): Operation(_ok(schemas.ROOM), body=ROOM),
}
