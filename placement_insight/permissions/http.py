"""``GET /insight/permissions``: which calls of other services a set of roles may send."""

import webob

from placement.http.request import Request, accepts_json
from placement.http.response import json_response
from placement.parse import validation
from placement.schemas.base import NAME, Schema, always, closed
from placement_insight import policies, queries
from placement_insight.documents import document
from placement_insight.permissions.command import role_names
from placement_insight.permissions.model import SERVICES, permissions

_ROLES: Schema = {
    **queries.described("a list of roles, separated by commas", "^ *[^, ][^,]*(, *[^, ][^,]*)*$"),
    "maxLength": 10_000,
}
_SERVICE: Schema = {"type": "string", "enum": list(SERVICES)}

PERMISSIONS_QUERY = always(
    closed({"roles": _ROLES, "project_id": NAME, "service": _SERVICE}, "roles")
)

_VALIDATORS = validation.query_validators(PERMISSIONS_QUERY)


@accepts_json
def show_permissions(request: Request) -> webob.Response:
    """Return each call of the services with the decision of the policy in force."""
    request.can(policies.PERMISSIONS)
    values = queries.values(request, _VALIDATORS)
    report = permissions(
        request.services.policy.decisions(),
        role_names(values["roles"]),
        project_id=values.get("project_id"),
        service=values.get("service"),
    )
    return json_response(request, document(**report))
