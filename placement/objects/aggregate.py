"""Which aggregates a provider is associated with; aggregates are nothing but a UUID."""

from collections.abc import Sequence

from placement.core.model import ProviderAggregates
from placement.db.store import Store


def of_provider(store: Store, uuid: str) -> ProviderAggregates:
    """Return the aggregates of the provider.  Raises: ProviderNotFound."""
    raise NotImplementedError


def replace(
    store: Store, uuid: str, aggregates: Sequence[str], generation: int | None
) -> ProviderAggregates:
    """Associate the provider with exactly these aggregates, made as needed.

    With ``generation`` None (below 1.19) it is neither checked nor increased.
    Raises: ProviderNotFound, StaleGenerationPleaseUpdate.
    """
    raise NotImplementedError
