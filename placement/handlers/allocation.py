"""``/allocations``, ``/allocations/{consumer_uuid}`` and the allocations on a provider."""

import webob

from placement import microversion
from placement.objects import allocation
from placement.parse import allocation as parse
from placement.policies import allocation as policies
from placement.render import allocation as render
from placement.wsgi_wrapper import (
    Request,
    accepts_json,
    json_response,
    no_content,
    requires_json,
)


@accepts_json
def list_allocations(request: Request) -> webob.Response:
    """Return the allocations of the consumer; an empty list if there is no such consumer."""
    request.context.can(policies.LIST)
    allocations = allocation.of_consumer(request.services.store, request.route["consumer_uuid"])
    body = render.of_consumer(allocations, request.version)
    return json_response(request, body, modified_at=allocations.modified_at)


@requires_json
def replace_allocations(request: Request) -> webob.Response:
    """Replace the allocations of the consumer."""
    request.context.can(policies.UPDATE)
    consumer_uuid = parse.consumer_uuid(request.route["consumer_uuid"])
    owner = request.services.incomplete_consumer
    command = parse.replacement(consumer_uuid, request.json_body, request.version, owner)
    with request.services.reports.refusals_of(request, command.claims):
        allocation.replace(request.services.store_for_allocations, command)
    return no_content(request)


def delete_allocations(request: Request) -> webob.Response:
    """Remove all allocations of the consumer."""
    request.context.can(policies.DELETE)
    allocation.delete(request.services.store, request.route["consumer_uuid"])
    return no_content(request)


@microversion.version_handler("1.13")
@requires_json
def manage_allocations(request: Request) -> webob.Response:
    """Replace the allocations of several consumers, in one transaction."""
    request.context.can(policies.MANAGE)
    command = parse.replacements(request.json_body, request.version)
    with request.services.reports.refusals_of(request, command.claims):
        allocation.replace(request.services.store_for_allocations, command)
    return no_content(request)


@accepts_json
def list_allocations_on_provider(request: Request) -> webob.Response:
    """Return the allocations on the provider."""
    request.context.can(policies.LIST_OF_PROVIDER)
    allocations = allocation.of_provider(request.services.store, request.route["uuid"])
    body = render.on_provider(allocations, request.version)
    return json_response(request, body, modified_at=allocations.modified_at)
