"""The policy rules: the rules for kinds of callers, and the rule of each operation.

The rule of an operation is a constant that handlers check.
"""

from collections.abc import Sequence
from typing import NamedTuple

from oslo_policy import policy

from placement import surface

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
_PROJECT = ["project"]  # scope types

RULES = (
    policy.RuleDefault(
        "admin_api", "role:admin", "The administrator of the cloud.", scope_types=_PROJECT
    ),
    policy.RuleDefault(
        "service_api",
        "role:service",
        "Another service, such as the compute service.",
        scope_types=_PROJECT,
        deprecated_rule=_DEPRECATED_ADMIN,
    ),
    policy.RuleDefault(
        "admin_or_service_api",
        "role:admin or role:service",
        "The administrator of the cloud, or another service.",
        scope_types=_PROJECT,
        deprecated_rule=_DEPRECATED_ADMIN,
    ),
    policy.RuleDefault(
        "project_reader_api",
        "role:reader and project_id:%(project_id)s",
        "A reader of the requested project.",
        deprecated_rule=_DEPRECATED_ADMIN,
    ),
    policy.RuleDefault(
        "admin_or_project_reader_or_service_api",
        "role:admin or rule:project_reader_api or role:service",
        "The administrator, a reader of the requested project, or another service.",
        scope_types=_PROJECT,
        deprecated_rule=_DEPRECATED_ADMIN,
    ),
)


class ProjectRule(policy.DocumentedRuleDefault):
    """The rule of an operation whose query can name a project: the target of the rule."""


class Resource(NamedTuple):
    """A resource of the API: the beginning of the names of its rules, and its path."""

    name: str
    path: str

    def rule(
        self,
        action: str,
        text: str,
        *operations: str,
        check: str = ADMIN_OR_SERVICE,
        kind: type[policy.DocumentedRuleDefault] = policy.DocumentedRuleDefault,
    ) -> policy.DocumentedRuleDefault:
        """Return the rule of an action; an operation is a method, and the rest of the path."""
        pairs = [operation.partition(" ") for operation in operations]
        return kind(
            name=f"placement:{self.name}{action}",
            check_str=check,
            description=text,
            operations=[{"method": method, "path": self.path + rest} for method, _, rest in pairs],
            scope_types=_PROJECT,
        )


_PROVIDERS = Resource("resource_providers:", "/resource_providers")
LIST_PROVIDERS = _PROVIDERS.rule("list", "List resource providers.", "GET")
CREATE_PROVIDER = _PROVIDERS.rule("create", "Create a resource provider.", "POST")
SHOW_PROVIDER = _PROVIDERS.rule("show", "Show a resource provider.", "GET /{uuid}")
UPDATE_PROVIDER = _PROVIDERS.rule(
    "update", "Rename a resource provider, or move it to another parent.", "PUT /{uuid}"
)
DELETE_PROVIDER = _PROVIDERS.rule("delete", "Delete a resource provider.", "DELETE /{uuid}")

_CLASSES = Resource("resource_classes:", "/resource_classes")
LIST_CLASSES = _CLASSES.rule("list", "List resource classes.", "GET")
CREATE_CLASS = _CLASSES.rule("create", "Create a resource class.", "POST")
SHOW_CLASS = _CLASSES.rule("show", "Show a resource class.", "GET /{name}")
UPDATE_CLASS = _CLASSES.rule(
    "update", "Rename a resource class, or make sure that it exists.", "PUT /{name}"
)
DELETE_CLASS = _CLASSES.rule("delete", "Delete a resource class.", "DELETE /{name}")

_INVENTORIES = Resource(
    "resource_providers:inventories:", "/resource_providers/{uuid}/inventories"
)
LIST_INVENTORIES = _INVENTORIES.rule("list", "List the inventories of a resource provider.", "GET")
CREATE_INVENTORY = _INVENTORIES.rule("create", "Add an inventory to a resource provider.", "POST")
SHOW_INVENTORY = _INVENTORIES.rule(
    "show", "Show one inventory of a resource provider.", "GET /{resource_class}"
)
UPDATE_INVENTORY = _INVENTORIES.rule(
    "update",
    "Change one inventory of a resource provider, or replace all of them.",
    "PUT",
    "PUT /{resource_class}",
)
DELETE_INVENTORY = _INVENTORIES.rule(
    "delete",
    "Delete one inventory of a resource provider, or all of them.",
    "DELETE",
    "DELETE /{resource_class}",
)

