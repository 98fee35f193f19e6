"""``GET /insight/permissions``: which calls of other services a set of roles may send."""

import webob

from placement.http.request import Request, accepts_json, json_response
from placement.insight import queries
from placement.insight.documents import document
from placement.insight.permissions.model import (
    SERVICES,
    CheckedCall,
    Permissions,
    permissions,
    role_names,
)
from placement.parse import validation
from placement.policies import rules as policies
from placement.schemas.base import NAME, Schema, always, closed

_ROLES: Schema = {
    **queries.described("a list of roles, separated by commas", "^ *[^, ][^,]*(, *[^, ][^,]*)*$"),
    "maxLength": 10_000,
}
_SERVICE: Schema = {"type": "string", "enum": list(SERVICES)}

PERMISSIONS_QUERY = always(
    closed({"roles": _ROLES, "project_id": NAME, "service": _SERVICE}, "roles")
)

_VALIDATORS = validation.query_validators(PERMISSIONS_QUERY)


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
    request.can(policies.PERMISSIONS)
    values = queries.values(request, _VALIDATORS)
    checked = permissions(
        request.services.policy.decisions(),
        role_names(values["roles"]),
        project_id=values.get("project_id"),
        service=values.get("service"),
    )
    return json_response(request, permissions_document(checked))
