"""The caller of a request."""

from collections.abc import Mapping
from typing import Any

from oslo_context import context

from placement.policy import Policy


class RequestContext(context.RequestContext):
    """The authenticated caller; log lines of the current thread carry its ids."""

    def __init__(self, *, policy: Policy, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._policy = policy

    def can(self, rule: str, target: Mapping[str, Any] | None = None) -> None:
        """Return if the policy allows this; the default target is the caller's own project.

        Raises: PolicyNotAuthorized, ScopeNotAuthorized, PolicyCheckFailed.
        """
        if target is None:
            target = {"project_id": self.project_id, "user_id": self.user_id}
        self._policy.authorize(rule, target, self.credentials())

    def credentials(self) -> dict[str, Any]:
        """Return the attributes of the caller that policy rules can use."""
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
