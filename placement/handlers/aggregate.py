"""``/resource_providers/{uuid}/aggregates``, since 1.1.

The media type of the body is checked before the microversion: at 1.0 a wrong type is 415, not 404.
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
    aggregates = aggregate.of_provider(request.services.store, request.route["uuid"])
    return json_response(
        request, render.of_provider(aggregates, request.version), modified_at=None
    )


@requires_json
@microversion.version_handler("1.1")
def replace_aggregates(request: Request) -> webob.Response:
    """Associate the provider with exactly these aggregates; return them."""
    request.context.can(policies.UPDATE)
    store, uuid = request.services.store, request.route["uuid"]
    version = request.version
    command = provider.parsed(store, uuid, lambda: parse.of_provider(request.json_body, version))
    replaced = aggregate.replace(store, uuid, command.aggregates, command.generation)
    return json_response(request, render.of_provider(replaced, request.version), modified_at=None)
