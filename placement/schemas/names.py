"""Request bodies and queries with names: of resource classes and of traits."""

from placement.schemas.base import CUSTOM_NAME, GENERATION, TEXT, Schema, always, closed

NAMED = always(
    closed({"name": {"type": "string", "pattern": CUSTOM_NAME, "maxLength": 255}}, "name")
)


_NAME: Schema = {"type": "string", "minLength": 1, "maxLength": 255}

LIST_QUERY = always(closed({"name": TEXT, "associated": TEXT}))
CUSTOM = always({**_NAME, "pattern": CUSTOM_NAME})
REPLACE = always(
    closed(
        {
            "traits": {"type": "array", "items": _NAME},
            "resource_provider_generation": GENERATION,
        },
        "traits",
        "resource_provider_generation",
    )
)
