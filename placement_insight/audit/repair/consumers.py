"""Actions on consumers and their allocations."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from placement.core.claims import AllocationState, plan_claims
from placement.core.model import ConsumerClaim
from placement.core.text import timestamp
from placement.db.claims.consumers import TYPE, LockedConsumers, deletions, savings
from placement.db.claims.inventories import additions
from placement.db.resources.names import check_names
from placement.db.resources.providers import lock_providers
from placement.db.transaction import Transaction
from placement_insight.audit.repair.action import Action, Amounts, Id, Number, Text, Texts
from placement_insight.audit.repair.rows import (
    Scope,
    amounts_on,
    change_consumer,
    delete_allocations,
    move_allocations,
    rename_consumer,
)
from placement_insight.audit.repair.transaction import ChangedSince, Repair, class_id_of
from placement_insight.hosts import INSTANCE


class RemoveAllocations(Action, kind="remove_allocations"):
    """Remove the allocations of a consumer on ``providers``.

    If no allocations remain, the consumer is removed. ``generation`` and ``allocations`` are the
    generation and all allocations of the consumer when the plan was written. ``written_at`` is
    when the consumer was written last, as a timestamp in whole seconds: a consumer that was
    deleted and created again can have the same generation and allocations.
    """

    consumer: Text
    generation: Number
    written_at: Text | None
    allocations: Amounts
    providers: Texts

    def perform(self, repair: Repair) -> None:
        """Delete the allocations, and the consumer with its last one; subtract from counters."""
        tx = repair.tx
        locked = _locked(tx, self.consumer, self.generation, self.allocations)
        _check_time(tx, self.consumer, self.written_at)
        released = {uuid: self.allocations.get(uuid, {}) for uuid in self.providers}
        changes = _changes(tx, locked, self.allocations, released)
        repair.record(_rows_of(locked, [self.consumer]))
        delete_allocations(tx, [self.consumer], changes.provider_ids)
        if tx.allocations.without([self.consumer]):
            tx.execute_all(deletions(locked.ids.values()))
        else:
            tx.consumers.advance([self.consumer])
        changes.write(tx)


class TakeOverAllocations(Action, kind="take_over_allocations"):
    """Give the allocations of a migration to its server, which releases its other ones.

    Generations, ``written_at`` and allocations are the same as in ``RemoveAllocations``; the
    generation is None if the server has no consumer.
    """

    consumer: Text
    generation: Number | None
    written_at: Text | None
    allocations: Amounts
    migration: Text
    migration_generation: Number
    migration_allocations: Amounts

    def perform(self, repair: Repair) -> None:
        """Delete the allocations of the server, change the consumer of the others, and save it.

        No usage increases. A server without a consumer gets the consumer of the migration.
        """
        tx, both = repair.tx, [self.consumer, self.migration]
        locked = tx.consumers.lock(both)
        _compare(locked, self.consumer, self.generation, self.allocations)
        _compare(locked, self.migration, self.migration_generation, self.migration_allocations)
        _check_time(tx, self.consumer, self.written_at)
        changes = _changes(tx, locked, self.allocations, self.allocations)
        repair.record(_rows_of(locked, both))
        delete_allocations(tx, [self.consumer], changes.provider_ids)
        change_consumer(tx, self.migration, self.consumer)
        if self.generation is None:
            rename_consumer(tx, self.migration, self.consumer, INSTANCE)
        else:
            tx.execute_all(deletions([locked.ids[self.migration]]))
        tx.consumers.advance([self.consumer])
        changes.write(tx)


class MoveAllocations(Action, kind="move_allocations"):
    """Move the allocations of a consumer from the provider ``source`` to ``target``.

    The target is checked as for a claim; without capacity the action is skipped. ``generation``
    and ``allocations`` are the same as in ``RemoveAllocations``.
    """

    consumer: Text
    generation: Number
    allocations: Amounts
    source: Text
    target: Text

    def perform(self, repair: Repair) -> None:
        """Change the provider of the allocations, and the counters of both providers.

        Raises: ChangedSince, and the errors of a claim on the target.
        """
        tx = repair.tx
        locked = _locked(tx, self.consumer, self.generation, self.allocations)
        if self.source not in self.allocations or self.target in self.allocations:
            raise ChangedSince(
                f"The consumer {self.consumer} must have allocations on {self.source} and none "
                f"on {self.target}; it has them on {', '.join(self.allocations) or 'none'}."
            )
        providers, class_ids = tx.inventories.lock([*self.allocations, self.target])
        check_names(locked.class_ids, class_ids)
        if self.target not in providers:
            raise ChangedSince(f"The provider {self.target} does not exist.")
        state = AllocationState(locked.generations, locked.allocated, providers, class_ids)
        resources = {
            self.target if uuid == self.source else uuid: dict(amounts)
            for uuid, amounts in self.allocations.items()
        }
        claim = ConsumerClaim(self.consumer, resources, "", "", check_generation=False)
        plan_claims(state, [claim])
        source_id, target_id = providers[self.source].id, providers[self.target].id
        repair.record(_rows_of(locked, [self.consumer]))
        move_allocations(tx, self.consumer, source_id, target_id)
        tx.consumers.advance([self.consumer])
        amounts = {class_ids[name]: used for name, used in self.allocations[self.source].items()}
        released = {(source_id, class_id): -used for class_id, used in amounts.items()}
        added = {(target_id, class_id): used for class_id, used in amounts.items()}
        tx.execute_all(additions(released | added))
        tx.publish([source_id], generation_bumped=[target_id])


class RemoveConsumer(Action, kind="remove_consumer"):
    """Remove a consumer that has no allocations."""

    consumer: Text
    generation: Number

    def perform(self, repair: Repair) -> None:
        """Delete the row of the consumer."""
        tx = repair.tx
        locked = _locked(tx, self.consumer, self.generation, {})
        if not tx.allocations.without([self.consumer]):
            raise ChangedSince(f"The consumer {self.consumer} has allocations.")
        repair.record(_rows_of(locked, [self.consumer]))
        tx.execute_all(deletions(locked.ids.values()))


class CreateConsumer(Action, kind="create_consumer"):
    """Create the row of a consumer that has allocations, for the incomplete project and user.

    The project and the user are ``[placement]incomplete_consumer_project_id`` and
    ``..._user_id`` in the configuration of the program that applies the plan.
    """

    consumer: Text

    def perform(self, repair: Repair) -> None:
        """Insert the row of the consumer, and the project and the user if they do not exist."""
        tx, owner = repair.tx, repair.incomplete
        claim = ConsumerClaim(
            self.consumer, {}, owner.project_id, owner.user_id, check_generation=False
        )
        locked = tx.consumers.lock([self.consumer], [claim])
        if locked.ids:
            raise ChangedSince(f"The consumer {self.consumer} exists.")
        if tx.allocations.without([self.consumer]):
            raise ChangedSince(f"The consumer {self.consumer} has no allocations any more.")
        owners = tx.consumers.owners([claim], locked)
        own = [self.consumer]
        repair.record({"consumers": {"uuid": own}, "allocations": {"consumer_id": own}})
        tx.allocations.touch(own)
        tx.execute_all(savings(owners, locked.ids))


class RemoveStrayAllocations(Action, kind="remove_stray_allocations"):
    """Remove the allocations of a class on a provider that does not exist, named by its id.

    Consumers without other allocations are removed. ``used`` is the sum of the amounts.
    """

    provider_id: Id
    resource_class: Text | Id
    used: Number

    def perform(self, repair: Repair) -> None:
        """Delete the allocations, and the consumers without other ones; there is no counter."""
        tx = repair.tx
        class_id = class_id_of(tx, self.resource_class)
        locked = tx.consumers.lock(sorted(amounts_on(tx, self.provider_id, class_id)))
        if lock_providers(tx.connection, [self.provider_id]):
            raise ChangedSince(f"A provider with the id {self.provider_id} exists.")
        amounts = amounts_on(tx, self.provider_id, class_id)
        if sum(amounts.values()) != self.used:
            raise ChangedSince(
                f"{sum(amounts.values())} {self.resource_class} are allocated on the provider "
                f"with the id {self.provider_id}; planned were {self.used}."
            )
        repair.record(_rows_of(locked, amounts))
        delete_allocations(tx, sorted(amounts), [self.provider_id], class_id)
        empty = tx.allocations.without(amounts)
        tx.execute_all(deletions(locked.ids[uuid] for uuid in sorted(empty & locked.ids.keys())))
        tx.consumers.advance(amounts.keys() - empty)


def _locked(tx: Transaction, uuid: str, generation: int, amounts: Amounts) -> LockedConsumers:
    """Lock a consumer, and compare it with the plan.  Raises: ChangedSince."""
    locked = tx.consumers.lock([uuid])
    _compare(locked, uuid, generation, amounts)
    return locked


def _compare(locked: LockedConsumers, uuid: str, generation: int | None, amounts: Amounts) -> None:
    """Compare a consumer with the plan; it must not exist without generation.

    Raises: ChangedSince.
    """
    current = locked.generations.get(uuid)
    if current is None and generation is not None:
        raise ChangedSince(f"The consumer {uuid} does not exist.")
    if current != generation:
        had = "did not exist" if generation is None else f"had {generation}"
        raise ChangedSince(f"The consumer {uuid} has generation {current}; it {had} when planned.")
    allocated = {
        provider: dict(by_class) for provider, by_class in locked.allocated.get(uuid, {}).items()
    }
    if allocated != amounts:
        raise ChangedSince(f"The consumer {uuid} has other allocations: {allocated}.")


def _check_time(tx: Transaction, uuid: str, planned: str | None) -> None:
    """Compare when a consumer was written with the plan.  Raises: ChangedSince."""
    written_at = timestamp(tx.consumers.written_at(uuid))
    if written_at != planned:
        raise ChangedSince(
            f"The consumer {uuid} was written at {written_at}; when planned, at {planned}."
        )


class _Changes(NamedTuple):
    """The ids of providers that release allocations, and the changes of their counters."""

    provider_ids: Sequence[int]
    counters: Mapping[tuple[int, int], int]

    def write(self, tx: Transaction) -> None:
        """Change the counters, and publish the providers."""
        tx.execute_all(additions(self.counters))
        tx.publish(self.provider_ids)


def _changes(
    tx: Transaction, locked: LockedConsumers, allocations: Amounts, released: Amounts
) -> _Changes:
    """Lock the providers of the allocations of a consumer, of which some are released.

    Raises: ChangedSince if a provider does not exist.
    """
    providers, class_ids = tx.inventories.lock(list(allocations))
    check_names(locked.class_ids, class_ids)
    if not providers.keys() >= released.keys():
        raise ChangedSince("A provider does not exist any more.")
    counters = {
        (providers[uuid].id, class_ids[name]): -amount
        for uuid, amounts in released.items()
        for name, amount in amounts.items()
        if name in class_ids
    }
    return _Changes([providers[uuid].id for uuid in released], counters)


def _rows_of(locked: LockedConsumers, uuids: Iterable[str]) -> Scope:
    """Return the rows of consumers, of their allocations and of their types.

    The undo is skipped if a type was deleted since: its id may be the id of another type.
    """
    listed = sorted(uuids)
    return {
        "consumer_types": {"id": sorted(locked.ids_of(TYPE).values())},
        "consumers": {"uuid": listed},
        "allocations": {"consumer_id": listed},
    }
