"""``GET /insight/findings``: inconsistent data in the database."""

import logging

import webob

from placement.http.request import Request, accepts_json
from placement.http.response import json_response
from placement.parse import validation
from placement.schemas.base import always, closed
from placement_insight import policies, queries
from placement_insight.audit.finding import Commands
from placement_insight.audit.kinds import KINDS, Audit
from placement_insight.audit.model import GRACE_MINUTES, AuditSettings
from placement_insight.audit.report import audit
from placement_insight.audit.trees import EditedProvider
from placement_insight.audit.usage import UsageCounter
from placement_insight.documents import document

FINDINGS_QUERY = always(
    closed(
        {
            "code": {"type": "string", "enum": list(KINDS)},
            "grace_minutes": queries.described("a number of minutes", "^[0-9]{1,6}$"),
            "stale_days": queries.described("a number of days", "^[1-9][0-9]{0,4}$"),
        }
    )
)
LOG = logging.getLogger(__name__)
_VALIDATORS = validation.query_validators(FINDINGS_QUERY)


@accepts_json
def list_findings(request: Request) -> webob.Response:
    """Return the findings of an audit of the database."""
    request.can(policies.FINDINGS)
    values = queries.values(request, _VALIDATORS)
    minutes = int(values.get("grace_minutes", GRACE_MINUTES))
    grace = f" --grace-minutes {minutes}" if minutes != GRACE_MINUTES else ""
    settings = AuditSettings(
        grace_minutes=minutes,
        commands=Commands(audit=f"placement-manage audit{grace}"),
        stale_days=int(values["stale_days"]) if "stale_days" in values else None,
        codes=frozenset({values["code"]} if "code" in values else ()),
    )
    services = request.services

    def run() -> Audit:
        report = audit(services.store, settings, served=services.engine.view())
        _log_edited(report)
        return report

    report = services.shared.result((list_findings, settings), run)
    return json_response(request, document(**report.as_json()))


def _log_edited(report: Audit) -> None:
    """Log once that another program wrote to the database, and what to run."""
    names = [
        finding.provider.name
        for finding in report.findings
        if isinstance(finding, EditedProvider | UsageCounter)
    ]
    if names:
        LOG.warning(
            "Another program wrote to the database: %d providers or usage counters differ from "
            "what the service returns, the first: %s. Run: placement-manage db sync",
            len(names),
            names[0],
        )
