"""Aggregates of a provider as JSON."""

import json

from placement.core.model import ProviderAggregates
from placement.microversion import Version


def of_provider(found: ProviderAggregates, version: Version) -> bytes:
    """Return the body of the aggregates of a provider; the generation is told since 1.19."""
    document: dict[str, object] = {"aggregates": found.aggregates}
    if version >= (1, 19):
        document["resource_provider_generation"] = found.provider.generation
    return json.dumps(document).encode("ascii")
