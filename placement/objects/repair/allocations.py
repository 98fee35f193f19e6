"""Actions that remove and move allocations."""

from placement.core.claims import AllocationState, plan_claims
from placement.core.insight import repair_actions as actions
from placement.core.model import ConsumerClaim
from placement.core.timestamps import timestamp
from placement.db.sqlalchemy.repairs import Repairs
from placement.db.sqlalchemy.resource_classes import check_names
from placement.db.transaction import Transaction
from placement.objects.repair.change import Change, ChangedSince
from placement.objects.repair.classes_and_traits import class_id_of
from placement.objects.repair.consumers import locked_consumer, scope_of


def remove_allocations(tx: Transaction, action: actions.RemoveAllocations) -> Change:
    """Remove the allocations of a consumer on some providers.  Raises: ChangedSince.

    The consumer is removed with its last allocation.
    """
    repairs = Repairs(tx.connection)
    locked = locked_consumer(tx, action.consumer, action.generation, action.allocations)
    _check_written_at(tx, action)
    providers, class_ids = tx.inventories.lock(list(action.allocations))
    check_names(locked.class_ids, class_ids)
    own = {uuid: providers[uuid] for uuid in action.providers if uuid in providers}
    if len(own) != len(action.providers):
        raise ChangedSince("A provider does not exist any more.")
    ids = [provider.id for provider in own.values()]

    def perform() -> None:
        repairs.delete_allocations([action.consumer], ids)
        if repairs.without_allocations([action.consumer]):
            tx.consumers.delete(locked.ids.values())
        else:
            repairs.advance_consumers([action.consumer])
        tx.inventories.add_used(
            {
                (provider.id, class_ids[name]): -amount
                for uuid, provider in own.items()
                for name, amount in action.allocations[uuid].items()
                if name in class_ids
            }
        )

    return Change(scope_of([action.consumer]), perform, changed=ids)


def _check_written_at(tx: Transaction, action: actions.RemoveAllocations) -> None:
    """Raise ChangedSince if the consumer was written since.

    One that was deleted and created again can have the same generation and allocations.
    """
    written_at = timestamp(Repairs(tx.connection).written_at(action.consumer))
    if written_at != action.written_at:
        raise ChangedSince(
            f"The consumer {action.consumer} was written at {written_at}; when planned, at "
            f"{action.written_at}."
        )


def move_allocations(tx: Transaction, action: actions.MoveAllocations) -> Change:
    """Move the allocations of a consumer from one provider to another.

    Raises: ChangedSince, and what a claim on the target raises.
    """
    repairs = Repairs(tx.connection)
    locked = locked_consumer(tx, action.consumer, action.generation, action.allocations)
    amounts = action.allocations.get(action.source)
    if amounts is None or action.target in action.allocations:
        raise ChangedSince(
            f"The consumer {action.consumer} must have allocations on {action.source} and none "
            f"on {action.target}; it has them on {', '.join(action.allocations) or 'none'}."
        )
    providers, class_ids = tx.inventories.lock([*action.allocations, action.target])
    check_names(locked.class_ids, class_ids)
    if action.target not in providers:
        raise ChangedSince(f"The provider {action.target} does not exist.")
    claim = ConsumerClaim(
        action.consumer,
        {action.target if uuid == action.source else uuid: dict(own)
         for uuid, own in action.allocations.items()},
        "", "", check_generation=False,
    )  # fmt: skip
    state = AllocationState(locked.generations, locked.allocated, providers, class_ids)
    plan_claims(state, [claim])
    source, target = providers[action.source], providers[action.target]

    def perform() -> None:
        repairs.move_allocations(action.consumer, source.id, target.id)
        repairs.advance_consumers([action.consumer])
        moved = [(class_ids[name], amount) for name, amount in amounts.items()]
        tx.inventories.add_used(
            {(source.id, class_id): -amount for class_id, amount in moved}
            | {(target.id, class_id): amount for class_id, amount in moved}
        )

    scope = scope_of([action.consumer])
    return Change(scope, perform, changed=[source.id], bumped=[target.id])


def remove_stray_allocations(tx: Transaction, action: actions.RemoveStrayAllocations) -> Change:
    """Remove the allocations of a class on a missing provider.  Raises: ChangedSince."""
    repairs = Repairs(tx.connection)
    class_id = class_id_of(tx, action.resource_class)
    amounts = repairs.stray_consumers(action.provider_id, class_id)
    locked = tx.consumers.lock(sorted(amounts))
    if repairs.lock_providers([action.provider_id]):
        raise ChangedSince(f"A provider with the id {action.provider_id} exists.")
    amounts = repairs.stray_consumers(action.provider_id, class_id)
    if sum(amounts.values()) != action.used:
        raise ChangedSince(
            f"{sum(amounts.values())} {action.resource_class} are allocated on the provider with "
            f"the id {action.provider_id}; planned were {action.used}."
        )

    def perform() -> None:
        repairs.delete_allocations(sorted(amounts), [action.provider_id], class_id)
        empty = repairs.without_allocations(amounts)
        tx.consumers.delete([locked.ids[uuid] for uuid in sorted(empty) if uuid in locked.ids])
        repairs.advance_consumers(amounts.keys() - empty)

    return Change(scope_of(amounts.keys()), perform)
