"""The query parameters of GET /resource_providers, by microversion."""

from placement.schemas.base import TEXT, UUID, Windows, closed, merged

_ADDED: Windows = (
    ((1, 0), {"name": TEXT, "uuid": UUID}),
    ((1, 3), {"member_of": TEXT}),
    ((1, 4), {"resources": TEXT}),
    ((1, 14), {"in_tree": UUID}),
    ((1, 18), {"required": TEXT}),
)

LIST_QUERY: Windows = tuple((since, closed(parameters)) for since, parameters in merged(_ADDED))
"""Schemas of the query, each from its microversion on."""
