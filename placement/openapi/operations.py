"""What each operation takes and answers, beyond what its route and its handler tell."""

from collections.abc import Mapping

from placement.openapi import insight
from placement.openapi.operation import Answers, Codes, Operation
from placement.schemas import (
    aggregate,
    allocation,
    allocation_candidate,
    answers,
    inventory,
    reshaper,
    resource_class,
    resource_provider,
    resource_provider_query,
    trait,
    usage,
)
from placement.schemas.base import Windows


def _ok(windows: Windows, status: int = 200) -> Answers:
    return tuple((since, {status: schema}) for since, schema in windows)


def _silent(*statuses: int) -> Answers:
    return (((1, 0), dict.fromkeys(statuses)),)


def _errors(*statuses: int) -> Codes:
    return frozenset(statuses)


_ROOT = Operation(_ok(answers.VERSIONS))
_MISSING = _errors(404)
_MISSING_OR_IN_CONFLICT = _errors(404, 409)
_CONFLICT = _errors(409)
_DONE = _silent(204)

_SINCE_1_20 = tuple(window for window in _ok(answers.PROVIDER) if window[0] >= (1, 14))
_CREATED_PROVIDER: Answers = (
    *_silent(201),
    *(((1, 20), answer) for _, answer in _SINCE_1_20),
)
_RENAMED_OR_ENSURED: Answers = (
    *_ok(answers.RESOURCE_CLASS),
    ((1, 7), {201: None, 204: None}),
)

OPERATIONS: Mapping[tuple[str, str], Operation] = {
    ("GET", ""): _ROOT,
    ("GET", "/"): _ROOT,
    ("GET", "/resource_classes"): Operation(_ok(answers.RESOURCE_CLASSES)),
    ("POST", "/resource_classes"): Operation(_silent(201), _CONFLICT, resource_class.NAMED),
    ("GET", "/resource_classes/{name}"): Operation(_ok(answers.RESOURCE_CLASS), _MISSING),
    ("PUT", "/resource_classes/{name}"): Operation(
        _RENAMED_OR_ENSURED,
        _MISSING_OR_IN_CONFLICT,
        (*resource_class.NAMED, ((1, 7), None)),
    ),
    ("DELETE", "/resource_classes/{name}"): Operation(_DONE, _MISSING_OR_IN_CONFLICT),
    ("GET", "/traits"): Operation(_ok(answers.TRAITS), query=trait.LIST_QUERY),
    ("GET", "/traits/{name}"): Operation(_DONE, _MISSING),
    ("PUT", "/traits/{name}"): Operation(_silent(201, 204)),
    ("DELETE", "/traits/{name}"): Operation(_DONE, _MISSING_OR_IN_CONFLICT),
    ("GET", "/resource_providers"): Operation(
        _ok(answers.PROVIDERS), query=resource_provider_query.LIST_QUERY
    ),
    ("POST", "/resource_providers"): Operation(
        _CREATED_PROVIDER, _CONFLICT, resource_provider.CREATE
    ),
    ("GET", "/resource_providers/{uuid}"): Operation(_ok(answers.PROVIDER), _MISSING),
    ("PUT", "/resource_providers/{uuid}"): Operation(
        _ok(answers.PROVIDER), _MISSING_OR_IN_CONFLICT, resource_provider.UPDATE
    ),
    ("DELETE", "/resource_providers/{uuid}"): Operation(_DONE, _MISSING_OR_IN_CONFLICT),
    ("GET", "/resource_providers/{uuid}/inventories"): Operation(
        _ok(answers.INVENTORIES), _MISSING
    ),
    ("POST", "/resource_providers/{uuid}/inventories"): Operation(
        _ok(answers.INVENTORY, 201), _MISSING_OR_IN_CONFLICT, inventory.CREATE
    ),
    ("PUT", "/resource_providers/{uuid}/inventories"): Operation(
        _ok(answers.INVENTORIES), _MISSING_OR_IN_CONFLICT, inventory.REPLACE
    ),
    ("DELETE", "/resource_providers/{uuid}/inventories"): Operation(
        _DONE, _MISSING_OR_IN_CONFLICT
    ),
    ("GET", "/resource_providers/{uuid}/inventories/{resource_class}"): Operation(
        _ok(answers.INVENTORY), _MISSING
    ),
    ("PUT", "/resource_providers/{uuid}/inventories/{resource_class}"): Operation(
        _ok(answers.INVENTORY), _MISSING_OR_IN_CONFLICT, inventory.UPDATE
    ),
    ("DELETE", "/resource_providers/{uuid}/inventories/{resource_class}"): Operation(
        _DONE, _MISSING_OR_IN_CONFLICT
    ),
    ("GET", "/resource_providers/{uuid}/usages"): Operation(
        _ok(answers.USAGES_OF_PROVIDER), _MISSING
    ),
    ("GET", "/resource_providers/{uuid}/aggregates"): Operation(_ok(answers.AGGREGATES), _MISSING),
    ("PUT", "/resource_providers/{uuid}/aggregates"): Operation(
        _ok(answers.AGGREGATES), _MISSING_OR_IN_CONFLICT, aggregate.REPLACE
    ),
    ("GET", "/resource_providers/{uuid}/allocations"): Operation(
        _ok(answers.ALLOCATIONS_ON_PROVIDER), _MISSING
    ),
    ("GET", "/resource_providers/{uuid}/traits"): Operation(
        _ok(answers.TRAITS_OF_PROVIDER), _MISSING
    ),
    ("PUT", "/resource_providers/{uuid}/traits"): Operation(
        _ok(answers.TRAITS_OF_PROVIDER), _MISSING_OR_IN_CONFLICT, trait.REPLACE
    ),
    ("DELETE", "/resource_providers/{uuid}/traits"): Operation(_DONE, _MISSING_OR_IN_CONFLICT),
    ("POST", "/allocations"): Operation(_DONE, _CONFLICT, allocation.SEVERAL),
    ("GET", "/allocations/{consumer_uuid}"): Operation(_ok(answers.ALLOCATIONS)),
    ("PUT", "/allocations/{consumer_uuid}"): Operation(_DONE, _CONFLICT, allocation.REPLACE),
    ("DELETE", "/allocations/{consumer_uuid}"): Operation(_DONE, _MISSING),
    ("GET", "/allocation_candidates"): Operation(
        _ok(answers.CANDIDATES), query=allocation_candidate.LIST_QUERY
    ),
    ("GET", "/usages"): Operation(_ok(answers.USAGES), query=usage.OF_PROJECT_QUERY),
    ("POST", "/reshaper"): Operation(_DONE, _CONFLICT, reshaper.RESHAPE),
    **insight.OPERATIONS,
}
