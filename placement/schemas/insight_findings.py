"""What GET /insight/findings takes and returns."""

from placement.core.insight.finding import ERROR, NOTICE, SEVERITIES
from placement.schemas.base import TEXT, Schema, always, closed
from placement.schemas.insight import answer, opened

_CODE: Schema = {"type": "string", "enum": list(SEVERITIES)}
_SEVERITY: Schema = {"type": "string", "enum": [ERROR, NOTICE]}
_MINUTES: Schema = {"type": "string", "pattern": "^[0-9]{1,6}$"}
_DAYS: Schema = {"type": "string", "pattern": "^[1-9][0-9]{0,4}$"}

FINDINGS_QUERY = always(closed({"code": _CODE, "grace_minutes": _MINUTES, "stale_days": _DAYS}))

_FINDING = opened(code=_CODE, severity=_SEVERITY, rows={"type": "object"}, cause=TEXT, repair=TEXT)
FINDINGS = always(
    answer(
        at={"type": "string", "format": "date-time"},
        findings={"type": "array", "items": _FINDING},
        truncated={"type": "array", "items": _CODE},
    )
)
