"""The policy rules of the Placement API: each is a constant that handlers check."""

from placement.policies import base

LIST_PROVIDERS = base.operation(
    "resource_providers:list", "List resource providers.", "GET /resource_providers"
)
CREATE_PROVIDER = base.operation(
    "resource_providers:create", "Create a resource provider.", "POST /resource_providers"
)
SHOW_PROVIDER = base.operation(
    "resource_providers:show", "Show a resource provider.", "GET /resource_providers/{uuid}"
)
UPDATE_PROVIDER = base.operation(
    "resource_providers:update",
    "Rename a resource provider, or move it to another parent.",
    "PUT /resource_providers/{uuid}",
)
DELETE_PROVIDER = base.operation(
    "resource_providers:delete", "Delete a resource provider.", "DELETE /resource_providers/{uuid}"
)
LIST_CLASSES = base.operation(
    "resource_classes:list", "List resource classes.", "GET /resource_classes"
)
CREATE_CLASS = base.operation(
    "resource_classes:create", "Create a resource class.", "POST /resource_classes"
)
SHOW_CLASS = base.operation(
    "resource_classes:show", "Show a resource class.", "GET /resource_classes/{name}"
)
UPDATE_CLASS = base.operation(
    "resource_classes:update",
    "Rename a resource class, or make sure that it exists.",
    "PUT /resource_classes/{name}",
)
DELETE_CLASS = base.operation(
    "resource_classes:delete", "Delete a resource class.", "DELETE /resource_classes/{name}"
)
LIST_INVENTORIES = base.operation(
    "resource_providers:inventories:list",
    "List the inventories of a resource provider.",
    "GET /resource_providers/{uuid}/inventories",
)
CREATE_INVENTORY = base.operation(
    "resource_providers:inventories:create",
    "Add an inventory to a resource provider.",
    "POST /resource_providers/{uuid}/inventories",
)
SHOW_INVENTORY = base.operation(
    "resource_providers:inventories:show",
    "Show one inventory of a resource provider.",
    "GET /resource_providers/{uuid}/inventories/{resource_class}",
)
UPDATE_INVENTORY = base.operation(
    "resource_providers:inventories:update",
    "Change one inventory of a resource provider, or replace all of them.",
    "PUT /resource_providers/{uuid}/inventories",
    "PUT /resource_providers/{uuid}/inventories/{resource_class}",
)
DELETE_INVENTORY = base.operation(
    "resource_providers:inventories:delete",
    "Delete one inventory of a resource provider, or all of them.",
    "DELETE /resource_providers/{uuid}/inventories",
    "DELETE /resource_providers/{uuid}/inventories/{resource_class}",
)
LIST_AGGREGATES = base.operation(
    "resource_providers:aggregates:list",
    "List the aggregates of a resource provider.",
    "GET /resource_providers/{uuid}/aggregates",
)
UPDATE_AGGREGATES = base.operation(
    "resource_providers:aggregates:update",
    "Replace the aggregates of a resource provider.",
    "PUT /resource_providers/{uuid}/aggregates",
)
SHOW_USAGES_OF_PROVIDER = base.operation(
    "resource_providers:usages",
    "Show what is used on a resource provider.",
    "GET /resource_providers/{uuid}/usages",
)
SHOW_USAGES_OF_PROJECT = base.operation(
    "usages",
    "Show what a project uses; also allowed to readers of that project.",
    "GET /usages",
    check=base.ADMIN_OR_PROJECT_READER_OR_SERVICE,
)
LIST_TRAITS = base.operation("traits:list", "List traits.", "GET /traits")
SHOW_TRAIT = base.operation("traits:show", "Show whether a trait exists.", "GET /traits/{name}")
UPDATE_TRAIT = base.operation(
    "traits:update", "Make sure that a custom trait exists.", "PUT /traits/{name}"
)
DELETE_TRAIT = base.operation("traits:delete", "Delete a custom trait.", "DELETE /traits/{name}")
LIST_TRAITS_OF_PROVIDER = base.operation(
    "resource_providers:traits:list",
    "List the traits of a resource provider.",
    "GET /resource_providers/{uuid}/traits",
)
UPDATE_TRAITS_OF_PROVIDER = base.operation(
    "resource_providers:traits:update",
    "Replace the traits of a resource provider.",
    "PUT /resource_providers/{uuid}/traits",
)
DELETE_TRAITS_OF_PROVIDER = base.operation(
    "resource_providers:traits:delete",
    "Take all traits from a resource provider.",
    "DELETE /resource_providers/{uuid}/traits",
)
MANAGE_ALLOCATIONS = base.operation(
    "allocations:manage", "Replace the allocations of several consumers.", "POST /allocations"
)
LIST_ALLOCATIONS = base.operation(
    "allocations:list", "List the allocations of a consumer.", "GET /allocations/{consumer_uuid}"
)
UPDATE_ALLOCATIONS = base.operation(
    "allocations:update",
    "Replace the allocations of a consumer.",
    "PUT /allocations/{consumer_uuid}",
)
DELETE_ALLOCATIONS = base.operation(
    "allocations:delete",
    "Delete the allocations of a consumer.",
    "DELETE /allocations/{consumer_uuid}",
)
LIST_ALLOCATIONS_OF_PROVIDER = base.operation(
    "resource_providers:allocations:list",
    "List the allocations on a resource provider.",
    "GET /resource_providers/{uuid}/allocations",
)
LIST_CANDIDATES = base.operation(
    "allocation_candidates:list", "List allocation candidates.", "GET /allocation_candidates"
)
RESHAPE = base.operation(
    "reshaper:reshape",
    "Move inventories and allocations between the providers of a tree.",
    "POST /reshaper",
    check=base.SERVICE,
)
