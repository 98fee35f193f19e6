"""Request bodies that write resource providers, their inventories and their aggregates."""

from placement.core.model import MAX_INT
from placement.schemas.base import (
    GENERATION,
    RESOURCE_CLASS_NAME,
    UUID,
    Schema,
    Windows,
    always,
    closed,
)

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


# Databases store a ratio in single precision; larger values cannot be stored.
_LARGEST_RATIO = 3.40282e38

_AMOUNT: Schema = {"type": "integer", "minimum": 1, "maximum": MAX_INT}
_FIELDS: Schema = {
    "total": _AMOUNT,
    "reserved": {"type": "integer", "minimum": 0, "maximum": MAX_INT},
    "min_unit": _AMOUNT,
    "max_unit": _AMOUNT,
    "step_size": _AMOUNT,
    "allocation_ratio": {
        "type": "number",
        "minimum": -_LARGEST_RATIO,
        "maximum": _LARGEST_RATIO,
    },
}
_WITH_GENERATION: Schema = {**_FIELDS, "resource_provider_generation": GENERATION}
_RECORD: Schema = closed(_WITH_GENERATION, "total")
_CLASS: Schema = {"type": "string", "pattern": RESOURCE_CLASS_NAME}

# Names of another form are not refused here: they are unknown classes, which is another error.
ALL_OF_PROVIDER: Schema = closed(
    {
        "resource_provider_generation": GENERATION,
        "inventories": {
            "type": "object",
            "patternProperties": {RESOURCE_CLASS_NAME: _RECORD},
            "additionalProperties": _RECORD,
        },
    },
    "resource_provider_generation",
    "inventories",
)

CREATE_INVENTORY = always(
    closed({**_WITH_GENERATION, "resource_class": _CLASS}, "resource_class", "total")
)
UPDATE_INVENTORY = always(closed(_WITH_GENERATION, "total", "resource_provider_generation"))
REPLACE_INVENTORIES = always(ALL_OF_PROVIDER)


_AGGREGATES: Schema = {"type": "array", "items": UUID, "uniqueItems": True}

REPLACE_AGGREGATES: Windows = (
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
