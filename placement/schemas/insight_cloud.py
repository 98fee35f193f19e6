"""What the bulk reads under ``/insight`` take and answer: providers, capacity, consumers."""

from typing import Any

from placement.schemas import allocation_candidate, resource_provider_query
from placement.schemas.base import TEXT, UUID, Schema, Windows, always, closed
from placement.schemas.insight import answer, opened

_COUNT: Schema = {"type": "integer", "minimum": 0}


def _also(windows: Windows, **parameters: Schema) -> Windows:
    """Return the schemas of a query of the API with parameters of our own."""

    def extended(query: Any) -> Schema:
        return {**query, "properties": {**query["properties"], **parameters}}

    return tuple((since, extended(query)) for since, query in windows)


def _by_name(value: Schema) -> Schema:
    return {"type": "object", "additionalProperties": value}


def _list(item: Schema) -> Schema:
    return {"type": "array", "items": item}


def _optional(**properties: Schema) -> Schema:
    return {"type": "object", "properties": properties}


_NULLABLE_TEXT: Schema = {"type": ["string", "null"]}

# --- providers --------------------------------------------------------------------------

PROVIDERS_QUERY = _also(resource_provider_query.LIST_QUERY, fields=TEXT, changed_since=TEXT)

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

CAPACITY_QUERY = _also(allocation_candidate.LIST_QUERY, by=TEXT)

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
