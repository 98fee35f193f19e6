"""Inventories of one provider.

A write is refused when its generation is stale, and increases the provider's
generation by one; answers carry the provider as it is afterwards.
"""

from placement.core.model import Inventory, Provider, ProviderInventories, ReplaceInventories
from placement.db.store import Store


def list_of(store: Store, uuid: str) -> ProviderInventories:
    """Return all inventories of the provider.  Raises: ProviderNotFound."""
    raise NotImplementedError


def show(store: Store, uuid: str, resource_class: str) -> ProviderInventories:
    """Return the provider with just this inventory.  Raises: ProviderNotFound, InventoryNotFound."""
    raise NotImplementedError


def create(store: Store, uuid: str, resource_class: str, inventory: Inventory) -> Provider:
    """Add one inventory, whatever the generation.

    Raises: ProviderNotFound, UnknownClassCreatingInventory (400), InventoryExists (409 concurrent).
    """
    raise NotImplementedError


def replace(store: Store, command: ReplaceInventories) -> Provider:
    """Make the provider have exactly these inventories.

    Raises: ProviderNotFound, StaleProviderGeneration, UnknownClassInInventory, InventoryInUse.
    """
    raise NotImplementedError


def update(
    store: Store, uuid: str, generation: int, resource_class: str, inventory: Inventory
) -> Provider:
    """Change one inventory that is there.

    Raises: ProviderNotFound, StaleProviderGeneration, ResourceClassNotFound (404),
    NoInventoryRecord (400).
    """
    raise NotImplementedError


def delete(store: Store, uuid: str, resource_class: str) -> None:
    """Remove one inventory.

    Raises: ProviderNotFound, InventoryNotFoundForDelete (404), SingleInventoryInUse (409 concurrent).
    """
    raise NotImplementedError


def delete_all(store: Store, uuid: str) -> None:
    """Remove all inventories; the generation grows even if there were none.

    Raises: ProviderNotFound, InventoryInUse.
    """
    raise NotImplementedError
