"""``GET /resource_providers``: the providers that match the query."""

from dataclasses import replace

import webob

from placement.core.search.provider_filter import filter_providers
from placement.objects import provider
from placement.parse.provider_list import provider_filter
from placement.policies import resource_provider as policies
from placement.render.provider_list import provider_list
from placement.wsgi_wrapper import Request, accepts_json, json_response


@accepts_json
def list_resource_providers(request: Request) -> webob.Response:
    """Return the providers that match the query; all of them if it is empty."""
    request.context.can(policies.LIST)
    conditions = provider_filter(request.query_pairs, request.version)
    if conditions.name:
        name = provider.stored_name(request.services.store, conditions.name)
        conditions = replace(conditions, name=name)
    entries = filter_providers(request.services.engine.current(), conditions)
    providers = [entry.state.provider for entry in entries]
    times = (provider.modified_at for provider in providers if provider.modified_at)
    body = provider_list(providers, request.version, request.script_name)
    return json_response(request, body, modified_at=max(times, default=None))