_AGGREGATES = Resource("resource_providers:aggregates:", "/resource_providers/{uuid}/aggregates")
LIST_AGGREGATES = _AGGREGATES.rule("list", "List the aggregates of a resource provider.", "GET")
UPDATE_AGGREGATES = _AGGREGATES.rule(
    "update", "Replace the aggregates of a resource provider.", "PUT"
)
SHOW_USAGES_OF_PROVIDER = _PROVIDERS.rule(
    "usages", "Show what is used on a resource provider.", "GET /{uuid}/usages"
)

_API = Resource("", "")
SHOW_USAGES_OF_PROJECT = _API.rule(
    "usages",
    "Show what a project uses; also allowed to readers of that project.",
    "GET /usages",
    check=ADMIN_OR_PROJECT_READER_OR_SERVICE,
    kind=ProjectRule,
)

_TRAITS = Resource("traits:", "/traits")
LIST_TRAITS = _TRAITS.rule("list", "List traits.", "GET")
SHOW_TRAIT = _TRAITS.rule("show", "Show whether a trait exists.", "GET /{name}")
UPDATE_TRAIT = _TRAITS.rule("update", "Make sure that a custom trait exists.", "PUT /{name}")
DELETE_TRAIT = _TRAITS.rule("delete", "Delete a custom trait.", "DELETE /{name}")

_TRAITS_OF_PROVIDER = Resource("resource_providers:traits:", "/resource_providers/{uuid}/traits")
LIST_TRAITS_OF_PROVIDER = _TRAITS_OF_PROVIDER.rule(
    "list", "List the traits of a resource provider.", "GET"
)
UPDATE_TRAITS_OF_PROVIDER = _TRAITS_OF_PROVIDER.rule(
    "update", "Replace the traits of a resource provider.", "PUT"
)
DELETE_TRAITS_OF_PROVIDER = _TRAITS_OF_PROVIDER.rule(
    "delete", "Take all traits from a resource provider.", "DELETE"
)

_ALLOCATIONS = Resource("allocations:", "/allocations")
MANAGE_ALLOCATIONS = _ALLOCATIONS.rule(
    "manage", "Replace the allocations of several consumers.", "POST"
)
LIST_ALLOCATIONS = _ALLOCATIONS.rule(
    "list", "List the allocations of a consumer.", "GET /{consumer_uuid}"
)
UPDATE_ALLOCATIONS = _ALLOCATIONS.rule(
    "update", "Replace the allocations of a consumer.", "PUT /{consumer_uuid}"
)
DELETE_ALLOCATIONS = _ALLOCATIONS.rule(
    "delete", "Delete the allocations of a consumer.", "DELETE /{consumer_uuid}"
)
LIST_ALLOCATIONS_OF_PROVIDER = _PROVIDERS.rule(
    "allocations:list", "List the allocations on a resource provider.", "GET /{uuid}/allocations"
)
LIST_CANDIDATES = _API.rule(
    "allocation_candidates:list", "List allocation candidates.", "GET /allocation_candidates"
)
RESHAPE = _API.rule(
    "reshaper:reshape",
    "Move inventories and allocations between the providers of a tree.",
    "POST /reshaper",
    check=SERVICE,
)


OPERATIONS = tuple(
    rule for rule in globals().values() if isinstance(rule, policy.DocumentedRuleDefault)
)
"""The rules of the operations of the API."""


def list_rules() -> Sequence[policy.RuleDefault]:
    """Return all rules with their defaults; the tools of oslo.policy call this function."""
    return (*RULES, *OPERATIONS, *surface.installed().rules())
