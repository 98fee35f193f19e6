"""Inventories of a resource provider."""

from placement.policies import base

PREFIX = "placement:resource_providers:inventories:"
LIST = PREFIX + "list"
CREATE = PREFIX + "create"
SHOW = PREFIX + "show"
UPDATE = PREFIX + "update"
DELETE = PREFIX + "delete"

RULES = (
    base.operation(
        LIST,
        "List the inventories of a resource provider.",
        ("GET", "/resource_providers/{uuid}/inventories"),
    ),
    base.operation(
        CREATE,
        "Add an inventory to a resource provider.",
        ("POST", "/resource_providers/{uuid}/inventories"),
    ),
    base.operation(
        SHOW,
        "Show one inventory of a resource provider.",
        ("GET", "/resource_providers/{uuid}/inventories/{resource_class}"),
    ),
    base.operation(
        UPDATE,
        "Change one inventory of a resource provider, or replace all of them.",
        ("PUT", "/resource_providers/{uuid}/inventories"),
        ("PUT", "/resource_providers/{uuid}/inventories/{resource_class}"),
    ),
    base.operation(
        DELETE,
        "Delete one inventory of a resource provider, or all of them.",
        ("DELETE", "/resource_providers/{uuid}/inventories"),
        ("DELETE", "/resource_providers/{uuid}/inventories/{resource_class}"),
    ),
)
