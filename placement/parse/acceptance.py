"""Accepts valid instances of a JSON Schema by fastjsonschema, ten times as fast as jsonschema.

fastjsonschema may reject an instance in which jsonschema finds no error, but must not accept an
invalid one: a property test compares both.
"""

import json
from collections.abc import Callable
from functools import cache
from typing import Any

import fastjsonschema

from placement.schemas.base import Schema

IsUuid = Callable[[str], bool]


def acceptance(schema: Schema, is_uuid: IsUuid) -> Callable[[Any], bool]:
    """Return whether an instance is valid, as a function; its False may be wrong, see above."""
    check = _compiled(json.dumps(with_end(schema)), is_uuid)

    def accepts(instance: Any) -> bool:
        try:
            check(instance)
        except fastjsonschema.JsonSchemaValueException:
            return False
        return True

    return accepts


END = r"(?:\\Z)"
"""The end of a text in the patterns that are compared, as JSON and messages write it."""


def with_end(schema: Schema) -> Any:
    """Return the schema with patterns whose ``$`` matches only at the end of the text."""
    return json.loads(json.dumps(schema).replace("$", END))


@cache
def _compiled(schema: str, is_uuid: IsUuid) -> Callable[[Any], Any]:
    """Return the generated code of a schema.  Cost: 1 to 5 ms, once in a process."""
    return fastjsonschema.compile(
        json.loads(schema, object_hook=_with_items_first),
        formats={"uuid": is_uuid},
        use_default=False,
        detailed_exceptions=False,  # they would copy the instance
    )


def _with_items_first(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema with the types of items checked first.

    fastjsonschema would compare items by hashes before, and clients can choose numbers with equal
    hashes.
    """
    if unique := schema.pop("uniqueItems", False):
        return {"allOf": [schema, {"uniqueItems": unique}]}
    return schema
