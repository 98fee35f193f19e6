"""The request body with the name of a custom resource class."""

from placement.schemas.base import CUSTOM_NAME, always, closed

NAMED = always(
    closed({"name": {"type": "string", "pattern": CUSTOM_NAME, "maxLength": 255}}, "name")
)
