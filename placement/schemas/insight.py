"""What the routes under ``/insight`` take and answer; objects in answers may gain fields."""

from typing import Any

from placement.core.insight.document import VERSION
from placement.schemas import allocation_candidate
from placement.schemas.base import OWNER, TEXT, UUID, Schema, Windows, always, closed

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
_NEAR_MISS = opened(
    uuid=UUID, name=TEXT, unmet=_list(opened(**_REQUIREMENT)), complete={"type": "boolean"}
)
EXPLANATION = always(
    answer(
        query=TEXT,
        microversion=TEXT,
        at=_TIME,
        roots=_COUNT,
        fits={"type": ["integer", "null"], "minimum": 0},
        funnel=_list(opened(**_REQUIREMENT, lost=_COUNT, left=_COUNT)),
        near_misses=_list(_NEAR_MISS),
        remedies=_list(opened(change=TEXT, roots=_COUNT, query=TEXT)),
        undetermined=_list(TEXT),
    )
)

# --- recorded requests ------------------------------------------------------------------

_TEXT_OR_NONE: Schema = {"type": ["string", "null"]}

REQUESTS_QUERY = always(
    closed(
        {
            "since": {**_TIME, "minLength": 1},
            "project_id": OWNER,
            "reason": {"type": "string", "pattern": "^[a-z_]{1,32}$"},
            "limit": {"type": "string", "pattern": "^([1-9][0-9]{0,2}|1000)$"},
            "marker": {"type": "string", "pattern": "^[0-9]{1,19}$"},
        }
    )
)

_RECORDED = opened(
    request_id=_TEXT_OR_NONE,
    global_request_id=_TEXT_OR_NONE,
    at=_TIME,
    kind={"type": "string", "enum": ["no_candidates", "refused_claim"]},
    project_id=_TEXT_OR_NONE,
    user_id=_TEXT_OR_NONE,
    microversion=TEXT,
    reason=TEXT,
    explanation={"type": "object"},
)
REQUESTS = always(answer(requests=_list(_RECORDED), next=_TEXT_OR_NONE))
