"""``/resource_providers/{uuid}/inventories`` and the single inventories below it."""

import webob

from placement import microversion, policies
from placement.http.request import Request, accepts_json, requires_json
from placement.http.response import json_response, no_content
from placement.objects import inventory, provider
from placement.parse import inventory as parse
from placement.render import resource_provider as render


@accepts_json
def list_inventories(request: Request) -> webob.Response:
    """Return all inventories of the provider."""
    request.can(policies.LIST_INVENTORIES)
    inventories = inventory.list_of(request.services.store, request.route["uuid"])
    body = render.inventories(inventories)
    return json_response(request, body, modified_at=inventories.modified_at)


@requires_json
def create_inventory(request: Request) -> webob.Response:
    """Add an inventory to the provider; return it."""
    request.can(policies.CREATE_INVENTORY)
    store, uuid = request.services.store, request.route["uuid"]
    command = provider.parsed(
        store, uuid, lambda: parse.creation(uuid, request.json_body, request.version)
    )
    with request.services.reports.results_of(request):
        created = inventory.create(store, command)
    return json_response(
        request,
        render.inventory(created, command.resource_class),
        status=201,
        modified_at=None,
        location=f"/resource_providers/{uuid}/inventories/{command.resource_class}",
    )


@requires_json
def replace_inventories(request: Request) -> webob.Response:
    """Replace the inventories of the provider; return them."""
    request.can(policies.UPDATE_INVENTORY)
    store, uuid = request.services.store, request.route["uuid"]
    command = provider.parsed(
        store, uuid, lambda: parse.replacement(uuid, request.json_body, request.version)
    )
    with request.services.reports.results_of(request):
        replaced = inventory.replace(store, command)
    return json_response(request, render.inventories(replaced), modified_at=None)


@microversion.version_handler("1.5", status=405)
def delete_inventories(request: Request) -> webob.Response:
    """Remove all inventories of the provider."""
    request.can(policies.DELETE_INVENTORY)
    with request.services.reports.results_of(request):
        inventory.delete_all(request.services.store, request.route["uuid"])
    return no_content(request)


@accepts_json
def show_inventory(request: Request) -> webob.Response:
    """Return one inventory of the provider."""
    request.can(policies.SHOW_INVENTORY)
    resource_class = request.route["resource_class"]
    shown = inventory.show(request.services.store, request.route["uuid"], resource_class)
    body = render.inventory(shown, resource_class)
    return json_response(request, body, modified_at=shown.modified_at)


@requires_json
def update_inventory(request: Request) -> webob.Response:
    """Change an existing inventory of the provider; return it."""
    request.can(policies.UPDATE_INVENTORY)
    store, uuid = request.services.store, request.route["uuid"]
    resource_class = request.route["resource_class"]
    command = provider.parsed(
        store, uuid, lambda: parse.update(uuid, resource_class, request.json_body, request.version)
    )
    with request.services.reports.results_of(request):
        updated = inventory.update(store, command)
    return json_response(request, render.inventory(updated, resource_class), modified_at=None)


def delete_inventory(request: Request) -> webob.Response:
    """Remove one inventory of the provider."""
    request.can(policies.DELETE_INVENTORY)
    uuid, resource_class = request.route["uuid"], request.route["resource_class"]
    with request.services.reports.results_of(request):
        inventory.delete(request.services.store, uuid, resource_class)
    return no_content(request)
