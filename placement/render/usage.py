"""Usages as JSON."""

import json
from collections.abc import Mapping

from placement.core.model import ProviderUsages, TypeUsage


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
