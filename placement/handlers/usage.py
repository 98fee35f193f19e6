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
    """Return what is used on the provider."""
    request.context.can(policies.OF_PROVIDER)
    found = usage.of_provider(request.services.store, request.route["uuid"])
    return json_response(request, render.of_provider(found), modified_at=None)


@microversion.version_handler("1.9")
@accepts_json
def show_usages(request: Request) -> webob.Response:
    """Return what a project uses: by class, since 1.38 by consumer type and class."""
    pairs, store = request.query_pairs, request.services.store
    # A reader may see a project of his own. That he named none is told after he is refused.
    request.context.can(policies.OF_PROJECT, {"project_id": dict(pairs).get("project_id")})
    asked = parse.of_project(pairs, request.version)
    if request.version < (1, 38):
        body = render.of_project(usage.of_project(store, asked.project_id, asked.user_id))
    else:
        body = render.of_project_by_type(usage.of_project_by_type(store, *asked))
    return json_response(request, body, modified_at=None)
