"""Request bodies that write allocations: of one consumer, of several, and of a reshape."""

from placement.schemas.base import (
    GENERATION,
    NAME,
    RESOURCE_CLASS_NAME,
    UUID,
    UUID_KEY,
    Schema,
    Windows,
    closed,
    keyed,
)
from placement.schemas.resource_provider import ALL_OF_PROVIDER

_RESOURCES = keyed(RESOURCE_CLASS_NAME, {"type": "integer", "minimum": 1}, at_least=1)
_LIST: Schema = {
    "type": "array",
    "minItems": 1,
    "items": closed(
        {"resource_provider": closed({"uuid": UUID}, "uuid"), "resources": _RESOURCES},
        "resource_provider",
        "resources",
    ),
}
_ON_PROVIDER = closed({"resources": _RESOURCES, "generation": GENERATION}, "resources")
_BY_PROVIDER = keyed(UUID_KEY, _ON_PROVIDER)
_BY_PROVIDER_NOT_EMPTY = keyed(UUID_KEY, _ON_PROVIDER, at_least=1)

_TYPE: Schema = {**NAME, "pattern": RESOURCE_CLASS_NAME}
# Clients may send back the mappings of an allocation candidate; they are not used.
_MAPPINGS: Schema = {
    "type": "object",
    "minProperties": 1,
    "patternProperties": {
        "[a-zA-Z0-9_-]": {"type": "array", "minItems": 1, "items": UUID},
    },
}


def _consumer(required: Schema, optional: Schema | None = None) -> Schema:
    """Return the schema of the allocations and attributes of one consumer."""
    return closed({**required, **(optional or {})}, *required)


_SINCE_1_8: Schema = {"project_id": NAME, "user_id": NAME}
_SINCE_1_28: Schema = {**_SINCE_1_8, "consumer_generation": {"type": ["integer", "null"]}}
_SINCE_1_34: Schema = {"mappings": _MAPPINGS}
_SINCE_1_38: Schema = {**_SINCE_1_28, "consumer_type": _TYPE}

_WITH_GENERATION: Windows = (
    ((1, 28), _consumer({"allocations": _BY_PROVIDER, **_SINCE_1_28})),
    ((1, 34), _consumer({"allocations": _BY_PROVIDER, **_SINCE_1_28}, _SINCE_1_34)),
    ((1, 38), _consumer({"allocations": _BY_PROVIDER, **_SINCE_1_38}, _SINCE_1_34)),
)
_CONSUMER: Windows = (
    ((1, 13), _consumer({"allocations": _BY_PROVIDER, **_SINCE_1_8})),
    *_WITH_GENERATION,
)

REPLACE: Windows = (
    ((1, 0), _consumer({"allocations": _LIST})),
    ((1, 8), _consumer({"allocations": _LIST, **_SINCE_1_8})),
    ((1, 12), _consumer({"allocations": _BY_PROVIDER_NOT_EMPTY, **_SINCE_1_8})),
    *_WITH_GENERATION,
)
MANAGE: Windows = tuple(
    (since, keyed(UUID_KEY, consumer, at_least=1)) for since, consumer in _CONSUMER
)
_INVENTORIES = keyed(UUID_KEY, ALL_OF_PROVIDER, at_least=1)

RESHAPE: Windows = tuple(
    (
        max(since, (1, 30)),
        closed(
            {"inventories": _INVENTORIES, "allocations": keyed(UUID_KEY, consumer)},
            "inventories",
            "allocations",
        ),
    )
    for since, consumer in _WITH_GENERATION
)
