"""Parses bodies that write inventories.

JSON has no integers: ``16``, ``16.0`` and ``1.6e1`` are the same number. It is stored as an
integer, and returned as the client wrote it.
"""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from placement.core.model import Inventory, ReplaceInventories
from placement.microversion import Version
from placement.parse import validation
from placement.schemas import resource_provider

_CREATE = validation.body_validators(resource_provider.CREATE_INVENTORY)
_UPDATE = validation.body_validators(resource_provider.UPDATE_INVENTORY)
_REPLACE = validation.body_validators(resource_provider.REPLACE_INVENTORIES)

AsWritten = Mapping[str, float]
"""The six fields of an inventory as the client wrote them, or their defaults."""

_DEFAULTS: AsWritten = asdict(Inventory(total=0))


def minimum_capacity(version: Version) -> int:
    """Return the least capacity of an inventory: 0, before 1.26 1.

    The capacity is negative if more than the total is reserved, and 0 if all of it is.
    """
    return 0 if version >= (1, 26) else 1


def creation(document: Any, version: Version) -> tuple[str, Inventory, AsWritten]:
    """Return the class and the inventory to add to a provider.  Raises: BadRequest."""
    validation.validate(_CREATE, document, version)
    written = _written(document)
    return document["resource_class"], _inventory(written), written


def update(document: Any, version: Version) -> tuple[int, Inventory, AsWritten]:
    """Return the provider generation in a body, and the new values of one inventory.

    Raises: BadRequest.
    """
    validation.validate(_UPDATE, document, version)
    written = _written(document)
    return int(document["resource_provider_generation"]), _inventory(written), written


def replacement(
    provider_uuid: str, document: Any, version: Version
) -> tuple[ReplaceInventories, Mapping[str, AsWritten]]:
    """Return all new inventories of a provider, by class as written.  Raises: BadRequest."""
    validation.validate(_REPLACE, document, version)
    written = {name: _written(record) for name, record in document["inventories"].items()}
    return all_of_provider(provider_uuid, document), written


def all_of_provider(provider_uuid: str, document: Any) -> ReplaceInventories:
    """Return the command in a validated document."""
    return ReplaceInventories(
        provider_uuid,
        int(document["resource_provider_generation"]),
        {name: _inventory(_written(fields)) for name, fields in document["inventories"].items()},
    )


def _written(document: Any) -> AsWritten:
    return {field: document.get(field, default) for field, default in _DEFAULTS.items()}


def _inventory(written: AsWritten) -> Inventory:
    return Inventory(
        total=int(written["total"]),
        reserved=int(written["reserved"]),
        min_unit=int(written["min_unit"]),
        max_unit=int(written["max_unit"]),
        step_size=int(written["step_size"]),
        allocation_ratio=float(written["allocation_ratio"]),
    )
