"""``/resource_classes`` since 1.2, ``/traits`` since 1.6, and the traits of a provider."""

import webob

from placement import microversion, policies
from placement.http.request import Request, accepts_json, requires_json
from placement.http.response import json_response, no_content
from placement.objects import resource_class, trait
from placement.parse import names as parse
from placement.render import names as render


@microversion.version_handler("1.2")
@accepts_json
def list_resource_classes(request: Request) -> webob.Response:
    """Return all classes."""
    request.can(policies.LIST_CLASSES)
    classes = resource_class.list_all(request.services.store)
    body = render.resource_classes(classes.names, request.script_name)
    return json_response(request, body, modified_at=classes.modified_at)


@microversion.version_handler("1.2")
@requires_json
def create_resource_class(request: Request) -> webob.Response:
    """Create a custom class."""
    request.can(policies.CREATE_CLASS)
    name = parse.name(request.json_body, request.version)
    resource_class.create(request.services.store, name)
    return no_content(request, status=201, location=_path(name))


@microversion.version_handler("1.2")
@accepts_json
def show_resource_class(request: Request) -> webob.Response:
    """Return the class."""
    request.can(policies.SHOW_CLASS)
    shown = resource_class.show(request.services.store, request.route["name"])
    body = render.resource_class(shown.names[0], request.script_name)
    return json_response(request, body, modified_at=shown.modified_at)


@requires_json
def _rename(request: Request) -> webob.Response:
    request.can(policies.UPDATE_CLASS)
    new_name = parse.name(request.json_body, request.version)
    resource_class.rename(request.services.store, request.route["name"], new_name)
    return json_response(request, render.resource_class(new_name, request.script_name))


def _ensure(request: Request) -> webob.Response:
    request.can(policies.UPDATE_CLASS)
    name = parse.name({"name": request.route["name"]}, request.version)
    if resource_class.ensure(request.services.store, name):
        return no_content(request, status=201, location=_path(name))
    return no_content(request, location=_path(name))


update_resource_class = microversion.by_version(
    {("1.2", "1.6"): _rename, ("1.7", None): _ensure}, "PUT of this resource without a body"
)


@microversion.version_handler("1.2")
def delete_resource_class(request: Request) -> webob.Response:
    """Delete a custom class."""
    request.can(policies.DELETE_CLASS)
    resource_class.delete(request.services.store, request.route["name"])
    return no_content(request)


def _path(name: str) -> str:
    return f"/resource_classes/{name}"


@microversion.version_handler("1.6")
@accepts_json
def list_traits(request: Request) -> webob.Response:
    """Return the traits that match the query; all of them if it is empty."""
    request.can(policies.LIST_TRAITS)
    conditions = parse.trait_filter(request.query_pairs, request.version)
    traits = trait.list_all(request.services.store, **conditions)
    return json_response(request, render.traits(traits.names), modified_at=traits.modified_at)


@microversion.version_handler("1.6")
def show_trait(request: Request) -> webob.Response:
    """Return 204 if the trait exists."""
    request.can(policies.SHOW_TRAIT)
    shown = trait.show(request.services.store, request.route["name"])
    return no_content(request, modified_at=shown.modified_at)


@microversion.version_handler("1.6")
def ensure_trait(request: Request) -> webob.Response:
    """Create a custom trait unless it exists: 201 if it is created, 204 if it exists."""
    request.can(policies.UPDATE_TRAIT)
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
    request.can(policies.DELETE_TRAIT)
    trait.delete(request.services.store, request.route["name"])
    return no_content(request)


@microversion.version_handler("1.6")
@accepts_json
def list_traits_of_provider(request: Request) -> webob.Response:
    """Return the traits of the provider."""
    request.can(policies.LIST_TRAITS_OF_PROVIDER)
    generation, traits = trait.of_provider(request.services.store, request.route["uuid"])
    return json_response(
        request, render.of_provider(generation, traits), modified_at=traits.modified_at
    )


@microversion.version_handler("1.6")
@requires_json
def replace_traits_of_provider(request: Request) -> webob.Response:
    """Replace the traits of the provider; return them."""
    request.can(policies.UPDATE_TRAITS_OF_PROVIDER)
    command = parse.of_provider(request.json_body, request.version)
    with request.services.reports.results_of(request):
        generation, traits = trait.replace(
            request.services.store, request.route["uuid"], command.generation, command.traits
        )
    return json_response(
        request, render.of_provider(generation, traits), modified_at=traits.modified_at
    )


@microversion.version_handler("1.6")
def delete_traits_of_provider(request: Request) -> webob.Response:
    """Remove all traits from the provider."""
    request.can(policies.DELETE_TRAITS_OF_PROVIDER)
    with request.services.reports.results_of(request):
        trait.clear(request.services.store, request.route["uuid"])
    return no_content(request)
