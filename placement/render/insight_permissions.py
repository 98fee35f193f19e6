"""The permissions of a set of roles, as JSON."""

from placement.core.insight.permissions import CheckedCall, Permissions
from placement.render import insight


def permissions(found: Permissions) -> bytes:
    """Return the body of permissions."""
    return insight.document(
        roles=list(found.roles),
        project_id=found.project_id,
        unnamed_roles=list(found.unnamed_roles),
        denied=len(found.denied),
        calls=[_call(each) for each in found.calls],
    )


def _call(checked: CheckedCall) -> dict[str, object]:
    return {
        **checked.call._asdict(),
        "rule": checked.rule,
        "allowed": checked.is_allowed,
        "needs": checked.requirement,
    }
