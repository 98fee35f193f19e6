"""What GET /insight/permissions takes and returns.

The query of GET /insight/permissions.

The permissions of a set of roles, as JSON.

``GET /insight/permissions``: which calls of other services a set of roles may send.
"""

from typing import NamedTuple

import webob

from placement.http.request import Request, accepts_json, json_response
from placement.insight.documents import document
from placement.insight.permissions.model import (
    SERVICES,
    CheckedCall,
    Permissions,
    permissions,
    role_names,
)
from placement.insight.schemas import answer, opened
from placement.microversion import Version
from placement.parse import validation
from placement.policies import insight as policies
from placement.schemas.base import OWNER, TEXT, Schema, always, closed

_ROLES: Schema = {
    "type": "string",
    "pattern": "^ *[^, ][^,]*(, *[^, ][^,]*)*$",
    "maxLength": 10_000,
}
_SERVICE: Schema = {"type": "string", "enum": list(SERVICES)}
_NAMES: Schema = {"type": "array", "items": TEXT}

PERMISSIONS_QUERY = always(
    closed({"roles": _ROLES, "project_id": OWNER, "service": _SERVICE}, "roles")
)

_CALL = opened(
    service=_SERVICE,
    method=TEXT,
    path=TEXT,
    purpose=TEXT,
    rule=TEXT,
    allowed={"type": "boolean"},
    needs=TEXT,
)
PERMISSIONS = always(
    answer(
        roles=_NAMES,
        project_id={"type": ["string", "null"]},
        unnamed_roles=_NAMES,
        denied={"type": "integer", "minimum": 0},
        calls={"type": "array", "items": _CALL},
    )
)


_VALIDATORS = validation.query_validators(PERMISSIONS_QUERY)


class PermissionsQuery(NamedTuple):
    """The roles of a token, its project, and the service whose calls are checked, all if None."""

    roles: tuple[str, ...]
    project_id: str | None
    service: str | None


def permissions_query(pairs: validation.QueryPairs, version: Version) -> PermissionsQuery:
    """Return which permissions a query asks for.  Raises: BadRequest."""
    validation.check(_VALIDATORS, pairs, version)
    values = validation.effective(pairs)
    return PermissionsQuery(
        role_names(values["roles"]), values.get("project_id"), values.get("service")
    )


def permissions_document(report: Permissions) -> bytes:
    """Return the body of permissions."""
    return document(
        roles=list(report.roles),
        project_id=report.project_id,
        unnamed_roles=list(report.unnamed_roles),
        denied=len(report.denied),
        calls=[_call(each) for each in report.calls],
    )


def _call(checked: CheckedCall) -> dict[str, object]:
    return {
        **checked.call._asdict(),
        "rule": checked.rule,
        "allowed": checked.is_allowed,
        "needs": checked.requirement,
    }


@accepts_json
def show_permissions(request: Request) -> webob.Response:
    """Return each call of the services with the decision of the policy in force."""
    request.context.can(policies.PERMISSIONS)
    query = permissions_query(request.query_pairs, request.version)
    rules = request.services.policy.decisions()
    checked = permissions(rules, query.roles, project_id=query.project_id, service=query.service)
    return json_response(request, permissions_document(checked))
