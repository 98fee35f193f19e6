"""``/resource_providers/{uuid}/aggregates``, since 1.1.

The form of the body is looked at before the version: that is how the interface grew, and clients
of 1.0 are told so.
"""

import webob

from placement import microversion
from placement.objects import aggregate, provider
from placement.parse import aggregate as parse
from placement.policies import aggregate as policies
from placement.render import aggregate as render
from placement.wsgi_wrapper import Request, accepts_json, json_response, requires_json


@accepts_json
@microversion.version_handler("1.1")
def list_aggregates(request: Request) -> webob.Response:
    """Return the aggregates of the provider."""
    request.context.can(policies.LIST)
    found = aggregate.of_provider(request.services.store, request.route["uuid"])
    return json_response(request, render.of_provider(found, request.version), modified_at=None)


@requires_json
@microversion.version_handler("1.1")
def replace_aggregates(request: Request) -> webob.Response:
    """Associate the provider with exactly these aggregates; return them."""
    request.context.can(policies.UPDATE)
    store, uuid = request.services.store, request.route["uuid"]
    provider.show(store, uuid)  # that there is none is told before what is wrong with the body
    wanted = parse.of_provider(request.json_body, request.version)
    found = aggregate.replace(store, uuid, wanted.aggregates, wanted.generation)
    return json_response(request, render.of_provider(found, request.version), modified_at=None)
