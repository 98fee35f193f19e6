"""Which parameters GET /resource_providers takes, from which microversion on."""

from collections.abc import Mapping
from typing import Any

Schema = Mapping[str, Any]

_TEXT: Schema = {"type": "string"}
_UUID: Schema = {"type": "string", "format": "uuid"}
_WINDOWS: tuple[tuple[tuple[int, int], Schema], ...] = (
    ((1, 0), {"name": _TEXT, "uuid": _UUID}),
    ((1, 3), {"member_of": _TEXT}),
    ((1, 4), {"resources": _TEXT}),
    ((1, 14), {"in_tree": _UUID}),
    ((1, 18), {"required": _TEXT}),
)


def _schema(version: tuple[int, int]) -> Schema:
    """Return the schema of all parameters that came up to a microversion."""
    properties: dict[str, Any] = {}
    for since, added in _WINDOWS:
        if since <= version:
            properties |= added
    return {"type": "object", "properties": properties, "additionalProperties": False}


LIST_QUERY: tuple[tuple[tuple[int, int], Schema], ...] = tuple(
    (since, _schema(since)) for since, _ in _WINDOWS
)
"""Schemas of the query, each from its microversion on."""
