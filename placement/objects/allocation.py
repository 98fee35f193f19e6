"""Allocations: what consumers hold on providers.

A write locks the consumers, then the providers that they hold or ask for
something on, reads how these stand, decides in ``core.claims``, and writes.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from placement import exception
from placement.core.claims import (
    AllocationChanges,
    AllocationState,
    check_generations,
    check_providers,
    plan_claims,
)
from placement.core.model import (
    ConsumerAllocations,
    ConsumerClaim,
    ProviderAllocations,
    ReplaceAllocations,
)
from placement.core.storable_text import check_storable
from placement.db.store import Store
from placement.objects.provider import found


def of_consumer(store: Store, consumer_uuid: str) -> ConsumerAllocations:
    """Return what the consumer holds, nothing for one that is not known."""
    with store.read() as tx:
        return ConsumerAllocations(*tx.allocations.of_consumer(consumer_uuid))


def of_provider(store: Store, uuid: str) -> ProviderAllocations:
    """Return what is held on the provider.  Raises: ProviderNotFound."""
    with store.read() as tx:
        provider = found(tx, uuid)
        return ProviderAllocations(provider, *tx.allocations.on_provider(provider.id))


def replace(store: Store, command: ReplaceAllocations) -> None:
    """Make each consumer named hold exactly what its claim says, all or none.

    Raises: StaleConsumerGeneration, ProviderToAllocateNotFound, UnknownResourceClass (400),
    NotAllocatable, BadRequest for a project or user that no database can hold.
    """
    check_owners(command.claims)
    store.write(_replace, command.claims)


def check_owners(claims: Iterable[ConsumerClaim]) -> None:
    """Return if the projects and users of the claims can be stored.  Raises: BadRequest."""
    for claim in claims:
        check_storable("project", claim.project_id)
        check_storable("user", claim.user_id)


def _replace(tx: Any, claims: Sequence[ConsumerClaim]) -> None:
    consumers = tx.consumers.lock([claim.consumer_uuid for claim in claims], claims)
    check_generations(consumers.generations, claims)
    state = read_state(tx, consumers, claims)
    check_providers(state, claims)
    changes = plan_claims(state, claims)
    write(tx, consumers, state, changes)
    tx.publish(
        provider_ids(state, changes.usage_changed),
        generation_bumped=provider_ids(state, changes.generation_bumped),
    )


def read_state(
    tx: Any, consumers: Any, claims: Sequence[ConsumerClaim], also: Iterable[str] = ()
) -> AllocationState:
    """Return how things stand for the claims; lock the providers that they or ``also`` name."""
    named = {provider_uuid for claim in claims for provider_uuid in claim.resources}
    held_on = {uuid for amounts in consumers.held.values() for uuid in amounts}
    providers, class_ids = tx.inventories.lock(named | held_on | set(also))
    return AllocationState(
        consumers.generations,
        consumers.held,
        providers,
        class_ids | _class_ids(tx, claims, class_ids),
    )


def _class_ids(
    tx: Any, claims: Iterable[ConsumerClaim], known: Mapping[str, int]
) -> dict[str, int]:
    """Return the ids of classes that claims name and no provider at hand has: none, usually."""
    names = {name for claim in claims for own in claim.resources.values() for name in own}
    missing = names - known.keys()
    found_ids: dict[str, int] = tx.resource_classes.ids(missing) if missing else {}
    return found_ids


def write(tx: Any, consumers: Any, state: AllocationState, changes: AllocationChanges) -> None:
    """Write what a plan changes, but for the generations of providers."""
    tx.consumers.save(changes.retained, consumers.ids)
    tx.consumers.delete([consumers.ids[uuid] for uuid in changes.removed])
    tx.allocations.delete(state.allocations)
    tx.allocations.insert(
        [
            (consumer, state.providers[provider].id, state.class_ids[name], amount)
            for consumer, provider, name, amount in changes.allocations
        ]
    )
    tx.inventories.add_used(
        {
            (state.providers[provider].id, state.class_ids[name]): amount
            for (provider, name), amount in changes.usage_deltas.items()
            if name in state.providers[provider].inventories
        }
    )


def provider_ids(state: AllocationState, uuids: Iterable[str]) -> list[int]:
    """Return the ids of providers."""
    return [state.providers[uuid].id for uuid in uuids]


def delete(store: Store, consumer_uuid: str) -> None:
    """Give back everything the consumer holds, whatever any generation.

    Raises: NoAllocations.
    """
    store.write(_delete, consumer_uuid)


def _delete(tx: Any, consumer_uuid: str) -> None:
    consumers = tx.consumers.lock([consumer_uuid])
    if not consumers.held:
        raise exception.NoAllocations(consumer_uuid)
    release = ConsumerClaim(consumer_uuid, {}, "", "", check_generation=False)
    state = read_state(tx, consumers, [release])
    changes = plan_claims(state, [release])
    write(tx, consumers, state, changes)
    tx.publish(provider_ids(state, changes.generation_bumped | changes.usage_changed))
