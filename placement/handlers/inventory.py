"""``/resource_providers/{uuid}/inventories`` and the single inventories below it."""

import webob

from placement import microversion
from placement.objects import inventory, provider
from placement.parse import inventory as parse
from placement.policies import inventory as policies
from placement.render import inventory as render
from placement.wsgi_wrapper import (
    Request,
    accepts_json,
    json_response,
    no_content,
    requires_json,
)


@accepts_json
def list_inventories(request: Request) -> webob.Response:
    """Return all inventories of the provider."""
    request.context.can(policies.LIST)
    found = inventory.list_of(request.services.store, request.route["uuid"])
    fields = {name: render.fields(each) for name, each in found.inventories.items()}
    body = render.all_of_provider(fields, found.provider.generation)
    return json_response(request, body, modified_at=found.modified_at)


@requires_json
def create_inventory(request: Request) -> webob.Response:
    """Add an inventory to the provider; return it."""
    request.context.can(policies.CREATE)
    store, uuid = request.services.store, request.route["uuid"]
    provider.show(store, uuid)  # that there is none is told before what is wrong with the body
    new = parse.creation(uuid, request.json_body, request.version)
    changed = inventory.create(store, uuid, new.resource_class, new.inventory)
    return json_response(
        request,
        render.one(new.written, changed.generation),
        status=201,
        modified_at=None,
        location=f"/resource_providers/{uuid}/inventories/{new.resource_class}",
    )


@requires_json
def replace_inventories(request: Request) -> webob.Response:
    """Make the provider have exactly these inventories; return them."""
    request.context.can(policies.UPDATE)
    store = request.services.store
    found = provider.show(store, request.route["uuid"])
    wanted = parse.replacement(found, request.json_body, request.version)
    changed = inventory.replace(store, wanted.command)
    body = render.all_of_provider(wanted.written, changed.generation)
    return json_response(request, body, modified_at=None)


@microversion.version_handler("1.5", status=405)
def delete_inventories(request: Request) -> webob.Response:
    """Remove all inventories of the provider."""
    request.context.can(policies.DELETE)
    inventory.delete_all(request.services.store, request.route["uuid"])
    return no_content(request)


@accepts_json
def show_inventory(request: Request) -> webob.Response:
    """Return one inventory of the provider."""
    request.context.can(policies.SHOW)
    resource_class = request.route["resource_class"]
    found = inventory.show(request.services.store, request.route["uuid"], resource_class)
    fields = render.fields(found.inventories[resource_class])
    body = render.one(fields, found.provider.generation)
    return json_response(request, body, modified_at=found.modified_at)


@requires_json
def update_inventory(request: Request) -> webob.Response:
    """Change an inventory that the provider has; return it."""
    request.context.can(policies.UPDATE)
    store, resource_class = request.services.store, request.route["resource_class"]
    found = provider.show(store, request.route["uuid"])
    generation, new = parse.update(found, resource_class, request.json_body, request.version)
    changed = inventory.update(store, found.uuid, generation, resource_class, new.inventory)
    body = render.one(new.written, changed.generation)
    return json_response(request, body, modified_at=None)


def delete_inventory(request: Request) -> webob.Response:
    """Remove one inventory of the provider."""
    request.context.can(policies.DELETE)
    inventory.delete(
        request.services.store, request.route["uuid"], request.route["resource_class"]
    )
    return no_content(request)
