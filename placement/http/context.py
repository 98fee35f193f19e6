"""Who makes a request."""

from collections.abc import Mapping
from typing import Any

from oslo_context import context

from placement.policy import Policy


class RequestContext(context.RequestContext):
    """The caller as the authentication found it; the log lines of its thread name it."""

    def __init__(self, *, policy: Policy, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._policy = policy

    def can(self, rule: str, target: Mapping[str, Any] | None = None) -> None:
        """Return if the policy lets the caller do this, to the target: by default its own things.

        Raises: PolicyNotAuthorized, ScopeNotAuthorized.
        """
        if target is None:
            target = {"project_id": self.project_id, "user_id": self.user_id}
        self._policy.authorize(rule, target, self.credentials())

    def credentials(self) -> dict[str, Any]:
        """Return what rules can ask about the caller; oslo.policy's own names, and ``system``."""
        return {
            "user_id": self.user_id,
            "user_domain_id": self.user_domain_id,
            "system_scope": self.system_scope,
            "domain_id": self.domain_id,
            "project_id": self.project_id,
            "project_domain_id": self.project_domain_id,
            "roles": self.roles,
            "is_admin_project": self.is_admin_project,
            "service_user_id": self.service_user_id,
            "service_user_domain_id": self.service_user_domain_id,
            "service_project_id": self.service_project_id,
            "service_project_domain_id": self.service_project_domain_id,
            "service_roles": self.service_roles,
        }
