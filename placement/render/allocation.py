"""Allocations and usages as JSON documents."""

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


def of_consumer(consumer_allocations: ConsumerAllocations, version: Version) -> dict[str, Any]:
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
    return document


def _describe(consumer: Consumer, version: Version) -> dict[str, Any]:
    attributes: dict[str, Any] = {}
    if version >= (1, 12):
        attributes |= {"project_id": consumer.project_id, "user_id": consumer.user_id}
    if version >= (1, 28):
        attributes["consumer_generation"] = consumer.generation
    if version >= (1, 38):
        attributes["consumer_type"] = consumer.type or UNKNOWN_TYPE
    return attributes


def on_provider(provider_allocations: ProviderAllocations, version: Version) -> dict[str, Any]:
    """Return the body of GET /resource_providers/{uuid}/allocations."""
    allocations: dict[str, dict[str, Any]] = {
        uuid: {"resources": dict(entry.resources)}
        for uuid, entry in provider_allocations.allocations.items()
    }
    if version >= (1, 28):
        for uuid, entry in provider_allocations.allocations.items():
            allocations[uuid]["consumer_generation"] = entry.generation
    return {
        "allocations": allocations,
        "resource_provider_generation": provider_allocations.generation,
    }


def of_provider(provider_usages: ProviderUsages) -> dict[str, Any]:
    """Return the body of the usages of a provider."""
    return {
        "usages": dict(provider_usages.usages),
        "resource_provider_generation": provider_usages.generation,
    }


def of_project(usages: Mapping[str, int]) -> dict[str, Any]:
    """Return the body of the usage of a project, by class (1.9 to 1.37)."""
    return {"usages": dict(usages)}


def of_project_by_type(usages: Mapping[str, TypeUsage]) -> dict[str, Any]:
    """Return the body of the usage of a project, by consumer type and class (1.38)."""
    by_type = {
        name: {"consumer_count": usage.consumer_count, **usage.resources}
        for name, usage in usages.items()
    }
    return {"usages": by_type}
