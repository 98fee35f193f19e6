"""Parses bodies with the name of a custom resource class."""

from typing import Any

from placement.microversion import Version
from placement.parse import body
from placement.schemas import resource_class

_NAMED = body.validators(resource_class.NAMED)


def name(document: Any, version: Version) -> str:
    """Return the name in a body, ``{"name": "CUSTOM_GOLD"}``.  Raises: BadRequest."""
    validated: str = body.validate(_NAMED, document, version)["name"]
    return validated
