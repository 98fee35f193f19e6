"""Request bodies that write resource providers."""

from placement.schemas.base import UUID, Windows, closed

_NAME = {"type": "string", "maxLength": 200}
_PARENT = {"type": ["string", "null"], "format": "uuid"}

CREATE: Windows = (
    ((1, 0), closed({"name": _NAME, "uuid": UUID}, "name")),
    ((1, 14), closed({"name": _NAME, "uuid": UUID, "parent_provider_uuid": _PARENT}, "name")),
)
UPDATE: Windows = (
    ((1, 0), closed({"name": _NAME}, "name")),
    ((1, 14), closed({"name": _NAME, "parent_provider_uuid": _PARENT}, "name")),
)
