"""``/resource_providers/{uuid}/usages`` and, since 1.9, ``/usages``."""

import webob

from placement import microversion
from placement.objects import usage
from placement.parse import usage as parse
from placement.policies import usage as policies
from placement.render import usage as render
from placement.wsgi_wrapper import Request, accepts_json, json_response


@accepts_json
def show_usages_of_provider(request: Request) -> webob.Response:
    """Return the usage of the provider."""
    request.context.can(policies.OF_PROVIDER)
    usages = usage.of_provider(request.services.store, request.route["uuid"])
    return json_response(request, render.of_provider(usages), modified_at=None)


@microversion.version_handler("1.9")
@accepts_json
def show_usages(request: Request) -> webob.Response:
    """Return the usage of a project: by class; since 1.38 by consumer type and class."""
    pairs, store = request.query_pairs, request.services.store
    # A reader may see the usage of the own project. Authorization precedes validation.
    request.context.can(policies.OF_PROJECT, {"project_id": dict(pairs).get("project_id")})
    query = parse.of_project(pairs, request.version)
    if request.version < (1, 38):
        body = render.of_project(usage.of_project(store, query.project_id, query.user_id))
    else:
        body = render.of_project_by_type(usage.of_project_by_type(store, *query))
    return json_response(request, body, modified_at=None)
