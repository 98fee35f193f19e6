"""The policy rules of the Placement API: each rule is a name that handlers check."""

from placement.policies import base

_PROVIDERS = "placement:resource_providers:"
LIST_PROVIDERS = _PROVIDERS + "list"
CREATE_PROVIDER = _PROVIDERS + "create"
SHOW_PROVIDER = _PROVIDERS + "show"
UPDATE_PROVIDER = _PROVIDERS + "update"
DELETE_PROVIDER = _PROVIDERS + "delete"

_RESOURCE_PROVIDER_RULES = (
    base.operation(LIST_PROVIDERS, "List resource providers.", ("GET", "/resource_providers")),
    base.operation(
        CREATE_PROVIDER, "Create a resource provider.", ("POST", "/resource_providers")
    ),
    base.operation(
        SHOW_PROVIDER, "Show a resource provider.", ("GET", "/resource_providers/{uuid}")
    ),
    base.operation(
        UPDATE_PROVIDER,
        "Rename a resource provider, or move it to another parent.",
        ("PUT", "/resource_providers/{uuid}"),
    ),
    base.operation(
        DELETE_PROVIDER, "Delete a resource provider.", ("DELETE", "/resource_providers/{uuid}")
    ),
)


_CLASSES = "placement:resource_classes:"
LIST_CLASSES = _CLASSES + "list"
CREATE_CLASS = _CLASSES + "create"
SHOW_CLASS = _CLASSES + "show"
UPDATE_CLASS = _CLASSES + "update"
DELETE_CLASS = _CLASSES + "delete"

_RESOURCE_CLASS_RULES = (
    base.operation(LIST_CLASSES, "List resource classes.", ("GET", "/resource_classes")),
    base.operation(CREATE_CLASS, "Create a resource class.", ("POST", "/resource_classes")),
    base.operation(SHOW_CLASS, "Show a resource class.", ("GET", "/resource_classes/{name}")),
    base.operation(
        UPDATE_CLASS,
        "Rename a resource class, or make sure that it exists.",
        ("PUT", "/resource_classes/{name}"),
    ),
    base.operation(
        DELETE_CLASS, "Delete a resource class.", ("DELETE", "/resource_classes/{name}")
    ),
)


_INVENTORIES = "placement:resource_providers:inventories:"
LIST_INVENTORIES = _INVENTORIES + "list"
CREATE_INVENTORY = _INVENTORIES + "create"
SHOW_INVENTORY = _INVENTORIES + "show"
UPDATE_INVENTORY = _INVENTORIES + "update"
DELETE_INVENTORY = _INVENTORIES + "delete"

_INVENTORY_RULES = (
    base.operation(
        LIST_INVENTORIES,
        "List the inventories of a resource provider.",
        ("GET", "/resource_providers/{uuid}/inventories"),
    ),
    base.operation(
        CREATE_INVENTORY,
        "Add an inventory to a resource provider.",
        ("POST", "/resource_providers/{uuid}/inventories"),
    ),
    base.operation(
        SHOW_INVENTORY,
        "Show one inventory of a resource provider.",
        ("GET", "/resource_providers/{uuid}/inventories/{resource_class}"),
    ),
    base.operation(
        UPDATE_INVENTORY,
        "Change one inventory of a resource provider, or replace all of them.",
        ("PUT", "/resource_providers/{uuid}/inventories"),
        ("PUT", "/resource_providers/{uuid}/inventories/{resource_class}"),
    ),
    base.operation(
        DELETE_INVENTORY,
        "Delete one inventory of a resource provider, or all of them.",
        ("DELETE", "/resource_providers/{uuid}/inventories"),
        ("DELETE", "/resource_providers/{uuid}/inventories/{resource_class}"),
    ),
)


_AGGREGATES = "placement:resource_providers:aggregates:"
LIST_AGGREGATES = _AGGREGATES + "list"
UPDATE_AGGREGATES = _AGGREGATES + "update"

_AGGREGATE_RULES = (
    base.operation(
        LIST_AGGREGATES,
        "List the aggregates of a resource provider.",
        ("GET", "/resource_providers/{uuid}/aggregates"),
    ),
    base.operation(
        UPDATE_AGGREGATES,
        "Replace the aggregates of a resource provider.",
        ("PUT", "/resource_providers/{uuid}/aggregates"),
    ),
)


