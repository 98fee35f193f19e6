"""The aggregates that a provider is associated with; an aggregate is only a UUID."""

from collections.abc import Sequence

from placement import exception
from placement.core.changes import AggregatesChange, of_names
from placement.core.model import ProviderAggregates
from placement.db.store import Store, write_transaction
from placement.db.transaction import Transaction
from placement.objects.provider import locked


def of_provider(store: Store, uuid: str) -> ProviderAggregates:
    """Return the aggregates of the provider.  Raises: ProviderNotFound."""
    return store.read_once(lambda tx: tx.providers.aggregates(uuid))


@write_transaction
def replace(
    tx: Transaction, uuid: str, aggregates: Sequence[str], generation: int | None
) -> ProviderAggregates:
    """Associate the provider with exactly these aggregates, which are created as needed.

    With ``generation`` None (below 1.19) it is neither checked nor increased.
    The aggregates are distinct.
    Raises: ProviderNotFound, StaleGenerationPleaseUpdate.
    """
    provider = locked(tx, uuid)
    if generation is not None and generation != provider.generation:
        raise exception.StaleGenerationPleaseUpdate(uuid, provider.generation, generation)
    replaced = tx.providers.replace_aggregates(provider.id, aggregates)
    changes = of_names(AggregatesChange, provider, replaced.names)
    if generation is None:
        tx.publish([provider.id], changes=changes)
        return ProviderAggregates(provider.generation, tuple(aggregates))
    tx.publish(generation_bumped=[provider.id], changes=changes)
    return ProviderAggregates(provider.generation + 1, tuple(aggregates))
