"""``/resource_classes`` and ``/resource_classes/{name}``, since 1.2."""

import webob

from placement import microversion
from placement.objects import resource_class
from placement.parse import resource_class as parse
from placement.policies import resource_class as policies
from placement.render import resource_class as render
from placement.wsgi_wrapper import (
    Request,
    accepts_json,
    created,
    json_response,
    no_content,
    requires_json,
)


@microversion.version_handler("1.2")
@accepts_json
def list_resource_classes(request: Request) -> webob.Response:
    """Return all classes."""
    request.context.can(policies.LIST)
    classes = resource_class.list_all(request.services.store)
    body = render.resource_classes(classes.names, request.script_name)
    return json_response(request, body, modified_at=classes.modified_at)


@microversion.version_handler("1.2")
@requires_json
def create_resource_class(request: Request) -> webob.Response:
    """Create a custom class."""
    request.context.can(policies.CREATE)
    name = parse.name(request.json_body, request.version)
    resource_class.create(request.services.store, name)
    return created(request, _path(name))


@microversion.version_handler("1.2")
@accepts_json
def show_resource_class(request: Request) -> webob.Response:
    """Return the class."""
    request.context.can(policies.SHOW)
    shown = resource_class.show(request.services.store, request.route["name"])
    body = render.resource_class(shown.names[0], request.script_name)
    return json_response(request, body, modified_at=shown.modified_at)


@requires_json
def _rename(request: Request) -> webob.Response:
    request.context.can(policies.UPDATE)
    new_name = parse.name(request.json_body, request.version)
    resource_class.rename(request.services.store, request.route["name"], new_name)
    return json_response(request, render.resource_class(new_name, request.script_name))


def _ensure(request: Request) -> webob.Response:
    request.context.can(policies.UPDATE)
    name = parse.name({"name": request.route["name"]}, request.version)
    if resource_class.ensure(request.services.store, name):
        return created(request, _path(name))
    return no_content(request, location=_path(name))


update_resource_class = microversion.by_version({("1.2", "1.6"): _rename, ("1.7", None): _ensure})


@microversion.version_handler("1.2")
def delete_resource_class(request: Request) -> webob.Response:
    """Delete a custom class."""
    request.context.can(policies.DELETE)
    resource_class.delete(request.services.store, request.route["name"])
    return no_content(request)


def _path(name: str) -> str:
    return f"/resource_classes/{name}"
