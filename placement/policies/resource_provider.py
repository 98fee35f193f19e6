"""Resource providers."""

from placement.policies import base

PREFIX = "placement:resource_providers:"
LIST = PREFIX + "list"
CREATE = PREFIX + "create"
SHOW = PREFIX + "show"
UPDATE = PREFIX + "update"
DELETE = PREFIX + "delete"

RULES = (
    base.operation(LIST, "List resource providers.", ("GET", "/resource_providers")),
    base.operation(CREATE, "Create a resource provider.", ("POST", "/resource_providers")),
    base.operation(SHOW, "Show a resource provider.", ("GET", "/resource_providers/{uuid}")),
    base.operation(
        UPDATE,
        "Rename a resource provider, or move it to another parent.",
        ("PUT", "/resource_providers/{uuid}"),
    ),
    base.operation(
        DELETE, "Delete a resource provider.", ("DELETE", "/resource_providers/{uuid}")
    ),
)
