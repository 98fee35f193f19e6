"""Which calls of OpenStack services a set of roles may send, by the policy in force."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Protocol

from placement import exception, policies
from placement.core.insight.permissions import CheckedCall, Permissions
from placement.core.insight.service_calls import CALLS, Call

_OWN_PROJECT = "(the project of the token)"
_REQUESTED_PROJECT = "(another project)"
_USAGES = "/usages"


class Rules(Protocol):
    """The policy in force: ``http.policy_decisions.PolicyDecisions``."""

    def authorize(self, rule: str, target: Mapping[str, Any], caller: Mapping[str, Any]) -> None:
        """Return if the rule allows the caller this.  Raises: PolicyNotAuthorized."""

    def requirement(self, rule: str) -> str:
        """Return what the rule requires of a caller."""

    def named_roles(self) -> Collection[str]:
        """Return the roles, in lower case, that the rules name."""


def permissions(
    rules: Rules,
    roles: Sequence[str],
    *,
    project_id: str | None = None,
    service: str | None = None,
) -> Permissions:
    """Return which calls of the services, or of one, a token with these roles may send.

    The token has the scope of a project, ``project_id`` if given. ``GET /usages`` is checked for
    usages of another project, because services read those of all projects.
    """
    named = rules.named_roles()
    return Permissions(
        roles,
        project_id,
        [role for role in roles if role.lower() not in named],
        [
            _checked(rules, call, roles, project_id)
            for call in CALLS
            if service in (None, call.service)
        ],
    )


def _checked(
    rules: Rules, call: Call, roles: Sequence[str], project_id: str | None
) -> CheckedCall:
    rule = _RULES[call.method, call.path]
    own = project_id or _OWN_PROJECT
    caller = {"roles": list(roles), "project_id": own, "user_id": None}
    target = {"project_id": _REQUESTED_PROJECT if call.path == _USAGES else own, "user_id": None}
    try:
        rules.authorize(rule, target, caller)
    except exception.PolicyNotAuthorized:
        is_allowed = False
    else:
        is_allowed = True
    return CheckedCall(call, rule, rules.requirement(rule), is_allowed)


_RULES = {
    (operation["method"], operation["path"]): rule.name
    for rule in policies.list_rules()
    for operation in getattr(rule, "operations", ())
}
