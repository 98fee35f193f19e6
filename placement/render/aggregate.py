"""Aggregates of a provider as JSON."""

import json

from placement.core.model import ProviderAggregates
from placement.microversion import Version


def of_provider(association: ProviderAggregates, version: Version) -> bytes:
    """Return the body of the aggregates of a provider; with the generation since 1.19."""
    document: dict[str, object] = {"aggregates": association.aggregates}
    if version >= (1, 19):
        document["resource_provider_generation"] = association.provider.generation
    return json.dumps(document).encode("ascii")
