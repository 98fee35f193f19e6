"""``/resource_providers``, ``/resource_providers/{uuid}`` and, since 1.1, its aggregates.

The media type of the body is checked before the microversion: at 1.0 a wrong type is 415, not 404.
"""

from uuid import uuid4

import webob

from placement import microversion, policies
from placement.core.model import Provider
from placement.core.search.provider_filter import filter_providers
from placement.http.request import Request, accepts_json, requires_json
from placement.http.response import json_response, no_content
from placement.objects import aggregate, provider
from placement.parse import resource_provider as parse
from placement.render import resource_provider as render


def _create(request: Request) -> Provider:
    request.can(policies.CREATE_PROVIDER)
    new = parse.creation(request.json_body, request.version)
    uuid = new.uuid or str(uuid4())
    with request.services.reports.name_conflicts_of(request, new.name, uuid):
        return provider.create(request.services.store, uuid, new.name, new.parent_uuid)


def _create_without_body(request: Request) -> webob.Response:
    return no_content(request, status=201, location=_path(_create(request)))


def _create_and_show(request: Request) -> webob.Response:
    new_provider = _create(request)
    return json_response(
        request, _body(request, new_provider), modified_at=None, location=_path(new_provider)
    )


create_resource_provider = requires_json(
    microversion.by_version(
        {("1.0", "1.19"): _create_without_body, ("1.20", None): _create_and_show}
    )
)


@accepts_json
def show_resource_provider(request: Request) -> webob.Response:
    """Return the provider."""
    request.can(policies.SHOW_PROVIDER)
    shown = provider.show(request.services.store, request.route["uuid"])
    return json_response(request, _body(request, shown), modified_at=shown.modified_at)


@requires_json
def update_resource_provider(request: Request) -> webob.Response:
    """Rename the provider, or move it to another parent; return it."""
    request.can(policies.UPDATE_PROVIDER)
    store, uuid = request.services.store, request.route["uuid"]
    command = provider.parsed(
        store, uuid, lambda: parse.update(uuid, request.json_body, request.version)
    )
    with request.services.reports.name_conflicts_of(request, command.name, uuid):
        updated = provider.update(store, command)
    return json_response(request, _body(request, updated), modified_at=updated.modified_at)


def delete_resource_provider(request: Request) -> webob.Response:
    """Delete the provider."""
    request.can(policies.DELETE_PROVIDER)
    with request.services.reports.results_of(request):
        provider.delete(request.services.store, request.route["uuid"])
    return no_content(request)


def _body(request: Request, shown: Provider) -> bytes:
    return render.provider(shown, request.version, request.script_name)


def _path(shown: Provider) -> str:
    return f"/resource_providers/{shown.uuid}"


@accepts_json
def list_resource_providers(request: Request) -> webob.Response:
    """Return the providers that match the query; all of them if it is empty."""
    request.can(policies.LIST_PROVIDERS)
    conditions = parse.provider_filter(request.query_pairs, request.version)
    conditions = provider.with_stored_name(request.services.store, conditions)
    entries = filter_providers(request.services.engine.current(), conditions)
    providers = [entry.state.provider for entry in entries]
    times = (provider.modified_at for provider in providers if provider.modified_at)
    body = render.provider_list(providers, request.version, request.script_name)
    return json_response(request, body, modified_at=max(times, default=None))


@accepts_json
@microversion.version_handler("1.1")
def list_aggregates(request: Request) -> webob.Response:
    """Return the aggregates of the provider."""
    request.can(policies.LIST_AGGREGATES)
    aggregates = aggregate.of_provider(request.services.store, request.route["uuid"])
    return json_response(
        request, render.of_provider(aggregates, request.version), modified_at=None
    )


@requires_json
@microversion.version_handler("1.1")
def replace_aggregates(request: Request) -> webob.Response:
    """Associate the provider with exactly these aggregates; return them."""
    request.can(policies.UPDATE_AGGREGATES)
    store, uuid = request.services.store, request.route["uuid"]
    version = request.version
    command = provider.parsed(store, uuid, lambda: parse.of_provider(request.json_body, version))
    with request.services.reports.results_of(request):
        replaced = aggregate.replace(store, uuid, command.aggregates, command.generation)
    return json_response(request, render.of_provider(replaced, request.version), modified_at=None)
