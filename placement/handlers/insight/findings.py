"""``GET /insight/findings``: inconsistent data in the database."""

import webob

from placement.insight.audit import audit
from placement.parse.insight_findings import audit_settings
from placement.policies import insight as policies
from placement.render import insight_findings as render
from placement.wsgi_wrapper import Request, accepts_json, json_response


@accepts_json
def list_findings(request: Request) -> webob.Response:
    """Return the findings of an audit of the database."""
    request.context.can(policies.FINDINGS)
    settings = audit_settings(request.query_pairs, request.version)
    report = audit(request.services.store, settings)
    return json_response(request, render.findings(report.at, report.findings, report.truncated))
