"""``POST /resource_providers``, and ``/resource_providers/{uuid}``."""

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
    new = parse.creation(request.json_body, request.version)
    uuid = new.uuid or str(uuid4())
    with request.services.reports.name_conflicts_of(request, new.name, uuid):
        return provider.create(request.services.store, uuid, new.name, new.parent_uuid)


def _create_without_body(request: Request) -> webob.Response:
    return created(request, _path(_create(request)))


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
    request.context.can(policies.SHOW)
    shown = provider.show(request.services.store, request.route["uuid"])
    return json_response(request, _body(request, shown), modified_at=shown.modified_at)


@requires_json
def update_resource_provider(request: Request) -> webob.Response:
    """Rename the provider, or move it to another parent; return it."""
    request.context.can(policies.UPDATE)
    store, uuid = request.services.store, request.route["uuid"]
    version = request.version
    changes = provider.parsed(store, uuid, lambda: parse.update(request.json_body, version))
    parent = changes.parent_uuid if changes.has_parent else provider.UNCHANGED
    may_move = version >= (1, 37)
    with request.services.reports.name_conflicts_of(request, changes.name, uuid):
        updated = provider.update(store, uuid, changes.name, parent, may_move=may_move)
    return json_response(request, _body(request, updated), modified_at=updated.modified_at)


def delete_resource_provider(request: Request) -> webob.Response:
    """Delete the provider."""
    request.context.can(policies.DELETE)
    provider.delete(request.services.store, request.route["uuid"])
    return no_content(request)


def _body(request: Request, shown: Provider) -> bytes:
    return rendered(shown, request.version, request.script_name)


def _path(shown: Provider) -> str:
    return f"/resource_providers/{shown.uuid}"
