"""The query of GET /insight/findings."""

from placement.core.insight.audit import GRACE_MINUTES, AuditSettings
from placement.microversion import Version
from placement.parse import query
from placement.schemas import insight_findings

_VALIDATORS = query.validators(insight_findings.FINDINGS_QUERY)


def audit_settings(pairs: query.QueryPairs, version: Version) -> AuditSettings:
    """Return what a query asks to look for.  Raises: BadRequest."""
    query.check(_VALIDATORS, pairs, version)
    values = query.effective(pairs)
    return AuditSettings(
        grace_minutes=int(values.get("grace_minutes", GRACE_MINUTES)),
        stale_days=int(values["stale_days"]) if "stale_days" in values else None,
        codes=frozenset({values["code"]} if "code" in values else ()),
    )
