"""Schemas of the responses below ``/insight``, for the OpenAPI document.

The service does not check its responses against them; the tests check every response of the API
scenarios. Later releases may add members to the objects of a response.
"""

from openapi.response_schemas import COUNT, TEXT_OR_NONE, by_key, list_of
from placement.schemas.base import TEXT, UUID, Schema, always
from placement_insight.audit.finding import ERROR, NOTICE, WARNING
from placement_insight.audit.identity.model import MATCHES
from placement_insight.audit.kinds import KINDS
from placement_insight.documents import VERSION
from placement_insight.explain.records.model import INVALID_REQUEST, NO_CANDIDATES, OF_WRITES
from placement_insight.top import STATES

_TIME: Schema = {"type": "string", "format": "date-time"}


def _answer(**properties: Schema) -> Schema:
    """Return the schema of a document that has at least these properties, and a version."""
    return _opened(version={"const": VERSION}, **properties)


def _opened(**properties: Schema) -> Schema:
    """Return the schema of an object that has at least these properties."""
    return {"type": "object", "properties": properties, "required": list(properties)}


OVERVIEW = always(
    _answer(
        release=TEXT,
        enabled=by_key({"type": "boolean"}),
        snapshot=_opened(providers=COUNT, roots=COUNT),
        last_write_seen=_TIME,
    )
)

# --- explanations ---------------------------------------------------------------------

_REQUIREMENT = {"code": TEXT, "group": TEXT, "requirement": TEXT}
_NEAR_MISS = _opened(
    uuid=UUID,
    name=TEXT,
    unmet=list_of(_opened(**_REQUIREMENT, text=TEXT)),
    text=TEXT,
    complete={"type": "boolean"},
)
EXPLANATION = always(
    _answer(
        query=TEXT,
        microversion=TEXT,
        at=_TIME,
        roots=COUNT,
        fits={"type": ["integer", "null"], "minimum": 0},
        funnel=list_of(_opened(**_REQUIREMENT, lost=COUNT, left=COUNT, text=TEXT, note=TEXT)),
        near_misses=list_of(_NEAR_MISS),
        remedies=list_of(_opened(change=TEXT, roots=COUNT, query=TEXT, text=TEXT)),
        undetermined=list_of(TEXT),
    )
)

# --- recorded requests ------------------------------------------------------------------

_RECORDED = _opened(
    request_id=TEXT_OR_NONE,
    global_request_id=TEXT_OR_NONE,
    at=_TIME,
    kind={"type": "string", "enum": [NO_CANDIDATES, INVALID_REQUEST, *OF_WRITES]},
    project_id=TEXT_OR_NONE,
    user_id=TEXT_OR_NONE,
    microversion=TEXT,
    reason=TEXT,
    explanation={"type": "object"},
)
REQUESTS = always(_answer(requests=list_of(_RECORDED), next=TEXT_OR_NONE))

_COUNTED = list_of(_opened(name=TEXT, requests=COUNT, per_hour=list_of(COUNT)))
REQUESTS_SUMMARY = always(
    _answer(
        since=_TIME,
        requests=COUNT,
        per_hour=list_of(COUNT),
        kinds=_COUNTED,
        reasons=_COUNTED,
        resource_classes=_COUNTED,
        traits=_COUNTED,
        aggregates=_COUNTED,
        projects=_COUNTED,
        races=_COUNTED,
        omitted=by_key(COUNT),
    )
)


# --- changes ----------------------------------------------------------------------------

_NAMED: Schema = {"type": ["object", "null"]}
CHANGES = always(
    _answer(
        complete_since=TEXT_OR_NONE,
        changes=list_of(
            _opened(
                at=_TIME,
                **dict.fromkeys(
                    ("request_id", "global_request_id", "user_id", "project_id"), TEXT_OR_NONE
                ),
                kind=TEXT,  # of a later release, it may be another one
                provider=_NAMED,
                consumer=_NAMED,
                before={},
                after={},
                text=TEXT,
            )
        ),
        next=TEXT_OR_NONE,
    )
)

