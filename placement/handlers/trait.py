"""``/traits``, ``/traits/{name}`` and the traits of a provider, since 1.6."""

import webob

from placement import microversion
from placement.objects import trait
from placement.parse import trait as parse
from placement.policies import trait as policies
from placement.render import trait as render
from placement.wsgi_wrapper import (
    Request,
    accepts_json,
    json_response,
    no_content,
    requires_json,
)


@microversion.version_handler("1.6")
@accepts_json
def list_traits(request: Request) -> webob.Response:
    """Return the traits that match the query; all of them if it is empty."""
    request.context.can(policies.LIST)
    conditions = parse.trait_filter(request.query_pairs, request.version)
    traits = trait.list_all(request.services.store, **conditions)
    return json_response(request, render.traits(traits.names), modified_at=traits.modified_at)


@microversion.version_handler("1.6")
def show_trait(request: Request) -> webob.Response:
    """Return 204 if the trait exists."""
    request.context.can(policies.SHOW)
    shown = trait.show(request.services.store, request.route["name"])
    return no_content(request, modified_at=shown.modified_at)


@microversion.version_handler("1.6")
def ensure_trait(request: Request) -> webob.Response:
    """Create a custom trait unless it exists: 201 if it is created, 204 if it exists."""
    request.context.can(policies.UPDATE)
    name = parse.custom_name(request.route["name"], request.version)
    is_new, shown = trait.ensure(request.services.store, name)
    return no_content(
        request,
        status=201 if is_new else 204,
        modified_at=shown.modified_at,
        location=f"/traits/{name}",
    )


@microversion.version_handler("1.6")
def delete_trait(request: Request) -> webob.Response:
    """Delete a custom trait."""
    request.context.can(policies.DELETE)
    trait.delete(request.services.store, request.route["name"])
    return no_content(request)


@microversion.version_handler("1.6")
@accepts_json
def list_traits_of_provider(request: Request) -> webob.Response:
    """Return the traits of the provider."""
    request.context.can(policies.LIST_OF_PROVIDER)
    traits = trait.of_provider(request.services.store, request.route["uuid"])
    return json_response(request, render.of_provider(traits), modified_at=traits.modified_at)


@microversion.version_handler("1.6")
@requires_json
def replace_traits_of_provider(request: Request) -> webob.Response:
    """Replace the traits of the provider; return them."""
    request.context.can(policies.UPDATE_OF_PROVIDER)
    command = parse.of_provider(request.json_body, request.version)
    traits = trait.replace(
        request.services.store, request.route["uuid"], command.generation, command.traits
    )
    return json_response(request, render.of_provider(traits), modified_at=traits.modified_at)


@microversion.version_handler("1.6")
def delete_traits_of_provider(request: Request) -> webob.Response:
    """Remove all traits from the provider."""
    request.context.can(policies.DELETE_OF_PROVIDER)
    trait.clear(request.services.store, request.route["uuid"])
    return no_content(request)
