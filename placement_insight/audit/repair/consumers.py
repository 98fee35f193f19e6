"""Actions on consumers and their allocations."""

from collections.abc import Iterable

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
    delete_allocations,
    move_allocations,
)
from placement_insight.audit.repair.transaction import ChangedSince, Repair, class_id_of


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
        written_at = timestamp(tx.consumers.written_at(self.consumer))
        if written_at != self.written_at:
            raise ChangedSince(
                f"The consumer {self.consumer} was written at {written_at}; when planned, at "
                f"{self.written_at}."
            )
        providers, class_ids = tx.inventories.lock(list(self.allocations))
        check_names(locked.class_ids, class_ids)
        if not providers.keys() >= set(self.providers):
            raise ChangedSince("A provider does not exist any more.")
        ids = [providers[uuid].id for uuid in self.providers]
        repair.record(_rows_of(locked, [self.consumer]))
        delete_allocations(tx, [self.consumer], ids)
        if tx.allocations.without([self.consumer]):
            tx.execute_all(deletions(locked.ids.values()))
        else:
            tx.consumers.advance([self.consumer])
        released = {
            (providers[uuid].id, class_ids[name]): -amount
            for uuid in self.providers
            for name, amount in self.allocations[uuid].items()
            if name in class_ids
        }
        tx.execute_all(additions(released))
        tx.publish(ids)


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
    resource_class: Text
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
    current = locked.generations.get(uuid)
    if current is None:
        raise ChangedSince(f"The consumer {uuid} does not exist.")
    if current != generation:
        raise ChangedSince(
            f"The consumer {uuid} has generation {current}; it had {generation} when planned."
        )
    allocated = {
        provider: dict(by_class) for provider, by_class in locked.allocated.get(uuid, {}).items()
    }
    if allocated != amounts:
        raise ChangedSince(f"The consumer {uuid} has other allocations: {allocated}.")
    return locked


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
