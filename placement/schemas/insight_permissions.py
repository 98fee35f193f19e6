"""What GET /insight/permissions takes and returns."""

from placement.core.insight.service_calls import SERVICES
from placement.schemas.base import OWNER, TEXT, Schema, always, closed
from placement.schemas.insight import answer, opened

_ROLES: Schema = {
    "type": "string",
    "pattern": "^ *[^, ][^,]*(, *[^, ][^,]*)*$",
    "maxLength": 10_000,
}
_SERVICE: Schema = {"type": "string", "enum": list(SERVICES)}
_NAMES: Schema = {"type": "array", "items": TEXT}

PERMISSIONS_QUERY = always(
    closed({"roles": _ROLES, "project_id": OWNER, "service": _SERVICE}, "roles")
)

_CALL = opened(
    service=_SERVICE,
    method=TEXT,
    path=TEXT,
    purpose=TEXT,
    rule=TEXT,
    allowed={"type": "boolean"},
    needs=TEXT,
)
PERMISSIONS = always(
    answer(
        roles=_NAMES,
        project_id={"type": ["string", "null"]},
        unnamed_roles=_NAMES,
        denied={"type": "integer", "minimum": 0},
        calls={"type": "array", "items": _CALL},
    )
)
