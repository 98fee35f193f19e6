"""Parses bodies that write inventories.

JSON has no integers: ``16``, ``16.0`` and ``1.6e1`` are the same number, which is an integer here.
"""

from dataclasses import asdict
from typing import Any

from placement.core.model import CreateInventory, Inventory, ReplaceInventories, UpdateInventory
from placement.microversion import Version
from placement.parse import validation
from placement.schemas import resource_provider

_CREATE = validation.body_validators(resource_provider.CREATE_INVENTORY)
_UPDATE = validation.body_validators(resource_provider.UPDATE_INVENTORY)
_REPLACE = validation.body_validators(resource_provider.REPLACE_INVENTORIES)

_DEFAULTS = asdict(Inventory(total=0))


def creation(provider_uuid: str, document: Any, version: Version) -> CreateInventory:
    """Return the inventory to add to a provider.  Raises: BadRequest."""
    validation.validate(_CREATE, document, version)
    new = _inventory(document)
    return CreateInventory(
        provider_uuid, document["resource_class"], new, _minimum_capacity(version)
    )


def update(
    provider_uuid: str, resource_class: str, document: Any, version: Version
) -> UpdateInventory:
    """Return the new values of one inventory of a provider.  Raises: BadRequest."""
    validation.validate(_UPDATE, document, version)
    generation = int(document["resource_provider_generation"])
    new = _inventory(document)
    return UpdateInventory(
        provider_uuid, generation, resource_class, new, _minimum_capacity(version)
    )


def replacement(provider_uuid: str, document: Any, version: Version) -> ReplaceInventories:
    """Return all new inventories of a provider.  Raises: BadRequest."""
    validation.validate(_REPLACE, document, version)
    return all_of_provider(provider_uuid, document, _minimum_capacity(version))


def all_of_provider(
    provider_uuid: str, document: Any, minimum_capacity: int = 0
) -> ReplaceInventories:
    """Return the command in a validated document."""
    inventories = {name: _inventory(values) for name, values in document["inventories"].items()}
    generation = int(document["resource_provider_generation"])
    return ReplaceInventories(provider_uuid, generation, inventories, minimum_capacity)


def _minimum_capacity(version: Version) -> int:
    """Return the least capacity of an inventory: before 1.26, not all of the total is reserved."""
    return 0 if version >= (1, 26) else 1


def _inventory(document: Any) -> Inventory:
    """Return the inventory with the fields that a document has; others have their defaults."""
    new = _DEFAULTS | document
    return Inventory(
        total=int(new["total"]),
        reserved=int(new["reserved"]),
        min_unit=int(new["min_unit"]),
        max_unit=int(new["max_unit"]),
        step_size=int(new["step_size"]),
        allocation_ratio=float(new["allocation_ratio"]),
    )
