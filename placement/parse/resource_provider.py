"""What is written of a resource provider."""

from typing import Any, NamedTuple

from placement.microversion import Version
from placement.parse import body
from placement.parse.query import canonical_uuid
from placement.schemas import resource_provider

_CREATE = body.validators(resource_provider.CREATE)
_UPDATE = body.validators(resource_provider.UPDATE)


class NewProvider(NamedTuple):
    """A provider to create; ``uuid`` None leaves the choice to us."""

    uuid: str | None
    name: str
    parent_uuid: str | None


class ProviderUpdate(NamedTuple):
    """What a provider is to be; the parent stays what it is unless ``names_parent``."""

    name: str
    names_parent: bool
    parent_uuid: str | None


def creation(document: Any, version: Version) -> NewProvider:
    """Return the provider that a body describes, its UUID in canonical form.

    Raises: BadRequest.
    """
    body.checked(_CREATE, document, version)
    uuid = document.get("uuid")
    return NewProvider(
        uuid and canonical_uuid(uuid), document["name"], document.get("parent_provider_uuid")
    )


def update(document: Any, version: Version) -> ProviderUpdate:
    """Return what a body wants a provider to be.  Raises: BadRequest."""
    body.checked(_UPDATE, document, version)
    key = "parent_provider_uuid"
    return ProviderUpdate(document["name"], key in document, document.get(key))
