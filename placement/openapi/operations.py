"""The body, query and responses of each operation; route and handler give the rest."""

from collections.abc import Mapping

from placement.openapi import insight
from placement.openapi.operation import Codes, Operation, Responses
from placement.schemas import (
    aggregate,
    allocation,
    allocation_candidate,
    inventory,
    reshaper,
    resource_class,
    resource_provider,
    resource_provider_query,
    responses,
    trait,
    usage,
)
from placement.schemas.base import Windows


def _ok(windows: Windows, status: int = 200) -> Responses:
    return tuple((since, {status: schema}) for since, schema in windows)


def _no_body(*statuses: int) -> Responses:
    return (((1, 0), dict.fromkeys(statuses)),)


def _errors(*statuses: int) -> Codes:
    return frozenset(statuses)


_ROOT = Operation(_ok(responses.VERSIONS))
_NOT_FOUND = _errors(404)
_NOT_FOUND_OR_CONFLICT = _errors(404, 409)
_CONFLICT = _errors(409)
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
    ("POST", "/resource_classes"): Operation(_no_body(201), _CONFLICT, resource_class.NAMED),
    ("GET", "/resource_classes/{name}"): Operation(_ok(responses.RESOURCE_CLASS), _NOT_FOUND),
    ("PUT", "/resource_classes/{name}"): Operation(
        _RENAMED_OR_ENSURED,
        _NOT_FOUND_OR_CONFLICT,
        (*resource_class.NAMED, ((1, 7), None)),
    ),
    ("DELETE", "/resource_classes/{name}"): Operation(_NO_CONTENT, _NOT_FOUND_OR_CONFLICT),
    ("GET", "/traits"): Operation(_ok(responses.TRAITS), query=trait.LIST_QUERY),
    ("GET", "/traits/{name}"): Operation(_NO_CONTENT, _NOT_FOUND),
    ("PUT", "/traits/{name}"): Operation(_no_body(201, 204)),
    ("DELETE", "/traits/{name}"): Operation(_NO_CONTENT, _NOT_FOUND_OR_CONFLICT),
    ("GET", "/resource_providers"): Operation(
        _ok(responses.PROVIDERS), query=resource_provider_query.LIST_QUERY
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
        _ok(responses.INVENTORY, 201), _NOT_FOUND_OR_CONFLICT, inventory.CREATE
    ),
    ("PUT", "/resource_providers/{uuid}/inventories"): Operation(
        _ok(responses.INVENTORIES), _NOT_FOUND_OR_CONFLICT, inventory.REPLACE
    ),
    ("DELETE", "/resource_providers/{uuid}/inventories"): Operation(
        _NO_CONTENT, _NOT_FOUND_OR_CONFLICT
    ),
    ("GET", "/resource_providers/{uuid}/inventories/{resource_class}"): Operation(
        _ok(responses.INVENTORY), _NOT_FOUND
    ),
    ("PUT", "/resource_providers/{uuid}/inventories/{resource_class}"): Operation(
        _ok(responses.INVENTORY), _NOT_FOUND_OR_CONFLICT, inventory.UPDATE
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
        _ok(responses.AGGREGATES), _NOT_FOUND_OR_CONFLICT, aggregate.REPLACE
    ),
    ("GET", "/resource_providers/{uuid}/allocations"): Operation(
        _ok(responses.ALLOCATIONS_ON_PROVIDER), _NOT_FOUND
    ),
    ("GET", "/resource_providers/{uuid}/traits"): Operation(
        _ok(responses.TRAITS_OF_PROVIDER), _NOT_FOUND
    ),
    ("PUT", "/resource_providers/{uuid}/traits"): Operation(
        _ok(responses.TRAITS_OF_PROVIDER), _NOT_FOUND_OR_CONFLICT, trait.REPLACE
    ),
    ("DELETE", "/resource_providers/{uuid}/traits"): Operation(
        _NO_CONTENT, _NOT_FOUND_OR_CONFLICT
    ),
    ("POST", "/allocations"): Operation(_NO_CONTENT, _CONFLICT, allocation.MANAGE),
    ("GET", "/allocations/{consumer_uuid}"): Operation(_ok(responses.ALLOCATIONS)),
    ("PUT", "/allocations/{consumer_uuid}"): Operation(_NO_CONTENT, _CONFLICT, allocation.REPLACE),
    ("DELETE", "/allocations/{consumer_uuid}"): Operation(_NO_CONTENT, _NOT_FOUND),
    ("GET", "/allocation_candidates"): Operation(
        _ok(responses.CANDIDATES), query=allocation_candidate.LIST_QUERY
    ),
    ("GET", "/usages"): Operation(_ok(responses.USAGES), query=usage.OF_PROJECT_QUERY),
    ("POST", "/reshaper"): Operation(_NO_CONTENT, _CONFLICT, reshaper.RESHAPE),
    **insight.OPERATIONS,
}
