"""The rules for kinds of callers, which the other rules refer to."""

from typing import Any

from oslo_policy import policy

ADMIN_OR_SERVICE = "rule:admin_or_service_api"
ADMIN_OR_PROJECT_READER_OR_SERVICE = "rule:admin_or_project_reader_or_service_api"
SERVICE = "rule:service_api"

# The rule before service and reader roles existed. It applies in addition to the new rules only if
# [oslo_policy]enforce_new_defaults is false.
_DEPRECATED_ADMIN = policy.DeprecatedRule(
    name="rule:admin_api",
    check_str="role:admin",
    deprecated_reason=(
        "The rule distinguishes the service, the administrator and the reader of a project."
    ),
    deprecated_since="Wallaby",
)


def _caller(name: str, check: str, description: str, **kwargs: Any) -> policy.RuleDefault:
    return policy.RuleDefault(name=name, check_str=check, description=description, **kwargs)


RULES = (
    _caller(
        "admin_api",
        "role:admin",
        "The administrator of the cloud.",
        scope_types=["project"],
    ),
    _caller(
        "service_api",
        "role:service",
        "Another service, such as the compute service.",
        scope_types=["project"],
        deprecated_rule=_DEPRECATED_ADMIN,
    ),
    _caller(
        "admin_or_service_api",
        "role:admin or role:service",
        "The administrator of the cloud, or another service.",
        scope_types=["project"],
        deprecated_rule=_DEPRECATED_ADMIN,
    ),
    _caller(
        "project_reader_api",
        "role:reader and project_id:%(project_id)s",
        "A reader of the requested project.",
        deprecated_rule=_DEPRECATED_ADMIN,
    ),
    _caller(
        "admin_or_project_reader_or_service_api",
        "role:admin or rule:project_reader_api or role:service",
        "The administrator, a reader of the requested project, or another service.",
        scope_types=["project"],
        deprecated_rule=_DEPRECATED_ADMIN,
    ),
)


def operation(
    name: str, description: str, *operations: str, check: str = ADMIN_OR_SERVICE
) -> policy.DocumentedRuleDefault:
    """Return the rule ``placement:name``; each of ``operations`` is a method and a path."""
    pairs = [operation.split() for operation in operations]
    return policy.DocumentedRuleDefault(
        name=f"placement:{name}",
        check_str=check,
        description=description,
        operations=[{"method": method, "path": path} for method, path in pairs],
        scope_types=["project"],
    )
