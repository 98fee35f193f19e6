"""Parses bodies that write resource providers."""

from typing import Any, NamedTuple

from placement.core.uuids import canonical
from placement.microversion import Version
from placement.parse import body
from placement.schemas import resource_provider

_CREATE = body.validators(resource_provider.CREATE)
_UPDATE = body.validators(resource_provider.UPDATE)
_PARENT = "parent_provider_uuid"


class NewProvider(NamedTuple):
    """A provider to create; if ``uuid`` is None, the service chooses one."""

    uuid: str | None
    name: str
    parent_uuid: str | None


class ProviderUpdate(NamedTuple):
    """New attributes of a provider; the parent is unchanged unless ``has_parent``."""

    name: str
    has_parent: bool
    parent_uuid: str | None


def creation(document: Any, version: Version) -> NewProvider:
    """Return the provider to create.

    Raises: BadRequest.
    """
    body.validate(_CREATE, document, version)
    uuid = document.get("uuid")
    return NewProvider(uuid and canonical(uuid), document["name"], _parent(document))


def update(document: Any, version: Version) -> ProviderUpdate:
    """Return the new attributes of a provider.  Raises: BadRequest."""
    body.validate(_UPDATE, document, version)
    return ProviderUpdate(document["name"], _PARENT in document, _parent(document))


def _parent(document: Any) -> str | None:
    uuid: str | None = document.get(_PARENT)
    return uuid and canonical(uuid)
