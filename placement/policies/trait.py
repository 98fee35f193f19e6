"""Traits, and the traits of a resource provider."""

from placement.policies import base

LIST = "placement:traits:list"
SHOW = "placement:traits:show"
UPDATE = "placement:traits:update"
DELETE = "placement:traits:delete"
LIST_OF_PROVIDER = "placement:resource_providers:traits:list"
UPDATE_OF_PROVIDER = "placement:resource_providers:traits:update"
DELETE_OF_PROVIDER = "placement:resource_providers:traits:delete"

_OF_PROVIDER = "/resource_providers/{uuid}/traits"

RULES = (
    base.operation(LIST, "List traits.", ("GET", "/traits")),
    base.operation(SHOW, "Show whether a trait exists.", ("GET", "/traits/{name}")),
    base.operation(UPDATE, "Make sure that a custom trait exists.", ("PUT", "/traits/{name}")),
    base.operation(DELETE, "Delete a custom trait.", ("DELETE", "/traits/{name}")),
    base.operation(
        LIST_OF_PROVIDER, "List the traits of a resource provider.", ("GET", _OF_PROVIDER)
    ),
    base.operation(
        UPDATE_OF_PROVIDER, "Replace the traits of a resource provider.", ("PUT", _OF_PROVIDER)
    ),
    base.operation(
        DELETE_OF_PROVIDER,
        "Take all traits from a resource provider.",
        ("DELETE", _OF_PROVIDER),
    ),
)
