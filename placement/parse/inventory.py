"""What is written of inventories.

JSON knows no integers: ``16``, ``16.0`` and ``1.6e1`` are one number. It is stored as an
integer, and answered as the caller wrote it.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from placement import exception
from placement.core.capacity import integer_capacity
from placement.core.model import MAX_INT, Inventory, Provider, ReplaceInventories
from placement.microversion import Version
from placement.parse import body
from placement.schemas import inventory

_CREATE = body.validators(inventory.CREATE)
_UPDATE = body.validators(inventory.UPDATE)
_REPLACE = body.validators(inventory.REPLACE)

Written = Mapping[str, float]
"""The six fields of an inventory as the caller wrote them, or by default."""

_DEFAULTS: Written = {
    "reserved": 0,
    "min_unit": 1,
    "max_unit": MAX_INT,
    "step_size": 1,
    "allocation_ratio": 1.0,
}


class NewInventory(NamedTuple):
    """One inventory of a provider, to be added or changed, and how the caller wrote it."""

    resource_class: str
    inventory: Inventory
    written: Written


class Replacement(NamedTuple):
    """All inventories of a provider, and how the caller wrote each."""

    command: ReplaceInventories
    written: Mapping[str, Written]


def creation(provider_uuid: str, document: Any, version: Version) -> NewInventory:
    """Return the inventory that a body adds to the provider.

    Raises: BadRequest, NegativeCapacity.
    """
    body.checked(_CREATE, document, version)
    added = _new(document["resource_class"], document)
    _check_capacity("create", provider_uuid, {added.resource_class: added.inventory}, version)
    return added


def update(
    provider: Provider, resource_class: str, document: Any, version: Version
) -> tuple[int, NewInventory]:
    """Return the generation that a body names, and what it makes of one inventory.

    The generation is compared with that of the provider first, as a stale caller is told so
    before what is wrong with the amounts. It decides nothing: the write compares it again.

    Raises: BadRequest, StaleProviderGeneration, NegativeCapacity.
    """
    body.checked(_UPDATE, document, version)
    generation = _current_generation(provider, document)
    changed = _new(resource_class, document)
    _check_capacity("update", provider.uuid, {resource_class: changed.inventory}, version)
    return generation, changed


def replacement(provider: Provider, document: Any, version: Version) -> Replacement:
    """Return what a body makes of all inventories of a provider; see ``update``.

    Raises: BadRequest, StaleProviderGeneration, NegativeCapacity.
    """
    body.checked(_REPLACE, document, version)
    _current_generation(provider, document)
    command = all_of_provider(provider.uuid, document)
    _check_capacity("update", provider.uuid, command.inventories, version)
    written = {name: _written(record) for name, record in document["inventories"].items()}
    return Replacement(command, written)


def all_of_provider(provider_uuid: str, document: Any) -> ReplaceInventories:
    """Return the command in a document that is known to be valid."""
    return ReplaceInventories(
        provider_uuid,
        int(document["resource_provider_generation"]),
        {name: _inventory(_written(own)) for name, own in document["inventories"].items()},
    )


def _new(resource_class: str, document: Any) -> NewInventory:
    written = _written(document)
    return NewInventory(resource_class, _inventory(written), written)


def _written(document: Any) -> Written:
    return {"total": document["total"]} | {
        field: document.get(field, default) for field, default in _DEFAULTS.items()
    }


def _inventory(written: Written) -> Inventory:
    return Inventory(
        total=int(written["total"]),
        reserved=int(written["reserved"]),
        min_unit=int(written["min_unit"]),
        max_unit=int(written["max_unit"]),
        step_size=int(written["step_size"]),
        allocation_ratio=float(written["allocation_ratio"]),
    )


def _current_generation(provider: Provider, document: Any) -> int:
    given = int(document["resource_provider_generation"])
    if given != provider.generation:
        raise exception.StaleProviderGeneration(provider.uuid, provider.generation, given)
    return given


def _check_capacity(
    doing: str, provider_uuid: str, inventories: Mapping[str, Inventory], version: Version
) -> None:
    """Refuse inventories that reserve more than there is; before 1.26, all there is."""
    zero_refused = version < (1, 26)
    least = 1 if zero_refused else 0
    for name, inventory_ in inventories.items():
        if integer_capacity(inventory_) < least:
            raise exception.NegativeCapacity(provider_uuid, name, doing, zero_refused)
