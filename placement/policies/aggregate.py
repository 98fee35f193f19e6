"""Aggregates of a resource provider."""

from placement.policies import base

PREFIX = "placement:resource_providers:aggregates:"
LIST = PREFIX + "list"
UPDATE = PREFIX + "update"

RULES = (
    base.operation(
        LIST,
        "List the aggregates of a resource provider.",
        ("GET", "/resource_providers/{uuid}/aggregates"),
    ),
    base.operation(
        UPDATE,
        "Replace the aggregates of a resource provider.",
        ("PUT", "/resource_providers/{uuid}/aggregates"),
    ),
)
