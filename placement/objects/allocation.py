"""Allocations of consumers on providers.

A write locks the consumers, then the providers that they have or request allocations on, reads
their current state, decides in ``core.claims``, and writes the changes.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from placement import exception
from placement.core.changes import AllocationsChange, Change, of_claims
from placement.core.claims import (
    AllocationChanges,
    AllocationState,
    check_generations,
    check_providers,
    plan_claims,
)
from placement.core.model import ConsumerAllocations, ConsumerClaim, ProviderAllocations
from placement.db.claims import allocations, inventories
from placement.db.claims.consumers import (
    PROVIDER,
    LockedConsumers,
    Owner,
    allocated_amounts,
    consumer_lock,
    deletion_if_unchanged,
    deletions,
    savings,
)
from placement.db.clocks import publications
from placement.db.errors import WriteConflict
from placement.db.resources.names import check_names
from placement.db.resources.providers import provider_locks
from placement.db.store import Store, write_transaction
from placement.db.transaction import Transaction
from placement.db.writes import Write


def of_consumer(store: Store, consumer_uuid: str) -> ConsumerAllocations:
    """Return the allocations of the consumer, none if it does not exist."""
    return store.read_once(lambda tx: tx.allocations.of_consumer(consumer_uuid))


def of_provider(store: Store, uuid: str) -> ProviderAllocations:
    """Return the allocations on the provider.  Raises: ProviderNotFound."""
    return store.read_once(lambda tx: tx.allocations.on_provider(uuid))


@write_transaction
def replace(tx: Transaction, claims: Sequence[ConsumerClaim]) -> None:
    """Replace the allocations of each consumer by its claim, all or none.

    Raises: StaleConsumerGeneration, ProviderToAllocateNotFound, UnknownResourceClass (400),
    NotAllocatable.
    """
    consumers = tx.consumers.lock([claim.consumer_uuid for claim in claims], claims)
    check_generations(consumers.generations, claims)
    state = read_state(tx, consumers, claims)
    check_providers(state, claims)
    changes = planned(tx, consumers, state, claims)
    owners = tx.consumers.owners(changes.retained, consumers)
    tx.execute_all(
        [
            *writes(changes, consumers, owners, state),
            *tx.records(of_claims(claims, state.allocations)),
            *publications(
                provider_ids(state, changes.usage_changed),
                generation_bumped=provider_ids(state, changes.generation_bumped),
            ),
        ]
    )


def read_state(
    tx: Transaction,
    consumers: LockedConsumers,
    claims: Sequence[ConsumerClaim],
    also: Collection[str] = (),
) -> AllocationState:
    """Return the current state for the claims; lock the providers that they or ``also`` name.

    Raises: WriteConflict if a class of the allocations was renamed since these were read.
    """
    claimed = {*also}.union(*(claim.resources for claim in claims))
    released = set[str]().union(*consumers.allocated.values())
    known_ids = consumers.ids_of(PROVIDER)
    providers, class_ids = tx.inventories.lock(claimed, known_ids, released)
    check_names(consumers.class_ids, class_ids)
    return AllocationState(
        consumers.generations,
        consumers.allocated,
        providers,
        {**consumers.class_ids, **class_ids, **_class_ids(tx, claims, class_ids)},
    )


def planned(
    tx: Transaction,
    consumers: LockedConsumers,
    state: AllocationState,
    claims: Sequence[ConsumerClaim],
) -> AllocationChanges:
    """Return the changes of the claims.

    A concurrent claim of the same new consumer may have used the capacity while this one waited
    for the provider: the write then runs again, and replaces these allocations or reports the
    generation.

    Raises: what ``plan_claims`` raises, and WriteConflict.
    """
    try:
        return plan_claims(state, claims)
    except exception.NotAllocatable as error:
        tx.consumers.check_still_absent(claims, consumers)
        error.provider_names = {uuid: each.name for uuid, each in state.providers.items()}
        raise


def _class_ids(
    tx: Transaction, claims: Iterable[ConsumerClaim], provider_class_ids: Mapping[str, int]
) -> dict[str, int]:
    """Return the ids of classes that claims name and no locked provider has: usually none."""
    names = {name for claim in claims for amounts in claim.resources.values() for name in amounts}
    missing = names - provider_class_ids.keys()
    return tx.resource_classes.ids(missing) if missing else {}


def writes(
    changes: AllocationChanges,
    consumers: LockedConsumers,
    owners: Mapping[str, Owner],
    state: AllocationState,
) -> list[Write]:
    """Return the writes of the changes, except the clocks and the generations of providers."""
    return [
        *savings(owners, consumers.ids),
        *deletions([consumers.ids[uuid] for uuid in changes.removed]),
        *allocations.deletions(state.allocations),
        *allocations.insertions(
            (consumer, state.providers[provider].id, state.class_ids[name], amount)
            for consumer, provider, name, amount in changes.allocations
        ),
        *inventories.additions(
            {
                (state.providers[provider].id, state.class_ids[name]): amount
                for (provider, name), amount in changes.usage_deltas.items()
            }
        ),
    ]


def provider_ids(state: AllocationState, uuids: Iterable[str]) -> list[int]:
    """Return the ids of providers."""
    return [state.providers[uuid].id for uuid in uuids]


@write_transaction
def delete(tx: Transaction, consumer_uuid: str) -> None:
    """Release all allocations of the consumer, without checking any generation.

    They are read without a lock. The last write deletes the consumer if it still has the
    generation that was read: otherwise the release runs again.

    Raises: NoAllocations.
    """
    held = tx.consumers.held(consumer_uuid)
    if not held:
        _release_unrecorded(tx, consumer_uuid)
        return
    amounts = Counter[tuple[int, int]]()
    for row in held:
        amounts[row.provider_id, row.class_id] -= row.used
    changed = {row.provider_id for row in held}
    deleted = tx.execute_all(
        [
            *consumer_lock(consumer_uuid),
            *provider_locks(tx.connection, changed),
            *allocations.deletions([consumer_uuid]),
            *inventories.additions(amounts),
            *tx.records(_released(consumer_uuid, held)),
            *publications(changed),
            *deletion_if_unchanged(held[0].id, held[0].generation),
        ]
    )
    if not deleted:
        raise WriteConflict


def _released(consumer_uuid: str, held: Iterable[Any]) -> Iterator[Change]:
    """Yield the release of the allocations in the rows."""
    before = allocated_amounts(held)[consumer_uuid]
    yield AllocationsChange(consumer_uuid, None, before, {})


def _release_unrecorded(tx: Transaction, consumer_uuid: str) -> None:
    """Release allocations without a consumer row, which older databases may have."""
    consumers = tx.consumers.lock([consumer_uuid])
    if not consumers.allocated:
        raise exception.NoAllocations(consumer_uuid)
    release = ConsumerClaim(consumer_uuid, {}, "", "", check_generation=False)
    state = read_state(tx, consumers, [release])
    changes = plan_claims(state, [release])
    changed = provider_ids(state, changes.generation_bumped | changes.usage_changed)
    released = tx.records(of_claims([release], state.allocations))
    tx.execute_all([*writes(changes, consumers, {}, state), *released, *publications(changed)])
