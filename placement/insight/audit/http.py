"""``GET /insight/findings``: inconsistent data in the database."""

import webob

from placement.http.request import Request, accepts_json, json_response
from placement.insight.audit.model import ERROR, GRACE_MINUTES, NOTICE, SEVERITIES, AuditSettings
from placement.insight.audit.report import audit, findings_document
from placement.insight.schemas import TIME, answer, opened
from placement.microversion import Version
from placement.parse import validation
from placement.policies import insight as policies
from placement.schemas.base import COUNT, TEXT, Schema, always, by_key, closed, list_of

_CODE: Schema = {"type": "string", "enum": list(SEVERITIES)}
_SEVERITY: Schema = {"type": "string", "enum": [ERROR, NOTICE]}
_MINUTES: Schema = {
    "type": "string",
    "pattern": "^[0-9]{1,6}$",
    "description": "a number of minutes",
}
_STALE_DAYS: Schema = {
    "type": "string",
    "pattern": "^[1-9][0-9]{0,4}$",
    "description": "a number of days",
}

FINDINGS_QUERY = always(
    closed({"code": _CODE, "grace_minutes": _MINUTES, "stale_days": _STALE_DAYS})
)

_FINDING = opened(
    code=_CODE,
    severity=_SEVERITY,
    rows={"type": "object"},
    cause=TEXT,
    repair=TEXT,
    repair_command=TEXT,
    names=by_key(TEXT),
)
FINDINGS = always(
    answer(
        at=TIME,
        findings=list_of(_FINDING),
        truncated=list_of(_CODE),
        skipped=list_of(opened(code=_CODE, count=COUNT, reason=TEXT)),
    )
)


_VALIDATORS = validation.query_validators(FINDINGS_QUERY)


def audit_settings(pairs: validation.QueryPairs, version: Version) -> AuditSettings:
    """Return the settings of the audit in a query.  Raises: BadRequest."""
    validation.check_in_words(_VALIDATORS, pairs, version)
    values = validation.effective(pairs)
    return AuditSettings(
        grace_minutes=int(values.get("grace_minutes", GRACE_MINUTES)),
        stale_days=int(values["stale_days"]) if "stale_days" in values else None,
        codes=frozenset({values["code"]} if "code" in values else ()),
    )


@accepts_json
def list_findings(request: Request) -> webob.Response:
    """Return the findings of an audit of the database."""
    request.context.can(policies.FINDINGS)
    settings = audit_settings(request.query_pairs, request.version)
    return json_response(request, findings_document(audit(request.services.store, settings)))
