"""``/resource_providers`` and ``/resource_providers/{uuid}``, but for the list."""

from uuid import uuid4

import webob

from placement import microversion
from placement.core.model import Provider
from placement.objects import provider
from placement.parse import resource_provider as parse
from placement.policies import resource_provider as policies
from placement.render.provider_list import provider as rendered
from placement.wsgi_wrapper import (
    Request,
    accepts_json,
    created,
    json_response,
    no_content,
    requires_json,
)


def _create(request: Request) -> Provider:
    request.context.can(policies.CREATE)
    wanted = parse.creation(request.json_body, request.version)
    uuid = wanted.uuid or str(uuid4())
    return provider.create(request.services.store, uuid, wanted.name, wanted.parent_uuid)


def _create_silently(request: Request) -> webob.Response:
    return created(request, _path(_create(request)))


def _create_and_show(request: Request) -> webob.Response:
    made = _create(request)
    return json_response(request, _body(request, made), modified_at=None, location=_path(made))


create_resource_provider = requires_json(
    microversion.by_version({("1.0", "1.19"): _create_silently, ("1.20", None): _create_and_show})
)


@accepts_json
def show_resource_provider(request: Request) -> webob.Response:
    """Return the provider."""
    request.context.can(policies.SHOW)
    found = provider.show(request.services.store, request.route["uuid"])
    return json_response(request, _body(request, found), modified_at=found.modified_at)


@requires_json
def update_resource_provider(request: Request) -> webob.Response:
    """Rename the provider, or move it to another parent; return it."""
    request.context.can(policies.UPDATE)
    store, uuid = request.services.store, request.route["uuid"]
    provider.show(store, uuid)  # that there is none is told before what is wrong with the body
    wanted = parse.update(request.json_body, request.version)
    parent = wanted.parent_uuid if wanted.names_parent else provider.UNCHANGED
    may_move = request.version >= (1, 37)
    updated = provider.update(store, uuid, wanted.name, parent, may_move=may_move)
    return json_response(request, _body(request, updated), modified_at=updated.modified_at)


def delete_resource_provider(request: Request) -> webob.Response:
    """Remove the provider."""
    request.context.can(policies.DELETE)
    provider.delete(request.services.store, request.route["uuid"])
    return no_content(request)


def _body(request: Request, found: Provider) -> bytes:
    return rendered(found, request.version, request.script_name)


def _path(found: Provider) -> str:
    return f"/resource_providers/{found.uuid}"
