"""Allocations and usages as JSON."""

import json
from collections.abc import Mapping
from typing import Any

from placement.core.model import (
    Consumer,
    ConsumerAllocations,
    ProviderAllocations,
    ProviderUsages,
    TypeUsage,
)
from placement.microversion import Version

UNKNOWN_TYPE = "unknown"


def of_consumer(consumer_allocations: ConsumerAllocations, version: Version) -> bytes:
    """Return the body of GET /allocations/{consumer_uuid}.

    A consumer without allocations is not described.
    """
    document: dict[str, Any] = {
        "allocations": {
            uuid: {"resources": dict(entry.resources), "generation": entry.generation}
            for uuid, entry in consumer_allocations.allocations.items()
        }
    }
    if consumer_allocations.consumer is not None:
        document |= _describe(consumer_allocations.consumer, version)
    return json.dumps(document).encode("ascii")


def _describe(consumer: Consumer, version: Version) -> dict[str, Any]:
    attributes: dict[str, Any] = {}
    if version >= (1, 12):
        attributes |= {"project_id": consumer.project_id, "user_id": consumer.user_id}
    if version >= (1, 28):
        attributes["consumer_generation"] = consumer.generation
    if version >= (1, 38):
        attributes["consumer_type"] = consumer.type or UNKNOWN_TYPE
    return attributes


def on_provider(provider_allocations: ProviderAllocations, version: Version) -> bytes:
    """Return the body of GET /resource_providers/{uuid}/allocations."""
    allocations: dict[str, dict[str, Any]] = {
        uuid: {"resources": dict(entry.resources)}
        for uuid, entry in provider_allocations.allocations.items()
    }
    if version >= (1, 28):
        for uuid, entry in provider_allocations.allocations.items():
            allocations[uuid]["consumer_generation"] = entry.generation
    return json.dumps(
        {
            "allocations": allocations,
            "resource_provider_generation": provider_allocations.provider.generation,
        }
    ).encode("ascii")


def of_provider(provider_usages: ProviderUsages) -> bytes:
    """Return the body of the usages of a provider."""
    return json.dumps(
        {
            "usages": dict(provider_usages.usages),
            "resource_provider_generation": provider_usages.provider.generation,
        }
    ).encode("ascii")


def of_project(usages: Mapping[str, int]) -> bytes:
    """Return the body of the usage of a project, by class (1.9 to 1.37)."""
    return json.dumps({"usages": dict(usages)}).encode("ascii")


def of_project_by_type(usages: Mapping[str, TypeUsage]) -> bytes:
    """Return the body of the usage of a project, by consumer type and class (1.38)."""
    by_type = {
        name: {"consumer_count": usage.consumer_count, **usage.resources}
        for name, usage in usages.items()
    }
    return json.dumps({"usages": by_type}).encode("ascii")
