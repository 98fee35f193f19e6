"""Which aggregates a provider is associated with; aggregates are nothing but a UUID."""

from collections.abc import Iterable, Sequence
from dataclasses import replace as with_values
from typing import Any

from placement import exception
from placement.core.model import Provider, ProviderAggregates
from placement.core.storable_text import check_storable
from placement.db.store import Store
from placement.objects.provider import found, locked

LONGEST = 36


def of_provider(store: Store, uuid: str) -> ProviderAggregates:
    """Return the aggregates of the provider.  Raises: ProviderNotFound."""
    with store.read() as tx:
        provider = found(tx, uuid)
        return ProviderAggregates(provider, tuple(tx.aggregates.of_provider(provider.id)))


def replace(
    store: Store, uuid: str, aggregates: Sequence[str], generation: int | None
) -> ProviderAggregates:
    """Associate the provider with exactly these aggregates, made as needed.

    With ``generation`` None (below 1.19) it is neither checked nor increased.
    Raises: ProviderNotFound, StaleGenerationPleaseUpdate, BadRequest for a UUID
    that is written longer than 36 characters, which is all that is kept.
    """
    provider = store.write(_replace, uuid, tuple(dict.fromkeys(aggregates)), generation)
    return ProviderAggregates(provider, tuple(aggregates))


def _replace(tx: Any, uuid: str, aggregates: Sequence[str], generation: int | None) -> Provider:
    provider = locked(tx, uuid)
    if generation is not None and generation != provider.generation:
        raise exception.StaleGenerationPleaseUpdate(provider.generation, generation)
    _check_length(aggregates)
    ids = tx.aggregates.ids(aggregates)
    missing = [aggregate for aggregate in aggregates if aggregate not in ids]
    if missing:
        ids |= tx.aggregates.make(missing)
    _associate(tx, provider.id, set(ids.values()))
    if generation is None:
        tx.publish([provider.id], names=bool(missing))
        return provider
    tx.publish(generation_bumped=[provider.id], names=bool(missing))
    return with_values(provider, generation=provider.generation + 1)


def _check_length(aggregates: Iterable[str]) -> None:
    for aggregate in aggregates:
        check_storable("aggregate", aggregate)
        if len(aggregate) > LONGEST:
            raise exception.BadRequest(
                f"The aggregate '{aggregate}' is longer than {LONGEST} characters; "
                "write its UUID with dashes and nothing else."
            )


def _associate(tx: Any, provider_id: int, wanted: set[int]) -> None:
    present = set(tx.aggregates.of_provider(provider_id).values())
    tx.aggregates.dissociate(provider_id, present - wanted)
    tx.aggregates.associate(provider_id, wanted - present)
