"""Allocations of consumers and on providers, ``/reshaper`` since 1.30, and usages."""

import webob

from placement import microversion, policies
from placement.http.request import Request, accepts_json, requires_json
from placement.http.response import json_response, no_content
from placement.objects import allocation, reshaper, usage
from placement.parse import allocation as parse
from placement.render import allocation as render


@accepts_json
def list_allocations(request: Request) -> webob.Response:
    """Return the allocations of the consumer; an empty list if there is no such consumer."""
    request.can(policies.LIST_ALLOCATIONS)
    allocations = allocation.of_consumer(request.services.store, request.route["consumer_uuid"])
    body = render.of_consumer(allocations, request.version)
    return json_response(request, body, modified_at=allocations.modified_at)


@requires_json
def replace_allocations(request: Request) -> webob.Response:
    """Replace the allocations of the consumer."""
    request.can(policies.UPDATE_ALLOCATIONS)
    consumer_uuid = parse.consumer_uuid(request.route["consumer_uuid"])
    owner = request.services.incomplete_consumer
    claims = parse.replacement(consumer_uuid, request.json_body, request.version, owner)
    with request.services.reports.results_of(request, claims):
        allocation.replace(request.services.store_for_allocations, claims)
    return no_content(request)


def delete_allocations(request: Request) -> webob.Response:
    """Remove all allocations of the consumer."""
    request.can(policies.DELETE_ALLOCATIONS)
    with request.services.reports.results_of(request):
        allocation.delete(request.services.store, request.route["consumer_uuid"])
    return no_content(request)


@microversion.version_handler("1.13")
@requires_json
def manage_allocations(request: Request) -> webob.Response:
    """Replace the allocations of several consumers, in one transaction."""
    request.can(policies.MANAGE_ALLOCATIONS)
    claims = parse.replacements(request.json_body, request.version)
    with request.services.reports.results_of(request, claims):
        allocation.replace(request.services.store_for_allocations, claims)
    return no_content(request)


@accepts_json
def list_allocations_on_provider(request: Request) -> webob.Response:
    """Return the allocations on the provider."""
    request.can(policies.LIST_ALLOCATIONS_OF_PROVIDER)
    allocations = allocation.of_provider(request.services.store, request.route["uuid"])
    body = render.on_provider(allocations, request.version)
    return json_response(request, body, modified_at=allocations.modified_at)


@microversion.version_handler("1.30")
@requires_json
def reshape(request: Request) -> webob.Response:
    """Move inventories and their allocations between providers, in one transaction."""
    request.can(policies.RESHAPE)
    inventories, claims = parse.reshape(request.json_body, request.version)
    providers = [each.provider_uuid for each in inventories]
    with request.services.reports.results_of(request, claims, providers):
        reshaper.reshape(request.services.store, inventories, claims)
    return no_content(request)


@accepts_json
def show_usages_of_provider(request: Request) -> webob.Response:
    """Return the usage of the provider."""
    request.can(policies.SHOW_USAGES_OF_PROVIDER)
    usages = usage.of_provider(request.services.store, request.route["uuid"])
    return json_response(request, render.of_provider(usages), modified_at=None)


@microversion.version_handler("1.9")
@accepts_json
def show_usages(request: Request) -> webob.Response:
    """Return the usage of a project: by class; since 1.38 by consumer type and class."""
    request.can(policies.SHOW_USAGES_OF_PROJECT)
    store = request.services.store
    query = parse.of_project(request.query_pairs, request.version)
    if request.version < (1, 38):
        body = render.of_project(usage.of_project(store, query.project_id, query.user_id))
    else:
        body = render.of_project_by_type(usage.of_project_by_type(store, *query))
    return json_response(request, body, modified_at=None)
