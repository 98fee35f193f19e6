"""Inventories as JSON."""

import json
from collections.abc import Mapping

from placement.core.model import Inventory

Fields = Mapping[str, float]


def fields(inventory: Inventory) -> Fields:
    """Return the six fields of an inventory by name."""
    return {
        "total": inventory.total,
        "reserved": inventory.reserved,
        "min_unit": inventory.min_unit,
        "max_unit": inventory.max_unit,
        "step_size": inventory.step_size,
        "allocation_ratio": inventory.allocation_ratio,
    }


def one(inventory: Fields, generation: int) -> bytes:
    """Return the body of one inventory of a provider at the generation."""
    return json.dumps({**inventory, "resource_provider_generation": generation}).encode("ascii")


def all_of_provider(inventories: Mapping[str, Fields], generation: int) -> bytes:
    """Return the body of the inventories of a provider, by class."""
    return json.dumps(
        {"inventories": inventories, "resource_provider_generation": generation}
    ).encode("ascii")
