"""Names of custom resource classes."""

from typing import Any

from placement.microversion import Version
from placement.parse import body
from placement.schemas import resource_class

_NAMED = body.validators(resource_class.NAMED)


def name(document: Any, version: Version) -> str:
    """Return the name in a body, ``{"name": "CUSTOM_GOLD"}``.  Raises: BadRequest."""
    checked: str = body.checked(_NAMED, document, version)["name"]
    return checked
