"""Parses bodies that write inventories.

JSON has no integers: ``16``, ``16.0`` and ``1.6e1`` are the same number. It is stored as an
integer, and returned as the client wrote it.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from placement.core.model import MAX_INT, Inventory, ReplaceInventories
from placement.microversion import Version
from placement.parse import validation
from placement.schemas import resource_provider

_CREATE = validation.body_validators(resource_provider.CREATE_INVENTORY)
_UPDATE = validation.body_validators(resource_provider.UPDATE_INVENTORY)
_REPLACE = validation.body_validators(resource_provider.REPLACE_INVENTORIES)

AsWritten = Mapping[str, float]
"""The six fields of an inventory as the client wrote them, or their defaults."""

_DEFAULTS: AsWritten = {
    "reserved": 0,
    "min_unit": 1,
    "max_unit": MAX_INT,
    "step_size": 1,
    "allocation_ratio": 1.0,
}


class NewInventory(NamedTuple):
    """One inventory to be added or changed, parsed and as the client wrote it."""

    resource_class: str
    inventory: Inventory
    as_written: AsWritten


class Replacement(NamedTuple):
    """All inventories of a provider, parsed and as the client wrote them."""

    command: ReplaceInventories
    as_written: Mapping[str, AsWritten]


def minimum_capacity(version: Version) -> int:
    """Return the least capacity of an inventory: 0, before 1.26 1.

    The capacity is negative if more than the total is reserved, and 0 if all of it is.
    """
    return 0 if version >= (1, 26) else 1


def creation(document: Any, version: Version) -> NewInventory:
    """Return the inventory to add to a provider.  Raises: BadRequest."""
    validation.validate(_CREATE, document, version)
    return _new(document["resource_class"], document)


def update(resource_class: str, document: Any, version: Version) -> tuple[int, NewInventory]:
    """Return the provider generation in a body, and the new values of one inventory.

    Raises: BadRequest.
    """
    validation.validate(_UPDATE, document, version)
    generation = int(document["resource_provider_generation"])
    return generation, _new(resource_class, document)


def replacement(provider_uuid: str, document: Any, version: Version) -> Replacement:
    """Return all new inventories of a provider.  Raises: BadRequest."""
    validation.validate(_REPLACE, document, version)
    command = all_of_provider(provider_uuid, document)
    written = {name: _written(record) for name, record in document["inventories"].items()}
    return Replacement(command, written)


def all_of_provider(provider_uuid: str, document: Any) -> ReplaceInventories:
    """Return the command in a validated document."""
    return ReplaceInventories(
        provider_uuid,
        int(document["resource_provider_generation"]),
        {name: _inventory(_written(fields)) for name, fields in document["inventories"].items()},
    )


def _new(resource_class: str, document: Any) -> NewInventory:
    written = _written(document)
    return NewInventory(resource_class, _inventory(written), written)


def _written(document: Any) -> AsWritten:
    return {"total": document["total"]} | {
        field: document.get(field, default) for field, default in _DEFAULTS.items()
    }


def _inventory(written: AsWritten) -> Inventory:
    return Inventory(
        total=int(written["total"]),
        reserved=int(written["reserved"]),
        min_unit=int(written["min_unit"]),
        max_unit=int(written["max_unit"]),
        step_size=int(written["step_size"]),
        allocation_ratio=float(written["allocation_ratio"]),
    )
