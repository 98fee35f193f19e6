"""The policy rules of the Placement API: each rule is a name that handlers check."""

from placement.policies import base

_PROVIDERS = "placement:resource_providers:"
LIST_PROVIDERS = _PROVIDERS + "list"
CREATE_PROVIDER = _PROVIDERS + "create"
SHOW_PROVIDER = _PROVIDERS + "show"
UPDATE_PROVIDER = _PROVIDERS + "update"
DELETE_PROVIDER = _PROVIDERS + "delete"

_CLASSES = "placement:resource_classes:"
LIST_CLASSES = _CLASSES + "list"
CREATE_CLASS = _CLASSES + "create"
SHOW_CLASS = _CLASSES + "show"
UPDATE_CLASS = _CLASSES + "update"
DELETE_CLASS = _CLASSES + "delete"

_INVENTORIES = "placement:resource_providers:inventories:"
LIST_INVENTORIES = _INVENTORIES + "list"
CREATE_INVENTORY = _INVENTORIES + "create"
SHOW_INVENTORY = _INVENTORIES + "show"
UPDATE_INVENTORY = _INVENTORIES + "update"
DELETE_INVENTORY = _INVENTORIES + "delete"

_AGGREGATES = "placement:resource_providers:aggregates:"
LIST_AGGREGATES = _AGGREGATES + "list"
UPDATE_AGGREGATES = _AGGREGATES + "update"

SHOW_USAGES_OF_PROVIDER = "placement:resource_providers:usages"
SHOW_USAGES_OF_PROJECT = "placement:usages"

LIST_TRAITS = "placement:traits:list"
SHOW_TRAIT = "placement:traits:show"
UPDATE_TRAIT = "placement:traits:update"
DELETE_TRAIT = "placement:traits:delete"
LIST_TRAITS_OF_PROVIDER = "placement:resource_providers:traits:list"
UPDATE_TRAITS_OF_PROVIDER = "placement:resource_providers:traits:update"
DELETE_TRAITS_OF_PROVIDER = "placement:resource_providers:traits:delete"

MANAGE_ALLOCATIONS = "placement:allocations:manage"
LIST_ALLOCATIONS = "placement:allocations:list"
UPDATE_ALLOCATIONS = "placement:allocations:update"
DELETE_ALLOCATIONS = "placement:allocations:delete"
LIST_ALLOCATIONS_OF_PROVIDER = "placement:resource_providers:allocations:list"

LIST_CANDIDATES = "placement:allocation_candidates:list"
RESHAPE = "placement:reshaper:reshape"

RULES = (
    base.operation(LIST_PROVIDERS, "List resource providers.", "GET /resource_providers"),
    base.operation(CREATE_PROVIDER, "Create a resource provider.", "POST /resource_providers"),
    base.operation(SHOW_PROVIDER, "Show a resource provider.", "GET /resource_providers/{uuid}"),
    base.operation(
        UPDATE_PROVIDER,
        "Rename a resource provider, or move it to another parent.",
        "PUT /resource_providers/{uuid}",
    ),
    base.operation(
        DELETE_PROVIDER, "Delete a resource provider.", "DELETE /resource_providers/{uuid}"
    ),
    base.operation(LIST_CLASSES, "List resource classes.", "GET /resource_classes"),
    base.operation(CREATE_CLASS, "Create a resource class.", "POST /resource_classes"),
    base.operation(SHOW_CLASS, "Show a resource class.", "GET /resource_classes/{name}"),
    base.operation(
        UPDATE_CLASS,
        "Rename a resource class, or make sure that it exists.",
        "PUT /resource_classes/{name}",
    ),
    base.operation(DELETE_CLASS, "Delete a resource class.", "DELETE /resource_classes/{name}"),
    base.operation(
        LIST_INVENTORIES,
        "List the inventories of a resource provider.",
        "GET /resource_providers/{uuid}/inventories",
    ),
    base.operation(
        CREATE_INVENTORY,
        "Add an inventory to a resource provider.",
        "POST /resource_providers/{uuid}/inventories",
    ),
    base.operation(
        SHOW_INVENTORY,
        "Show one inventory of a resource provider.",
        "GET /resource_providers/{uuid}/inventories/{resource_class}",
    ),
    base.operation(
        UPDATE_INVENTORY,
        "Change one inventory of a resource provider, or replace all of them.",
        "PUT /resource_providers/{uuid}/inventories",
        "PUT /resource_providers/{uuid}/inventories/{resource_class}",
    ),
    base.operation(
        DELETE_INVENTORY,
        "Delete one inventory of a resource provider, or all of them.",
        "DELETE /resource_providers/{uuid}/inventories",
        "DELETE /resource_providers/{uuid}/inventories/{resource_class}",
    ),
    base.operation(
        LIST_AGGREGATES,
        "List the aggregates of a resource provider.",
        "GET /resource_providers/{uuid}/aggregates",
    ),
    base.operation(
        UPDATE_AGGREGATES,
        "Replace the aggregates of a resource provider.",
        "PUT /resource_providers/{uuid}/aggregates",
    ),
    base.operation(
        SHOW_USAGES_OF_PROVIDER,
        "Show what is used on a resource provider.",
        "GET /resource_providers/{uuid}/usages",
    ),
    base.operation(
        SHOW_USAGES_OF_PROJECT,
        "Show what a project uses; a reader of that project may, too.",
        "GET /usages",
        check=base.ADMIN_OR_PROJECT_READER_OR_SERVICE,
    ),
    base.operation(LIST_TRAITS, "List traits.", "GET /traits"),
    base.operation(SHOW_TRAIT, "Show whether a trait exists.", "GET /traits/{name}"),
    base.operation(UPDATE_TRAIT, "Make sure that a custom trait exists.", "PUT /traits/{name}"),
    base.operation(DELETE_TRAIT, "Delete a custom trait.", "DELETE /traits/{name}"),
    base.operation(
        LIST_TRAITS_OF_PROVIDER,
        "List the traits of a resource provider.",
        "GET /resource_providers/{uuid}/traits",
    ),
    base.operation(
        UPDATE_TRAITS_OF_PROVIDER,
        "Replace the traits of a resource provider.",
        "PUT /resource_providers/{uuid}/traits",
    ),
    base.operation(
        DELETE_TRAITS_OF_PROVIDER,
        "Take all traits from a resource provider.",
        "DELETE /resource_providers/{uuid}/traits",
    ),
    base.operation(
        MANAGE_ALLOCATIONS, "Replace the allocations of several consumers.", "POST /allocations"
    ),
    base.operation(
        LIST_ALLOCATIONS, "List the allocations of a consumer.", "GET /allocations/{consumer_uuid}"
    ),
    base.operation(
        UPDATE_ALLOCATIONS,
        "Replace the allocations of a consumer.",
        "PUT /allocations/{consumer_uuid}",
    ),
    base.operation(
        DELETE_ALLOCATIONS,
        "Delete the allocations of a consumer.",
        "DELETE /allocations/{consumer_uuid}",
    ),
    base.operation(
        LIST_ALLOCATIONS_OF_PROVIDER,
        "List the allocations on a resource provider.",
        "GET /resource_providers/{uuid}/allocations",
    ),
    base.operation(LIST_CANDIDATES, "List allocation candidates.", "GET /allocation_candidates"),
    base.operation(
        RESHAPE,
        "Move inventories and allocations between the providers of a tree.",
        "POST /reshaper",
        check=base.SERVICE,
    ),
)
