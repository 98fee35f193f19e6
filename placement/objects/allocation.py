"""Allocations: what consumers hold on providers."""

from placement.core.model import ConsumerAllocations, ProviderAllocations, ReplaceAllocations
from placement.db.store import Store


def of_consumer(store: Store, consumer_uuid: str) -> ConsumerAllocations:
    """Return what the consumer holds, nothing for one that is not known."""
    raise NotImplementedError


def of_provider(store: Store, uuid: str) -> ProviderAllocations:
    """Return what is held on the provider.  Raises: ProviderNotFound."""
    raise NotImplementedError


def replace(store: Store, command: ReplaceAllocations) -> None:
    """Make each consumer named hold exactly what its claim says, all or none.

    Raises: StaleConsumerGeneration, ProviderToAllocateNotFound, UnknownClassInAllocation,
    and the refusals of ``core.capacity``.
    """
    raise NotImplementedError


def delete(store: Store, consumer_uuid: str) -> None:
    """Give back everything the consumer holds, whatever any generation.

    Raises: NoAllocations.
    """
    raise NotImplementedError
