"""Resource classes and traits as JSON documents; links begin with the mount prefix."""

from collections.abc import Iterable, Sequence
from typing import Any

from placement.core.model import NameList


def resource_class(name: str, prefix: str) -> dict[str, Any]:
    """Return the body of one class."""
    href = f"{prefix}/resource_classes/{name}"
    return {"name": name, "links": [{"rel": "self", "href": href}]}


def resource_classes(names: Iterable[str], prefix: str) -> dict[str, Any]:
    """Return the body of GET /resource_classes."""
    return {"resource_classes": [resource_class(name, prefix) for name in names]}


def traits(names: Sequence[str]) -> dict[str, Any]:
    """Return the body of GET /traits."""
    return {"traits": names}


def of_provider(generation: int, traits: NameList) -> dict[str, Any]:
    """Return the body of the traits of a provider."""
    return {
        "traits": traits.names,
        "resource_provider_generation": generation,
    }
