"""Traits as JSON."""

import json
from collections.abc import Sequence

from placement.core.model import ProviderTraits


def traits(names: Sequence[str]) -> bytes:
    """Return the body of GET /traits."""
    return json.dumps({"traits": names}).encode("ascii")


def of_provider(provider_traits: ProviderTraits) -> bytes:
    """Return the body of the traits of a provider."""
    return json.dumps(
        {
            "traits": provider_traits.traits,
            "resource_provider_generation": provider_traits.provider.generation,
        }
    ).encode("ascii")
