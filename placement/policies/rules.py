"""The policy rules: the rules for kinds of callers, and the rule of each operation.

The rule of an operation is a constant that handlers check.
"""

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


RULES = (
    policy.RuleDefault(
        "admin_api",
        "role:admin",
        "The administrator of the cloud.",
        scope_types=["project"],
    ),
    policy.RuleDefault(
        "service_api",
        "role:service",
        "Another service, such as the compute service.",
        scope_types=["project"],
        deprecated_rule=_DEPRECATED_ADMIN,
    ),
    policy.RuleDefault(
        "admin_or_service_api",
        "role:admin or role:service",
        "The administrator of the cloud, or another service.",
        scope_types=["project"],
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


LIST_PROVIDERS = operation(
    "resource_providers:list", "List resource providers.", "GET /resource_providers"
)
CREATE_PROVIDER = operation(
    "resource_providers:create", "Create a resource provider.", "POST /resource_providers"
)
SHOW_PROVIDER = operation(
    "resource_providers:show", "Show a resource provider.", "GET /resource_providers/{uuid}"
)
UPDATE_PROVIDER = operation(
    "resource_providers:update",
    "Rename a resource provider, or move it to another parent.",
    "PUT /resource_providers/{uuid}",
)
DELETE_PROVIDER = operation(
    "resource_providers:delete", "Delete a resource provider.", "DELETE /resource_providers/{uuid}"
)
LIST_CLASSES = operation(
    "resource_classes:list", "List resource classes.", "GET /resource_classes"
)
CREATE_CLASS = operation(
    "resource_classes:create", "Create a resource class.", "POST /resource_classes"
)
SHOW_CLASS = operation(
    "resource_classes:show", "Show a resource class.", "GET /resource_classes/{name}"
)
UPDATE_CLASS = operation(
    "resource_classes:update",
    "Rename a resource class, or make sure that it exists.",
    "PUT /resource_classes/{name}",
)
DELETE_CLASS = operation(
    "resource_classes:delete", "Delete a resource class.", "DELETE /resource_classes/{name}"
)
LIST_INVENTORIES = operation(
    "resource_providers:inventories:list",
    "List the inventories of a resource provider.",
    "GET /resource_providers/{uuid}/inventories",
)
CREATE_INVENTORY = operation(
    "resource_providers:inventories:create",
    "Add an inventory to a resource provider.",
    "POST /resource_providers/{uuid}/inventories",
)
SHOW_INVENTORY = operation(
    "resource_providers:inventories:show",
    "Show one inventory of a resource provider.",
    "GET /resource_providers/{uuid}/inventories/{resource_class}",
)
UPDATE_INVENTORY = operation(
    "resource_providers:inventories:update",
    "Change one inventory of a resource provider, or replace all of them.",
    "PUT /resource_providers/{uuid}/inventories",
    "PUT /resource_providers/{uuid}/inventories/{resource_class}",
)
DELETE_INVENTORY = operation(
    "resource_providers:inventories:delete",
    "Delete one inventory of a resource provider, or all of them.",
    "DELETE /resource_providers/{uuid}/inventories",
    "DELETE /resource_providers/{uuid}/inventories/{resource_class}",
)
LIST_AGGREGATES = operation(
    "resource_providers:aggregates:list",
    "List the aggregates of a resource provider.",
    "GET /resource_providers/{uuid}/aggregates",
)
UPDATE_AGGREGATES = operation(
    "resource_providers:aggregates:update",
    "Replace the aggregates of a resource provider.",
    "PUT /resource_providers/{uuid}/aggregates",
)
SHOW_USAGES_OF_PROVIDER = operation(
    "resource_providers:usages",
    "Show what is used on a resource provider.",
    "GET /resource_providers/{uuid}/usages",
)
SHOW_USAGES_OF_PROJECT = operation(
    "usages",
    "Show what a project uses; also allowed to readers of that project.",
    "GET /usages",
    check=ADMIN_OR_PROJECT_READER_OR_SERVICE,
)
LIST_TRAITS = operation("traits:list", "List traits.", "GET /traits")
SHOW_TRAIT = operation("traits:show", "Show whether a trait exists.", "GET /traits/{name}")
UPDATE_TRAIT = operation(
    "traits:update", "Make sure that a custom trait exists.", "PUT /traits/{name}"
)
DELETE_TRAIT = operation("traits:delete", "Delete a custom trait.", "DELETE /traits/{name}")
LIST_TRAITS_OF_PROVIDER = operation(
    "resource_providers:traits:list",
    "List the traits of a resource provider.",
    "GET /resource_providers/{uuid}/traits",
)
UPDATE_TRAITS_OF_PROVIDER = operation(
    "resource_providers:traits:update",
    "Replace the traits of a resource provider.",
    "PUT /resource_providers/{uuid}/traits",
)
DELETE_TRAITS_OF_PROVIDER = operation(
    "resource_providers:traits:delete",
    "Take all traits from a resource provider.",
    "DELETE /resource_providers/{uuid}/traits",
)
MANAGE_ALLOCATIONS = operation(
    "allocations:manage", "Replace the allocations of several consumers.", "POST /allocations"
)
LIST_ALLOCATIONS = operation(
    "allocations:list", "List the allocations of a consumer.", "GET /allocations/{consumer_uuid}"
)
UPDATE_ALLOCATIONS = operation(
    "allocations:update",
    "Replace the allocations of a consumer.",
    "PUT /allocations/{consumer_uuid}",
)
DELETE_ALLOCATIONS = operation(
    "allocations:delete",
    "Delete the allocations of a consumer.",
    "DELETE /allocations/{consumer_uuid}",
)
LIST_ALLOCATIONS_OF_PROVIDER = operation(
    "resource_providers:allocations:list",
    "List the allocations on a resource provider.",
    "GET /resource_providers/{uuid}/allocations",
)
LIST_CANDIDATES = operation(
    "allocation_candidates:list", "List allocation candidates.", "GET /allocation_candidates"
)
RESHAPE = operation(
    "reshaper:reshape",
    "Move inventories and allocations between the providers of a tree.",
    "POST /reshaper",
    check=SERVICE,
)


# --- the operator surface

SHOW = operation("insight:show", "Show what the operator surface offers.", "GET /insight")
EXPLAIN = operation(
    "insight:explanation",
    "Explain where a request for candidates fits, and why it does not elsewhere.",
    "GET /insight/explanation",
)
PROVIDERS = operation(
    "insight:providers",
    "List providers with everything they have, or those that changed.",
    "GET /insight/providers",
)
LIST_REQUESTS = operation(
    "insight:requests:list",
    "List or count requests that found no candidates, and claims that were refused.",
    "GET /insight/requests",
    "GET /insight/requests/summary",
)
SHOW_REQUEST = operation(
    "insight:requests:show",
    "Show what is recorded with a request id.",
    "GET /insight/requests/{request_id}",
)
CAPACITY = operation(
    "insight:capacity", "Show how often a shape can still be claimed.", "GET /insight/capacity"
)
CONSUMERS = operation(
    "insight:consumers", "List consumers with their allocations.", "GET /insight/consumers"
)
FINDINGS = operation(
    "insight:findings", "List what an audit of the database finds.", "GET /insight/findings"
)
IDENTITY = operation(
    "insight:identity",
    "List the providers that a host name or UUID could mean.",
    "GET /insight/identity",
)
CLIENTS = operation(
    "insight:clients",
    "List which microversions the clients of an API host send.",
    "GET /insight/clients",
)
PERMISSIONS = operation(
    "insight:permissions",
    "List which calls of other services the policy allows a set of roles.",
    "GET /insight/permissions",
)
