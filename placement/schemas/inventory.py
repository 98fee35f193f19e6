"""Request bodies that write inventories."""

from placement.core.model import MAX_INT
from placement.schemas.base import GENERATION, RESOURCE_CLASS_NAME, Schema, always, closed

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

CREATE = always(closed({**_WITH_GENERATION, "resource_class": _CLASS}, "resource_class", "total"))
UPDATE = always(closed(_WITH_GENERATION, "total", "resource_provider_generation"))
REPLACE = always(ALL_OF_PROVIDER)
