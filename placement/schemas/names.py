"""Request bodies and queries with names: of resource classes and of traits."""

from placement.schemas.base import CUSTOM_NAME, GENERATION, NAME, TEXT, always, closed

NAMED = always(
    closed({"name": {"type": "string", "pattern": CUSTOM_NAME, "maxLength": 255}}, "name")
)


LIST_QUERY = always(closed({"name": TEXT, "associated": TEXT}))
CUSTOM = always({**NAME, "pattern": CUSTOM_NAME})
REPLACE = always(
    closed(
        {
            "traits": {"type": "array", "items": NAME},
            "resource_provider_generation": GENERATION,
        },
        "traits",
        "resource_provider_generation",
    )
)