# --- providers --------------------------------------------------------------------------

_INVENTORY = _opened(
    total=COUNT,
    reserved=COUNT,
    min_unit=COUNT,
    max_unit=COUNT,
    step_size=COUNT,
    allocation_ratio={"type": "number"},
    capacity=COUNT,
    used=COUNT,
)
# A query can select some of the members.
_PROVIDER: Schema = {
    "type": "object",
    "properties": {
        "uuid": UUID,
        "name": TEXT,
        "generation": COUNT,
        "parent_provider_uuid": TEXT_OR_NONE,
        "root_provider_uuid": UUID,
        "inventories": by_key(_INVENTORY),
        "traits": list_of(TEXT),
        "aggregates": list_of(UUID),
    },
}
_FEED: Schema = {"token": TEXT, "complete": {"type": "boolean"}}
_REMOVED = list_of(UUID)
PROVIDERS = always(_answer(**_FEED, providers=list_of(_PROVIDER), removed=_REMOVED))
PROVIDERS_LINE: Schema = {"anyOf": [_answer(**_FEED), _PROVIDER, _opened(removed=_REMOVED)]}
"""The first line, a provider, or the last line."""

# --- top ----------------------------------------------------------------------------------

_AMOUNTS = by_key(COUNT)
_STATE: Schema = {"type": "string", "enum": list(STATES)}
_TOP_HOST = _opened(
    uuid=UUID,
    name=TEXT,
    resource_class=TEXT,
    share={"type": "number", "minimum": 0},
    **dict.fromkeys(("used", "usable", "reserved"), COUNT),
    free=_AMOUNTS,
    states=list_of(_STATE),
    note=TEXT,
)
TOP = always(
    _answer(
        text=TEXT,
        counts=_opened(**dict.fromkeys(("hosts", *STATES), COUNT)),
        classes=by_key(_opened(**dict.fromkeys(("used", "usable", "free", "reserved"), COUNT))),
        selected=COUNT,
        hosts=list_of(_TOP_HOST),
    )
)

# --- capacity ---------------------------------------------------------------------------

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
_ALL_CAPACITY = {
    "microversion": TEXT,
    "formula": TEXT,
    "without": list_of(_opened(uuid=UUID, name=TEXT)),
    "like": list_of(_opened(uuid=UUID, name=TEXT, hosts=COUNT)),
    "complete": {"type": "boolean"},
    **_CAPACITY,
}
_SHAPE_OF_MIX = _opened(query=TEXT, share=COUNT, claims=COUNT, at_most=COUNT)
CAPACITY = always(
    {
        "anyOf": [
            _answer(query=TEXT, **_ALL_CAPACITY, by=list_of(_opened(**_CAPACITY))),
            _answer(shapes=list_of(_SHAPE_OF_MIX), **_ALL_CAPACITY),
        ]
    }
)

# --- consumers --------------------------------------------------------------------------

