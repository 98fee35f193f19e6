"""Schemas of queries and responses of the routes under ``/insight``.

Later releases may add members to the objects of a response.
"""

from placement.insight.documents import VERSION
from placement.schemas import queries
from placement.schemas.base import (
    COUNT,
    OWNER,
    TEXT,
    TEXT_OR_NONE,
    UUID,
    Schema,
    Windows,
    always,
    by_key,
    closed,
    list_of,
)

TIME: Schema = {"type": "string", "format": "date-time"}
_FLAG: Schema = {"type": "string", "enum": ["true", "false"]}


def answer(**properties: Schema) -> Schema:
    """Return the schema of a document that has at least these properties, and a version."""
    return opened(version={"const": VERSION}, **properties)


def opened(**properties: Schema) -> Schema:
    """Return the schema of an object that has at least these properties."""
    return {"type": "object", "properties": properties, "required": list(properties)}


def _described(description: str, pattern: str) -> Schema:
    """Return the schema of a parameter; messages about other values have the description."""
    return {"type": "string", "pattern": pattern, "description": description}


def _also(windows: Windows, **parameters: Schema) -> Windows:
    """Return the schemas of a query of the API with additional parameters."""
    return tuple(
        (since, {**query, "properties": {**query["properties"], **parameters}})
        for since, query in windows
    )


NOTHING_QUERY = always(closed({}))

OVERVIEW = always(
    answer(
        release=TEXT,
        enabled=by_key({"type": "boolean"}),
        snapshot=opened(providers=COUNT, roots=COUNT),
        last_write_seen=TIME,
    )
)

# --- explanations ---------------------------------------------------------------------


EXPLANATION_QUERY = _also(queries.CANDIDATES_QUERY, remedies=_FLAG, root=UUID)

_REQUIREMENT = {"code": TEXT, "group": TEXT, "requirement": TEXT}
_NEAR_MISS = opened(
    uuid=UUID,
    name=TEXT,
    unmet=list_of(opened(**_REQUIREMENT, text=TEXT)),
    complete={"type": "boolean"},
)
EXPLANATION = always(
    answer(
        query=TEXT,
        microversion=TEXT,
        at=TIME,
        roots=COUNT,
        fits={"type": ["integer", "null"], "minimum": 0},
        funnel=list_of(opened(**_REQUIREMENT, lost=COUNT, left=COUNT, text=TEXT, note=TEXT)),
        near_misses=list_of(_NEAR_MISS),
        remedies=list_of(opened(change=TEXT, roots=COUNT, query=TEXT, text=TEXT)),
        undetermined=list_of(TEXT),
    )
)

# --- recorded requests ------------------------------------------------------------------


_REQUESTS_FILTER: dict[str, Schema] = {
    "since": {**TIME, "minLength": 1},
    "project_id": OWNER,
    "reason": {"type": "string", "pattern": "^[a-z_]{1,32}$"},
}
REQUESTS_QUERY = always(
    closed(
        {
            **_REQUESTS_FILTER,
            "limit": _described("a number from 1 to 1000", "^([1-9][0-9]{0,2}|1000)$"),
            "marker": _described("the field next of a page", "^[0-9]{1,19}$"),
        }
    )
)
REQUESTS_SUMMARY_QUERY = always(closed(_REQUESTS_FILTER))

_RECORDED = opened(
    request_id=TEXT_OR_NONE,
    global_request_id=TEXT_OR_NONE,
    at=TIME,
    kind={"type": "string", "enum": ["no_candidates", "invalid_request", "refused_claim"]},
    project_id=TEXT_OR_NONE,
    user_id=TEXT_OR_NONE,
    microversion=TEXT,
    reason=TEXT,
    explanation={"type": "object"},
)
REQUESTS = always(answer(requests=list_of(_RECORDED), next=TEXT_OR_NONE))

_COUNTED = list_of(opened(name=TEXT, requests=COUNT, per_hour=list_of(COUNT)))
REQUESTS_SUMMARY = always(
    answer(
        since=TIME,
        requests=COUNT,
        per_hour=list_of(COUNT),
        kinds=_COUNTED,
        reasons=_COUNTED,
        resource_classes=_COUNTED,
        traits=_COUNTED,
        aggregates=_COUNTED,
        projects=_COUNTED,
        omitted=by_key(COUNT),
    )
)


def _optional(**properties: Schema) -> Schema:
    return {"type": "object", "properties": properties}


# --- providers --------------------------------------------------------------------------

PROVIDERS_QUERY = _also(queries.PROVIDERS_QUERY, fields=TEXT, changed_since=TEXT)

_INVENTORY = opened(
    total=COUNT,
    reserved=COUNT,
    min_unit=COUNT,
    max_unit=COUNT,
    step_size=COUNT,
    allocation_ratio={"type": "number"},
    capacity=COUNT,
    used=COUNT,
)
_PROVIDER = _optional(
    uuid=UUID,
    name=TEXT,
    generation=COUNT,
    parent_provider_uuid=TEXT_OR_NONE,
    root_provider_uuid=UUID,
    inventories=by_key(_INVENTORY),
    traits=list_of(TEXT),
    aggregates=list_of(UUID),
)
_FEED: Schema = {"token": TEXT, "complete": {"type": "boolean"}}
_REMOVED = list_of(UUID)
PROVIDERS = always(answer(**_FEED, providers=list_of(_PROVIDER), removed=_REMOVED))
PROVIDERS_LINE: Schema = {"anyOf": [answer(**_FEED), _PROVIDER, opened(removed=_REMOVED)]}
"""The first line, a provider, or the last line."""

# --- capacity ---------------------------------------------------------------------------

CAPACITY_QUERY = _also(queries.CANDIDATES_QUERY, by=TEXT)

_AMOUNTS = by_key(COUNT)
_CAPACITY = {
    "claims": COUNT,
    "at_most": COUNT,
    "roots": COUNT,
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
        by=list_of(opened(**_CAPACITY)),
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
            "limit": _described("a number from 1 to 10000", "^([1-9][0-9]{0,3}|10000)$"),
            "marker": TEXT,
        }
    )
)
CONSUMERS = always(
    answer(
        consumers=list_of(
            opened(
                uuid=TEXT,
                project_id=TEXT_OR_NONE,
                user_id=TEXT_OR_NONE,
                type=TEXT_OR_NONE,
                generation=COUNT,
                created_at=TEXT_OR_NONE,
                updated_at=TEXT_OR_NONE,
                allocations=by_key(_AMOUNTS),
                providers=by_key(TEXT),
            )
        ),
        next=TEXT_OR_NONE,
    )
)
