"""Resource classes and traits as JSON; links begin with the mount prefix."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

from placement.core.model import ProviderTraits


def resource_class(name: str, prefix: str) -> bytes:
    """Return the body of one class."""
    return json.dumps(_named(name, prefix)).encode("ascii")


def resource_classes(names: Iterable[str], prefix: str) -> bytes:
    """Return the body of GET /resource_classes."""
    return json.dumps({"resource_classes": [_named(name, prefix) for name in names]}).encode(
        "ascii"
    )


def _named(name: str, prefix: str) -> dict[str, Any]:
    href = f"{prefix}/resource_classes/{name}"
    return {"name": name, "links": [{"rel": "self", "href": href}]}


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
