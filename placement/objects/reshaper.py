"""Moving inventories between providers together with what is allocated on them.

In one transaction: the providers first get the union of what they have and what
they are to have, then the consumers their allocations against that, and then
the providers lose what they are not to have. Generations are counted for each
of these steps, as the API always did.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace as with_values
from typing import Any

from placement import exception
from placement.core.claims import (
    Changes,
    Standing,
    check_generations,
    check_providers,
    plan,
)
from placement.core.model import Inventory, Provider, ReplaceInventories, Reshape
from placement.db.store import Store
from placement.objects import allocation, inventory

Inventories = Mapping[str, Inventory]


def reshape(store: Store, command: Reshape) -> None:
    """Apply inventories and allocations together, all or none (1.30).

    Raises: ReshapedProviderNotFound, StaleProviderGeneration, UnknownResourceClass (400),
    InventoryInUse, and what ``allocation.replace`` raises.
    """
    allocation.check_owners(command.claims)
    store.write(_reshape, command)


def _reshape(tx: Any, command: Reshape) -> None:
    named = {change.provider_uuid: change.inventories for change in command.inventories}
    consumers = tx.consumers.lock(
        [claim.consumer_uuid for claim in command.claims], command.claims
    )
    standing = allocation.stand(tx, consumers, command.claims, also=named)
    providers = [_at_generation(tx, change) for change in command.inventories]
    check_generations(standing.generations, command.claims)
    check_providers(standing, command.claims)
    standing = _united(tx, standing, named)
    changes = plan(standing, command.claims)
    for provider in providers:
        inventory.put(tx, provider, named[provider.uuid], standing.class_ids)
    allocation.write(tx, consumers, standing, changes)
    for provider in providers:
        inventory.remove_others(tx, provider, named[provider.uuid])
    _publish(tx, standing, named, changes)


def _at_generation(tx: Any, change: ReplaceInventories) -> Provider:
    """Return a provider, locked before, if it is at the generation that the caller knows."""
    provider: Provider | None = tx.providers.find(change.provider_uuid)
    if provider is None:
        raise exception.ReshapedProviderNotFound(change.provider_uuid)
    if provider.generation != change.generation:
        raise exception.StaleProviderGeneration(
            provider.uuid, provider.generation, change.generation
        )
    return provider


def _united(tx: Any, standing: Standing, named: Mapping[str, Inventories]) -> Standing:
    """Return how things stand once the providers have what they are to get, and all they had."""
    added = {name: own[name] for own in named.values() for name in own}
    class_ids = inventory.used_classes(tx, added, "malformed reshaper data")
    providers = {
        uuid: with_values(stock, inventories={**stock.inventories, **named.get(uuid, {})})
        for uuid, stock in standing.providers.items()
    }
    return with_values(
        standing, providers=providers, class_ids={**standing.class_ids, **class_ids}
    )


def _publish(
    tx: Any, standing: Standing, named: Mapping[str, Inventories], changes: Changes
) -> None:
    """Count one generation for each step that changed a provider; the last is that of publish."""
    steps = Counter(changes.generation_bumped)
    for uuid, inventories in named.items():
        steps[uuid] += 2 if inventories else 1
    tx.providers.grow({standing.providers[uuid].id: count - 1 for uuid, count in steps.items()})
    tx.publish(
        allocation.provider_ids(standing, changes.changed),
        generation_bumped=allocation.provider_ids(standing, steps),
    )
