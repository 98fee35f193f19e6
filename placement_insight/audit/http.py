"""``GET /insight/findings``, ``/insight/consumers`` and ``/insight/identity``."""

import logging

import webob

from placement.http.request import Request, accepts_json
from placement.http.response import json_response
from placement.parse import validation
from placement.schemas.base import TEXT, UUID, always, closed
from placement_insight import policies, queries
from placement_insight.audit.consumers import sql
from placement_insight.audit.consumers.model import MOST_OF_A_PAGE, ConsumerFilter
from placement_insight.audit.finding import Commands
from placement_insight.audit.identity.model import DAYS
from placement_insight.audit.identity.sql import identify
from placement_insight.audit.kinds import KINDS, Audit
from placement_insight.audit.model import GRACE_MINUTES, AuditSettings
from placement_insight.audit.report import audit
from placement_insight.audit.trees import EditedProvider
from placement_insight.audit.usage import UsageCounter
from placement_insight.documents import document
from placement_insight.explain.records.reports import reports_of

FINDINGS_QUERY = always(
    closed(
        {
            "code": {"type": "string", "enum": list(KINDS)},
            "grace_minutes": queries.described("a number of minutes", "^[0-9]{1,6}$"),
            "stale_days": queries.described("a number of days", "^[1-9][0-9]{0,4}$"),
        }
    )
)
_PROVIDERS = ("provider", "in_tree")
CONSUMERS_QUERY = always(
    closed(
        {
            **dict.fromkeys(("project_id", "user_id", "type", "resource_class"), TEXT),
            **dict.fromkeys(_PROVIDERS, UUID),
            "older_than": queries.TIME,
            "limit": queries.described("a number from 1 to 10000", "^([1-9][0-9]{0,3}|10000)$"),
            "marker": TEXT,
        }
    )
)
IDENTITY_QUERY = always(
    closed(
        {
            "name": {"type": "string", "minLength": 1, "maxLength": 200},
            "days": queries.described("a number of days", "^[1-9][0-9]{0,2}$"),
        },
        "name",
    )
)
LOG = logging.getLogger(__name__)
_FINDINGS = validation.query_validators(FINDINGS_QUERY)
_CONSUMERS = validation.query_validators(CONSUMERS_QUERY)
_IDENTITY = validation.query_validators(IDENTITY_QUERY)


@accepts_json
def list_findings(request: Request) -> webob.Response:
    """Return the findings of an audit of the database."""
    request.can(policies.FINDINGS)
    values = queries.values(request, _FINDINGS)
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

    report = services.shared.result_for_few((list_findings, settings), run)
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


@accepts_json
def list_consumers(request: Request) -> webob.Response:
    """Return a page of the consumers that the query describes, in the order of their UUIDs."""
    request.can(policies.CONSUMERS)
    values = queries.values(request, _CONSUMERS)
    of_provider = {name: values[name].lower() for name in _PROVIDERS if name in values}
    created_before = None
    if "older_than" in values:
        created_before = queries.time("older_than", values.pop("older_than"))
    limit = int(values.pop("limit", MOST_OF_A_PAGE))
    criteria = ConsumerFilter(
        **{**values, **of_provider}, created_before=created_before, limit=limit
    )
    listed, marker = sql.page(request.services.store, criteria)
    consumers = [consumer.as_json() for consumer in listed]
    return json_response(request, document(consumers=consumers, next=marker))


@accepts_json
def show_identity(request: Request) -> webob.Response:
    """Return the providers that a name or UUID could mean, and recorded conflicts."""
    request.can(policies.IDENTITY)
    values = queries.values(request, _IDENTITY)
    days = int(values.get("days", DAYS))
    reports_of(request).write_counts()
    identity = identify(request.services.store, values["name"], days)
    return json_response(request, document(**identity.as_json()))
