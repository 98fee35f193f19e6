"""What the routes under ``/insight`` take and answer; objects in answers may gain fields."""

from typing import Any, Final

from placement.schemas import allocation_candidate
from placement.schemas.base import TEXT, UUID, Schema, Windows, always, closed

VERSION: Final = 1
"""The version of all documents."""

_COUNT: Schema = {"type": "integer", "minimum": 0}
_TIME: Schema = {"type": "string", "format": "date-time"}
_FLAG: Schema = {"type": "string", "enum": ["true", "false"]}


def answer(**properties: Schema) -> Schema:
    """Return the schema of a document that has at least these properties, and a version."""
    return opened(version={"const": VERSION}, **properties)


def opened(**properties: Schema) -> Schema:
    """Return the schema of an object that has at least these properties."""
    return {"type": "object", "properties": properties, "required": list(properties)}


def _list(item: Schema) -> Schema:
    return {"type": "array", "items": item}


NOTHING_QUERY = always(closed({}))

OVERVIEW = always(
    answer(
        enabled={"type": "object", "additionalProperties": {"type": "boolean"}},
        snapshot=opened(providers=_COUNT, roots=_COUNT),
        last_write_seen=_TIME,
    )
)

# --- explanations ---------------------------------------------------------------------


def _and_remedies(query: Any) -> Schema:
    return {**query, "properties": {**query["properties"], "remedies": _FLAG}}


EXPLANATION_QUERY: Windows = tuple(
    (since, _and_remedies(query)) for since, query in allocation_candidate.LIST_QUERY
)

_REQUIREMENT = {"code": TEXT, "group": TEXT, "requirement": TEXT}
_NEAR_MISS = opened(uuid=UUID, name=TEXT, unmet=_list(opened(**_REQUIREMENT)))
EXPLANATION = always(
    answer(
        query=TEXT,
        microversion=TEXT,
        at=_TIME,
        roots=_COUNT,
        fits={"type": ["integer", "null"], "minimum": 0},
        funnel=_list(opened(**_REQUIREMENT, lost=_COUNT, left=_COUNT)),
        near_misses=_list(_NEAR_MISS),
        remedies=_list(opened(change=TEXT)),
        undetermined=_list(TEXT),
    )
)