SHOW_USAGES_OF_PROVIDER = "placement:resource_providers:usages"
SHOW_USAGES_OF_PROJECT = "placement:usages"

_USAGE_RULES = (
    base.operation(
        SHOW_USAGES_OF_PROVIDER,
        "Show what is used on a resource provider.",
        ("GET", "/resource_providers/{uuid}/usages"),
    ),
    base.operation(
        SHOW_USAGES_OF_PROJECT,
        "Show what a project uses; a reader of that project may, too.",
        ("GET", "/usages"),
        check=base.ADMIN_OR_PROJECT_READER_OR_SERVICE,
    ),
)


LIST_TRAITS = "placement:traits:list"
SHOW_TRAIT = "placement:traits:show"
UPDATE_TRAIT = "placement:traits:update"
DELETE_TRAIT = "placement:traits:delete"
LIST_TRAITS_OF_PROVIDER = "placement:resource_providers:traits:list"
UPDATE_TRAITS_OF_PROVIDER = "placement:resource_providers:traits:update"
DELETE_TRAITS_OF_PROVIDER = "placement:resource_providers:traits:delete"

_OF_PROVIDER = "/resource_providers/{uuid}/traits"

_TRAIT_RULES = (
    base.operation(LIST_TRAITS, "List traits.", ("GET", "/traits")),
    base.operation(SHOW_TRAIT, "Show whether a trait exists.", ("GET", "/traits/{name}")),
    base.operation(
        UPDATE_TRAIT, "Make sure that a custom trait exists.", ("PUT", "/traits/{name}")
    ),
    base.operation(DELETE_TRAIT, "Delete a custom trait.", ("DELETE", "/traits/{name}")),
    base.operation(
        LIST_TRAITS_OF_PROVIDER, "List the traits of a resource provider.", ("GET", _OF_PROVIDER)
    ),
    base.operation(
        UPDATE_TRAITS_OF_PROVIDER,
        "Replace the traits of a resource provider.",
        ("PUT", _OF_PROVIDER),
    ),
    base.operation(
        DELETE_TRAITS_OF_PROVIDER,
        "Take all traits from a resource provider.",
        ("DELETE", _OF_PROVIDER),
    ),
)


MANAGE_ALLOCATIONS = "placement:allocations:manage"
LIST_ALLOCATIONS = "placement:allocations:list"
UPDATE_ALLOCATIONS = "placement:allocations:update"
DELETE_ALLOCATIONS = "placement:allocations:delete"
LIST_ALLOCATIONS_OF_PROVIDER = "placement:resource_providers:allocations:list"

_OF_CONSUMER = "/allocations/{consumer_uuid}"

_ALLOCATION_RULES = (
    base.operation(
        MANAGE_ALLOCATIONS,
        "Replace the allocations of several consumers.",
        ("POST", "/allocations"),
    ),
    base.operation(LIST_ALLOCATIONS, "List the allocations of a consumer.", ("GET", _OF_CONSUMER)),
    base.operation(
        UPDATE_ALLOCATIONS, "Replace the allocations of a consumer.", ("PUT", _OF_CONSUMER)
    ),
    base.operation(
        DELETE_ALLOCATIONS, "Delete the allocations of a consumer.", ("DELETE", _OF_CONSUMER)
    ),
    base.operation(
        LIST_ALLOCATIONS_OF_PROVIDER,
        "List the allocations on a resource provider.",
        ("GET", "/resource_providers/{uuid}/allocations"),
    ),
)


_CANDIDATES = "placement:allocation_candidates:"
LIST_CANDIDATES = _CANDIDATES + "list"

_ALLOCATION_CANDIDATE_RULES = (
    base.operation(
        LIST_CANDIDATES, "List allocation candidates.", ("GET", "/allocation_candidates")
    ),
)


RESHAPE = "placement:reshaper:reshape"

_RESHAPER_RULES = (
    base.operation(
        RESHAPE,
        "Move inventories and allocations between the providers of a tree.",
        ("POST", "/reshaper"),
        check=base.SERVICE,
    ),
)

RULES = (
    *_RESOURCE_PROVIDER_RULES,
    *_RESOURCE_CLASS_RULES,
    *_INVENTORY_RULES,
    *_AGGREGATE_RULES,
    *_USAGE_RULES,
    *_TRAIT_RULES,
    *_ALLOCATION_RULES,
    *_ALLOCATION_CANDIDATE_RULES,
    *_RESHAPER_RULES,
)
