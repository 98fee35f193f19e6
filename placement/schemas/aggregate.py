"""The request body that replaces the aggregates of a provider."""

from placement.schemas.base import GENERATION, UUID, Schema, Windows, closed

_AGGREGATES: Schema = {"type": "array", "items": UUID, "uniqueItems": True}

REPLACE: Windows = (
    ((1, 1), _AGGREGATES),
    (
        (1, 19),
        closed(
            {"aggregates": _AGGREGATES, "resource_provider_generation": GENERATION},
            "aggregates",
            "resource_provider_generation",
        ),
    ),
)