CONSUMERS = always(
    _answer(
        consumers=list_of(
            _opened(
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

# --- findings ---------------------------------------------------------------------------

_CODE: Schema = {"type": "string", "enum": list(KINDS)}
_FINDING = _opened(
    code=_CODE,
    severity={"type": "string", "enum": [ERROR, WARNING, NOTICE]},
    rows={"type": "object"},
    cause=TEXT,
    repair=TEXT,
    repair_command=TEXT,
    names=by_key(TEXT),
)
FINDINGS = always(
    _answer(
        at=_TIME,
        findings=list_of(_FINDING),
        truncated=list_of(_CODE),
        skipped=list_of(_opened(code=_CODE, count=COUNT, reason=TEXT, found={"type": "boolean"})),
    )
)

# --- identity ---------------------------------------------------------------------------

_PROVIDER_SUMMARY = {
    "uuid": TEXT,
    "name": TEXT,
    "generation": COUNT,
    "parent_provider_uuid": TEXT_OR_NONE,
    "root_provider_uuid": TEXT_OR_NONE,
    "updated_at": TEXT_OR_NONE,
    "consumers": COUNT,
    "inventories": COUNT,
    "children": COUNT,
}
_MATCH = _opened(
    match={"type": "string", "enum": list(MATCHES)},
    **_PROVIDER_SUMMARY,
    descendants=list_of(_opened(**_PROVIDER_SUMMARY)),
)
_CONFLICT = _opened(
    at=_TIME,
    reason={"type": "string", "enum": ["duplicate_name", "duplicate_uuid"]},
    name=TEXT,
    uuid=TEXT,
    holder=TEXT,
    request_id=TEXT_OR_NONE,
    user_id=TEXT_OR_NONE,
)
IDENTITY = always(
    _answer(
        name=TEXT,
        database=TEXT,
        at=_TIME,
        providers=list_of(_MATCH),
        conflicts=list_of(_CONFLICT),
    )
)

# --- clients ------------------------------------------------------------------------------

CLIENTS = always(
    _answer(
        enabled={"type": "boolean"},
        host=TEXT,
        clients=list_of(_opened(client=TEXT, microversion=TEXT, requests=COUNT)),
    )
)

# --- plans --------------------------------------------------------------------------------

_VERDICT: Schema = {"type": "string", "enum": ["fits", "does_not_fit", "undetermined"]}
_PROVIDER = _opened(uuid=UUID, name=TEXT)
_IDENTITY = list_of(_PROVIDER)
_CONSUMER = {"consumer": TEXT, "type": TEXT_OR_NONE, "project_id": TEXT_OR_NONE}
DRAIN = always(
    _answer(
        text=TEXT,
        complete={"type": "boolean"},
        verdict=_VERDICT,
        reasons=list_of(TEXT),
        providers=_IDENTITY,
        consumers=COUNT,
        placed=COUNT,
        hosts_used=COUNT,
        moves=list_of(
            _opened(
                **_CONSUMER,
                **{"from": _IDENTITY, "to": _IDENTITY},
                allocations=by_key(_AMOUNTS),
                text=TEXT,
            )
        ),
        stuck=list_of(
            _opened(
                **_CONSUMER,
                **{"from": _IDENTITY},
                needs=_AMOUNTS,
                proved={"type": "boolean"},
                text=TEXT,
            )
        ),
        skipped=list_of(_opened(consumer=TEXT, reason=TEXT, text=TEXT)),
        assumes=list_of(TEXT),
    )
)
_OUTCOMES = list_of(
    _opened(
        **dict.fromkeys(("domain", "name", "reason", "text"), TEXT),
        **dict.fromkeys(("hosts", "consumers", "stuck"), COUNT),
        lacks=_AMOUNTS,
    )
)
SURVIVAL = always(
    _answer(
        text=TEXT,
        complete={"type": "boolean"},
        verdict=_VERDICT,
        domains=COUNT,
        survive=COUNT,
        undetermined=COUNT,
        **{"not": _OUTCOMES},
        unknown=_OUTCOMES,
        left_out=list_of(TEXT),
        skipped=COUNT,
        assumes=list_of(TEXT),
    )
)
ROOM = always(
    _answer(
        text=TEXT,
        complete={"type": "boolean"},
        verdict=_VERDICT,
        fits_now=COUNT,
        rooms=list_of(
            _opened(
                root=_PROVIDER,
                consumers=list_of(
                    _opened(
                        uuid=TEXT,
                        type=TEXT_OR_NONE,
                        project_id=TEXT_OR_NONE,
                        frees=_AMOUNTS,
                        to={"anyOf": [_PROVIDER, {"type": "null"}]},
                        allocations=by_key(_AMOUNTS),
                        text=TEXT,
                    )
                ),
                text=TEXT,
                moved=COUNT,
                amount=_AMOUNTS,
                minimal={"type": "boolean"},
            )
        ),
        reason=TEXT_OR_NONE,
        undetermined=COUNT,
        assumes=list_of(TEXT),
    )
)
