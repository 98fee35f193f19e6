"""The operations under ``/insight``, like those of ``placement.openapi.operations``."""

from collections.abc import Mapping
from typing import Final

from placement.handlers.insight.routes import PREFIX
from placement.openapi.operation import Operation, Responses
from placement.schemas import (
    insight,
    insight_cloud,
    insight_findings,
    insight_identity,
    insight_permissions,
)
from placement.schemas.base import Windows


def from_snapshot(windows: Windows) -> Responses:
    """Return the responses of an operation on the snapshot: 200, and 304 if it is unchanged."""
    return tuple((since, {200: schema, 304: None}) for since, schema in windows)


def from_database(windows: Windows) -> Responses:
    """Return the responses of an operation that does not read the snapshot: 200."""
    return tuple((since, {200: schema}) for since, schema in windows)


OPERATIONS: Final[Mapping[tuple[str, str], Operation]] = {
    ("GET", PREFIX): Operation(from_snapshot(insight.OVERVIEW), query=insight.NOTHING_QUERY),
    ("GET", f"{PREFIX}/explanation"): Operation(
        from_snapshot(insight.EXPLANATION), query=insight.EXPLANATION_QUERY
    ),
    ("GET", f"{PREFIX}/providers"): Operation(
        from_snapshot(insight_cloud.PROVIDERS),
        query=insight_cloud.PROVIDERS_QUERY,
        line=insight_cloud.PROVIDERS_LINE,
    ),
    ("GET", f"{PREFIX}/requests"): Operation(
        from_database(insight.REQUESTS), query=insight.REQUESTS_QUERY
    ),
    ("GET", f"{PREFIX}/requests/{{request_id}}"): Operation(
        from_database(insight.REQUESTS), frozenset({404}), query=insight.NOTHING_QUERY
    ),
    ("GET", f"{PREFIX}/capacity"): Operation(
        from_snapshot(insight_cloud.CAPACITY), query=insight_cloud.CAPACITY_QUERY
    ),
    ("GET", f"{PREFIX}/consumers"): Operation(
        from_database(insight_cloud.CONSUMERS), query=insight_cloud.CONSUMERS_QUERY
    ),
    ("GET", f"{PREFIX}/findings"): Operation(
        from_database(insight_findings.FINDINGS), query=insight_findings.FINDINGS_QUERY
    ),
    ("GET", f"{PREFIX}/identity"): Operation(
        from_database(insight_identity.IDENTITY), query=insight_identity.IDENTITY_QUERY
    ),
    ("GET", f"{PREFIX}/permissions"): Operation(
        from_database(insight_permissions.PERMISSIONS),
        query=insight_permissions.PERMISSIONS_QUERY,
    ),
}
