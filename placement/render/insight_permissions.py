"""The permissions of a set of roles, as JSON."""

from placement.core.insight.document import document
from placement.core.insight.permissions import CheckedCall, Permissions


def permissions(report: Permissions) -> bytes:
    """Return the body of permissions."""
    return document(
        roles=list(report.roles),
        project_id=report.project_id,
        unnamed_roles=list(report.unnamed_roles),
        denied=len(report.denied),
        calls=[_call(each) for each in report.calls],
    )


def _call(checked: CheckedCall) -> dict[str, object]:
    return {
        **checked.call._asdict(),
        "rule": checked.rule,
        "allowed": checked.is_allowed,
        "needs": checked.requirement,
    }
