"""Parts shared by the schemas: JSON Schema draft 2020-12, limited to keywords that draft 4 has.

A schema applies from its microversion on until the next one. Validation errors quote the schema,
and clients match these texts: the failed keyword, its place in the schema, and the patterns as
they are written here.
"""

from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any

Schema = Mapping[str, Any]
Version = tuple[int, int]
Windows = Sequence[tuple[Version, Schema]]

RESOURCE_CLASS_NAME = "^[A-Z0-9_]+$"
CUSTOM_NAME = "^CUSTOM_[A-Z0-9_]+$"
UUID_KEY = "^[0-9a-fA-F-]{36}$"

TEXT: Schema = {"type": "string"}
UUID: Schema = {"type": "string", "format": "uuid"}
GENERATION: Schema = {"type": "integer"}
NAME: Schema = {"type": "string", "minLength": 1, "maxLength": 255}


def closed(properties: Schema, *required: str) -> Schema:
    """Return the schema of an object that has these properties and no other properties."""
    constraint = {"required": list(required)} if required else {}
    return {
        "type": "object",
        "properties": properties,
        **constraint,
        "additionalProperties": False,
    }


def keyed(pattern: str, value: Schema, *, at_least: int = 0) -> Schema:
    """Return the schema of an object that maps keys of this pattern to these values."""
    constraint = {"minProperties": at_least} if at_least else {}
    return {
        "type": "object",
        **constraint,
        "patternProperties": {pattern: value},
        "additionalProperties": False,
    }


def always(schema: Schema) -> Windows:
    """Return the windows of a schema that is the same at all microversions."""
    return (((1, 0), schema),)


def merged(added: Windows) -> Windows:
    """Return the properties at each microversion; ``added`` has the additional properties."""
    return tuple(accumulate(added, lambda before, new: (new[0], {**before[1], **new[1]})))
