"""What GET /insight/identity takes and returns."""

from placement.core.insight.identity import MATCHES
from placement.schemas.base import TEXT, Schema, always, closed
from placement.schemas.insight import answer, opened

_COUNT: Schema = {"type": "integer", "minimum": 0}
_TEXT_OR_NONE: Schema = {"type": ["string", "null"]}
_NAME: Schema = {"type": "string", "minLength": 1, "maxLength": 200}
_DAYS: Schema = {"type": "string", "pattern": "^[1-9][0-9]{0,2}$"}

IDENTITY_QUERY = always(closed({"name": _NAME, "days": _DAYS}, "name"))

_PROVIDER = {
    "uuid": TEXT,
    "name": TEXT,
    "generation": _COUNT,
    "parent_provider_uuid": _TEXT_OR_NONE,
    "root_provider_uuid": _TEXT_OR_NONE,
    "updated_at": _TEXT_OR_NONE,
    "consumers": _COUNT,
    "inventories": _COUNT,
    "children": _COUNT,
}
_MATCH = opened(
    match={"type": "string", "enum": list(MATCHES)},
    **_PROVIDER,
    descendants={"type": "array", "items": opened(**_PROVIDER)},
)
_CONFLICT = opened(
    at={"type": "string", "format": "date-time"},
    reason={"type": "string", "enum": ["duplicate_name", "duplicate_uuid"]},
    name=TEXT,
    uuid=TEXT,
    holder=TEXT,
    request_id=_TEXT_OR_NONE,
    user_id=_TEXT_OR_NONE,
)
IDENTITY = always(
    answer(
        name=TEXT,
        database=TEXT,
        at={"type": "string", "format": "date-time"},
        providers={"type": "array", "items": _MATCH},
        conflicts={"type": "array", "items": _CONFLICT},
    )
)
