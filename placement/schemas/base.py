"""What schemas are made of: draft 2020-12 of JSON Schema, in words that draft 4 has, too.

A schema describes bodies or queries from one microversion on, until the next one does. Clients
match what validation says of them: which keyword failed at which ``properties`` of the schema,
and the patterns as they are written here.
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
OWNER: Schema = {"type": "string", "minLength": 1, "maxLength": 255}


def closed(properties: Schema, *required: str) -> Schema:
    """Return the schema of an object that has these properties and no others."""
    demand = {"required": list(required)} if required else {}
    return {"type": "object", "properties": properties, **demand, "additionalProperties": False}


def keyed(pattern: str, value: Schema, *, at_least: int = 0) -> Schema:
    """Return the schema of an object from keys that match the pattern to values."""
    demand = {"minProperties": at_least} if at_least else {}
    return {
        "type": "object",
        **demand,
        "patternProperties": {pattern: value},
        "additionalProperties": False,
    }


def always(schema: Schema) -> Windows:
    """Return the windows of a schema that never changed."""
    return (((1, 0), schema),)


def merged(added: Windows) -> Windows:
    """Return what there is from each microversion on, given what each adds."""
    return tuple(accumulate(added, lambda before, new: (new[0], {**before[1], **new[1]})))
