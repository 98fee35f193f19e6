"""Allocations: of a consumer, of several at once, and on a resource provider."""

from placement.policies import base

MANAGE = "placement:allocations:manage"
LIST = "placement:allocations:list"
UPDATE = "placement:allocations:update"
DELETE = "placement:allocations:delete"
LIST_OF_PROVIDER = "placement:resource_providers:allocations:list"

_OF_CONSUMER = "/allocations/{consumer_uuid}"

RULES = (
    base.operation(
        MANAGE, "Replace the allocations of several consumers.", ("POST", "/allocations")
    ),
    base.operation(LIST, "List the allocations of a consumer.", ("GET", _OF_CONSUMER)),
    base.operation(UPDATE, "Replace the allocations of a consumer.", ("PUT", _OF_CONSUMER)),
    base.operation(DELETE, "Delete the allocations of a consumer.", ("DELETE", _OF_CONSUMER)),
    base.operation(
        LIST_OF_PROVIDER,
        "List the allocations on a resource provider.",
        ("GET", "/resource_providers/{uuid}/allocations"),
    ),
)
