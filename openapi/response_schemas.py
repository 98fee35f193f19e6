"""Schemas of response bodies by microversion, for the OpenAPI document.

The service does not check its responses against them; the tests check every response of the API
scenarios.
"""

from placement.schemas.base import (
    GENERATION,
    TEXT,
    UUID,
    Schema,
    Version,
    Windows,
    always,
    closed,
    merged,
)

TEXT_OR_NONE: Schema = {"type": ["string", "null"]}
COUNT: Schema = {"type": "integer", "minimum": 0}


def list_of(item: Schema) -> Schema:
    """Return the schema of a list."""
    return {"type": "array", "items": item}


def by_key(value: Schema) -> Schema:
    """Return the schema of an object with such values under any keys."""
    return {"type": "object", "additionalProperties": value}


_TEXTS: Schema = list_of(TEXT)
_UUID_OR_NONE: Schema = {"type": ["string", "null"], "format": "uuid"}
_PROVIDER_GENERATION: Schema = {"resource_provider_generation": GENERATION}


def _all(properties: Schema) -> Schema:
    """Return the schema of an object that has exactly these properties."""
    return closed(properties, *properties)


def _links(*relations: str) -> Schema:
    link = _all({"rel": {"type": "string", "enum": list(relations)}, "href": TEXT})
    return {**list_of(link), "minItems": len(relations), "maxItems": len(relations)}


VERSIONS = always(
    _all(
        {
            "versions": list_of(
                _all(
                    {
                        **dict.fromkeys(("id", "max_version", "min_version", "status"), TEXT),
                        "links": _links("self"),
                    }
                )
            )
        }
    )
)

# --- resource providers --------------------------------------------------------------

_RELATIONS = (
    ((1, 0), ("self", "inventories", "usages")),
    ((1, 1), ("self", "inventories", "usages", "aggregates")),
    ((1, 6), ("self", "inventories", "usages", "aggregates", "traits")),
    ((1, 11), ("self", "inventories", "usages", "aggregates", "traits", "allocations")),
    ((1, 14), ("self", "inventories", "usages", "aggregates", "traits", "allocations")),
)
_TREE: Schema = {"parent_provider_uuid": _UUID_OR_NONE, "root_provider_uuid": UUID}


def _provider(since: Version, relations: tuple[str, ...]) -> Schema:
    properties = {
        "uuid": UUID,
        "name": TEXT,
        "generation": GENERATION,
        "links": _links(*relations),
    }
    return _all({**properties, **_TREE} if since >= (1, 14) else properties)


PROVIDER: Windows = tuple((since, _provider(since, names)) for since, names in _RELATIONS)
PROVIDERS: Windows = tuple(
    (since, _all({"resource_providers": list_of(schema)})) for since, schema in PROVIDER
)

# --- data of a provider ---------------------------------------------------------------

_NUMBER: Schema = {"type": "number"}
_INVENTORY: Schema = {
    **dict.fromkeys(("total", "reserved", "min_unit", "max_unit", "step_size"), COUNT),
    "allocation_ratio": _NUMBER,
}
INVENTORY = always(_all({**_INVENTORY, **_PROVIDER_GENERATION}))
INVENTORIES = always(_all({"inventories": by_key(_all(_INVENTORY)), **_PROVIDER_GENERATION}))
AGGREGATES: Windows = (
    ((1, 1), _all({"aggregates": _TEXTS})),
    ((1, 19), _all({"aggregates": _TEXTS, **_PROVIDER_GENERATION})),
)
TRAITS_OF_PROVIDER = always(_all({"traits": _TEXTS, **_PROVIDER_GENERATION}))
USAGES_OF_PROVIDER = always(_all({"usages": by_key(COUNT), **_PROVIDER_GENERATION}))

# --- names -------------------------------------------------------------------------------

TRAITS = always(_all({"traits": _TEXTS}))
_RESOURCE_CLASS = _all({"name": TEXT, "links": _links("self")})
RESOURCE_CLASS = always(_RESOURCE_CLASS)
RESOURCE_CLASSES = always(_all({"resource_classes": list_of(_RESOURCE_CLASS)}))

# --- allocations -------------------------------------------------------------------------

_RESOURCES: Schema = {"resources": by_key({"type": "integer", "minimum": 1})}
ALLOCATIONS_ON_PROVIDER: Windows = tuple(
    (since, _all({"allocations": by_key(_all(entry)), **_PROVIDER_GENERATION}))
    for since, entry in (
        ((1, 0), _RESOURCES),
        ((1, 28), {**_RESOURCES, "consumer_generation": GENERATION}),
    )
)
_ALLOCATIONS: Schema = {"allocations": by_key(_all({**_RESOURCES, "generation": GENERATION}))}
_CONSUMER: Windows = (
    ((1, 0), {}),
    ((1, 12), {"project_id": TEXT, "user_id": TEXT}),
    ((1, 28), {"consumer_generation": GENERATION}),
    ((1, 38), {"consumer_type": TEXT}),
)
# A consumer without allocations is not described.
ALLOCATIONS: Windows = tuple(
    (since, closed({**_ALLOCATIONS, **consumer}, "allocations"))
    for since, consumer in merged(_CONSUMER)
)
USAGES: Windows = (
    ((1, 9), _all({"usages": by_key(COUNT)})),
    (
        (1, 38),
        _all(
            {
                "usages": by_key(
                    {**by_key(COUNT), "required": ["consumer_count"]},
                )
            }
        ),
    ),
)

# --- allocation candidates -----------------------------------------------------------------

_LISTED: Schema = {
    "allocations": list_of(_all({"resource_provider": _all({"uuid": UUID}), **_RESOURCES}))
}
_KEYED: Schema = {"allocations": by_key(_all(_RESOURCES))}
_MAPPED: Schema = {**_KEYED, "mappings": by_key(list_of(UUID))}
_AMOUNTS: Schema = {"resources": by_key(_all({"capacity": {"type": "integer"}, "used": COUNT}))}
_WITH_TRAITS: Schema = {**_AMOUNTS, "traits": _TEXTS}


def _candidates(allocation: Schema, summary: Schema) -> Schema:
    return _all(
        {
            "allocation_requests": list_of(_all(allocation)),
            "provider_summaries": by_key(_all(summary)),
        }
    )


CANDIDATES: Windows = (
    ((1, 10), _candidates(_LISTED, _AMOUNTS)),
    ((1, 12), _candidates(_KEYED, _AMOUNTS)),
    ((1, 17), _candidates(_KEYED, _WITH_TRAITS)),
    ((1, 29), _candidates(_KEYED, {**_WITH_TRAITS, **_TREE})),
    ((1, 34), _candidates(_MAPPED, {**_WITH_TRAITS, **_TREE})),
)
