"""Moving inventories between providers together with what is allocated on them."""

from placement.core.model import Reshape
from placement.db.store import Store


def reshape(store: Store, command: Reshape) -> None:
    """Apply inventories and allocations together, all or none (1.30).

    Raises: ReshapedProviderNotFound, StaleProviderGeneration, UnknownClassInReshape,
    InventoryInUse, and what ``allocation.replace`` raises.
    """
    raise NotImplementedError
