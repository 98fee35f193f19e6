"""Which parameters GET /resource_providers takes, from which microversion on."""

from placement.schemas.base import TEXT, UUID, Schema, Windows, closed

_ADDED: Windows = (
    ((1, 0), {"name": TEXT, "uuid": UUID}),
    ((1, 3), {"member_of": TEXT}),
    ((1, 4), {"resources": TEXT}),
    ((1, 14), {"in_tree": UUID}),
    ((1, 18), {"required": TEXT}),
)


def _schema(version: tuple[int, int]) -> Schema:
    """Return the schema of all parameters that came up to a microversion."""
    properties: dict[str, Schema] = {}
    for since, added in _ADDED:
        if since <= version:
            properties |= added
    return closed(properties)


LIST_QUERY: Windows = tuple((since, _schema(since)) for since, _ in _ADDED)
"""Schemas of the query, each from its microversion on."""
