"""Moving inventories between providers together with their allocations.

In one transaction: the providers first get the union of their current and their new inventories,
then the consumers get their allocations, and then the inventories that are not among the new
inventories are removed. Each of these steps increases generations, as the API requires.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace as with_values

from placement import exception
from placement.core.changes import Change, of_claims
from placement.core.claims import (
    AllocationChanges,
    AllocationState,
    check_generations,
    check_providers,
)
from placement.core.model import ConsumerClaim, Inventory, Provider, ReplaceInventories
from placement.db.resources.names import check_names
from placement.db.store import write_transaction
from placement.db.transaction import Transaction
from placement.objects import allocation, inventory

Inventories = Mapping[str, Inventory]


@write_transaction
def reshape(
    tx: Transaction, replaced: Sequence[ReplaceInventories], claims: Sequence[ConsumerClaim] = ()
) -> None:
    """Apply inventories and allocations together, all or none (1.30).

    Raises: ReshapedProviderNotFound, StaleProviderGeneration, UnknownResourceClass (400),
    InventoryInUse, and what ``allocation.replace`` raises.
    """
    named = {change.provider_uuid: change.inventories for change in replaced}
    consumers = tx.consumers.lock([claim.consumer_uuid for claim in claims], claims)
    state = allocation.read_state(tx, consumers, claims, also=named)
    providers = [_at_generation(tx, state, change) for change in replaced]
    check_generations(state.generations, claims)
    check_providers(state, claims)
    state = _united(tx, state, named)
    changes = allocation.planned(tx, consumers, state, claims)
    stored = {provider.uuid: inventory.present(tx, provider) for provider in providers}
    for provider in providers:
        uuid = provider.uuid
        inventory.put(tx, provider, stored[uuid], named[uuid], state.class_ids)
    owners = tx.consumers.owners(changes.retained, consumers)
    tx.execute_all(allocation.writes(changes, consumers, owners, state))
    for provider in providers:
        uuid = provider.uuid
        inventory.remove_others(tx, provider, stored[uuid], named[uuid])
    recorded = _recorded(tx, providers, stored, of_claims(claims, state.allocations))
    _publish(tx, state, named, changes, recorded)


def _at_generation(
    tx: Transaction, state: AllocationState, change: ReplaceInventories
) -> Provider:
    """Return a provider, which the state has locked, if it is at the generation of the command."""
    provider = tx.providers.find(change.provider_uuid)
    if provider is None or provider.uuid not in state.providers:
        raise exception.ReshapedProviderNotFound(change.provider_uuid)
    if provider.generation != change.generation:
        raise exception.StaleProviderGeneration(
            provider.uuid, provider.generation, change.generation
        )
    return provider


def _united(
    tx: Transaction, state: AllocationState, named: Mapping[str, Inventories]
) -> AllocationState:
    """Return the state in which the providers have their current and their new inventories."""
    added = {name: inventories[name] for inventories in named.values() for name in inventories}
    class_ids = inventory.used_classes(tx, added, "malformed reshaper data")
    check_names(state.class_ids, class_ids)
    providers = {
        uuid: with_values(provider, inventories={**provider.inventories, **named.get(uuid, {})})
        for uuid, provider in state.providers.items()
    }
    return with_values(state, providers=providers, class_ids={**state.class_ids, **class_ids})


def _recorded(
    tx: Transaction,
    providers: Sequence[Provider],
    stored: Mapping[str, inventory.Stored],
    of_consumers: Iterable[Change],
) -> Iterator[Change]:
    """Yield the changes of providers and consumers, to be recorded."""
    for provider in providers:
        written = inventory.present(tx, provider)
        yield from inventory.changes(provider, stored[provider.uuid], written)
    yield from of_consumers


def _publish(
    tx: Transaction,
    state: AllocationState,
    named: Mapping[str, Inventories],
    changes: AllocationChanges,
    recorded: Iterable[Change],
) -> None:
    """Add one generation for each step that changed a provider; publish adds the last."""
    steps = Counter(changes.generation_bumped)
    for uuid, inventories in named.items():
        steps[uuid] += 2 if inventories else 1
    tx.providers.add_generations(
        {state.providers[uuid].id: count - 1 for uuid, count in steps.items()}
    )
    tx.publish(
        allocation.provider_ids(state, changes.usage_changed),
        generation_bumped=allocation.provider_ids(state, steps),
        changes=recorded,
    )
