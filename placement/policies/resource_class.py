"""Resource classes."""

from placement.policies import base

PREFIX = "placement:resource_classes:"
LIST = PREFIX + "list"
CREATE = PREFIX + "create"
SHOW = PREFIX + "show"
UPDATE = PREFIX + "update"
DELETE = PREFIX + "delete"

RULES = (
    base.operation(LIST, "List resource classes.", ("GET", "/resource_classes")),
    base.operation(CREATE, "Create a resource class.", ("POST", "/resource_classes")),
    base.operation(SHOW, "Show a resource class.", ("GET", "/resource_classes/{name}")),
    base.operation(
        UPDATE,
        "Rename a resource class, or make sure that it exists.",
        ("PUT", "/resource_classes/{name}"),
    ),
    base.operation(DELETE, "Delete a resource class.", ("DELETE", "/resource_classes/{name}")),
)
