"""What the routes under ``/insight`` take and answer; objects in answers may gain fields.

What the bulk reads under ``/insight`` take and answer: providers, capacity, consumers.
"""

from typing import Any

from placement.insight.documents import VERSION
from placement.schemas import queries
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
    (since, _and_remedies(query)) for since, query in queries.CANDIDATES_QUERY
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


def _also(windows: Windows, **parameters: Schema) -> Windows:
    """Return the schemas of a query of the API with parameters of our own."""

    def extended(query: Any) -> Schema:
        return {**query, "properties": {**query["properties"], **parameters}}

    return tuple((since, extended(query)) for since, query in windows)


def _by_name(value: Schema) -> Schema:
    return {"type": "object", "additionalProperties": value}


def _optional(**properties: Schema) -> Schema:
    return {"type": "object", "properties": properties}


_NULLABLE_TEXT: Schema = {"type": ["string", "null"]}

# --- providers --------------------------------------------------------------------------

PROVIDERS_QUERY = _also(queries.PROVIDERS_QUERY, fields=TEXT, changed_since=TEXT)

_INVENTORY = opened(
    total=_COUNT,
    reserved=_COUNT,
    min_unit=_COUNT,
    max_unit=_COUNT,
    step_size=_COUNT,
    allocation_ratio={"type": "number"},
    capacity=_COUNT,
    used=_COUNT,
)
_PROVIDER = _optional(
    uuid=UUID,
    name=TEXT,
    generation=_COUNT,
    parent_provider_uuid=_NULLABLE_TEXT,
    root_provider_uuid=UUID,
    inventories=_by_name(_INVENTORY),
    traits=_list(TEXT),
    aggregates=_list(UUID),
)
_FEED: Schema = {"token": TEXT, "complete": {"type": "boolean"}}
_REMOVED = _list(UUID)
PROVIDERS = always(answer(**_FEED, providers=_list(_PROVIDER), removed=_REMOVED))
PROVIDERS_LINE: Schema = {"anyOf": [answer(**_FEED), _PROVIDER, opened(removed=_REMOVED)]}
"""The first line, a provider, or the last line."""

# --- capacity ---------------------------------------------------------------------------

CAPACITY_QUERY = _also(queries.CANDIDATES_QUERY, by=TEXT)

_AMOUNTS = _by_name(_COUNT)
_CAPACITY = {
    "claims": _COUNT,
    "at_most": _COUNT,
    "roots": _COUNT,
    "exact": {"type": "boolean"},
    "largest": _AMOUNTS,
    "free": _AMOUNTS,
    "stranded": _AMOUNTS,
    "limited_by": _AMOUNTS,
}
CAPACITY = always(
    answer(
        query=TEXT,
        microversion=TEXT,
        formula=TEXT,
        complete={"type": "boolean"},
        **_CAPACITY,
        by=_list(opened(**_CAPACITY)),
    )
)

# --- consumers --------------------------------------------------------------------------

CONSUMERS_QUERY = always(
    closed(
        {
            "project_id": TEXT,
            "user_id": TEXT,
            "type": TEXT,
            "provider": UUID,
            "in_tree": UUID,
            "older_than": TEXT,
            "limit": {"type": "string", "pattern": "^([1-9][0-9]{0,3}|10000)$"},
            "marker": TEXT,
        }
    )
)
CONSUMERS = always(
    answer(
        consumers=_list(
            opened(
                uuid=TEXT,
                project_id=_NULLABLE_TEXT,
                user_id=_NULLABLE_TEXT,
                type=_NULLABLE_TEXT,
                generation=_COUNT,
                created_at=_NULLABLE_TEXT,
                updated_at=_NULLABLE_TEXT,
                allocations=_by_name(_AMOUNTS),
            )
        ),
        next=_NULLABLE_TEXT,
    )
)
