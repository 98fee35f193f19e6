"""``GET /insight/permissions``: which calls of other services a set of roles may send."""

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
from placement.microversion import Version
from placement.parse import validation
from placement.policies import rules as policies
from placement.schemas.base import OWNER, Schema, always, closed

_ROLES: Schema = {
    "type": "string",
    "pattern": "^ *[^, ][^,]*(, *[^, ][^,]*)*$",
    "maxLength": 10_000,
    "description": "a list of roles, separated by commas",
}
_SERVICE: Schema = {"type": "string", "enum": list(SERVICES)}

PERMISSIONS_QUERY = always(
    closed({"roles": _ROLES, "project_id": OWNER, "service": _SERVICE}, "roles")
)

_VALIDATORS = validation.query_validators(PERMISSIONS_QUERY)


class PermissionsQuery(NamedTuple):
    """The roles of a token, its project, and the service to check; None checks all services."""

    roles: tuple[str, ...]
    project_id: str | None
    service: str | None


def permissions_query(pairs: validation.QueryPairs, version: Version) -> PermissionsQuery:
    """Return the roles, project and service in a query.  Raises: BadRequest."""
    validation.check_in_words(_VALIDATORS, pairs, version)
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
        calls=[_call(checked) for checked in report.calls],
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
