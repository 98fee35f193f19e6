"""Allocations as JSON: of a consumer by provider, and on a provider by consumer."""

import json
from typing import Any

from placement.core.model import Consumer, ConsumerAllocations, ProviderAllocations
from placement.microversion import Version

UNKNOWN_TYPE = "unknown"


def of_consumer(found: ConsumerAllocations, version: Version) -> bytes:
    """Return the body of GET /allocations/{consumer_uuid}.

    A consumer is described only if it holds something.
    """
    document: dict[str, Any] = {
        "allocations": {
            uuid: {"resources": dict(holding.resources), "generation": holding.generation}
            for uuid, holding in found.allocations.items()
        }
    }
    if found.consumer is not None:
        document |= _described(found.consumer, version)
    return json.dumps(document).encode("ascii")


def _described(consumer: Consumer, version: Version) -> dict[str, Any]:
    told: dict[str, Any] = {}
    if version >= (1, 12):
        told |= {"project_id": consumer.project_id, "user_id": consumer.user_id}
    if version >= (1, 28):
        told["consumer_generation"] = consumer.generation
    if version >= (1, 38):
        told["consumer_type"] = consumer.type or UNKNOWN_TYPE
    return told


def on_provider(found: ProviderAllocations, version: Version) -> bytes:
    """Return the body of GET /resource_providers/{uuid}/allocations."""
    allocations: dict[str, dict[str, Any]] = {
        uuid: {"resources": dict(holding.resources)} for uuid, holding in found.allocations.items()
    }
    if version >= (1, 28):
        for uuid, holding in found.allocations.items():
            allocations[uuid]["consumer_generation"] = holding.generation
    return json.dumps(
        {
            "allocations": allocations,
            "resource_provider_generation": found.provider.generation,
        }
    ).encode("ascii")
