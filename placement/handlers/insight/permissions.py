"""``GET /insight/permissions``: which calls of other services a set of roles may send."""

import webob

from placement.insight.permissions import permissions
from placement.parse.insight_permissions import permissions_query
from placement.policies import insight as policies
from placement.render import insight_permissions as render
from placement.wsgi_wrapper import Request, accepts_json, json_response


@accepts_json
def show_permissions(request: Request) -> webob.Response:
    """Return each call of the services with the decision of the policy in force."""
    request.context.can(policies.PERMISSIONS)
    query = permissions_query(request.query_pairs, request.version)
    rules = request.services.policy.decisions()
    checked = permissions(rules, query.roles, project_id=query.project_id, service=query.service)
    return json_response(request, render.permissions(checked))
