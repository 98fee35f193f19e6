"""Actions that remove and create consumers."""

from collections.abc import Collection

from placement.core.insight import repair_actions as actions
from placement.core.insight.repair_actions import Amounts
from placement.core.insight.undo import Scope
from placement.core.model import ConsumerClaim, IncompleteConsumer
from placement.db.sqlalchemy.consumers import LockedConsumers
from placement.db.sqlalchemy.repairs import Repairs
from placement.db.transaction import Transaction
from placement.objects.repair.change import Change, ChangedSince


def remove_consumer(tx: Transaction, action: actions.RemoveConsumer) -> Change:
    """Remove a consumer without allocations.  Raises: ChangedSince."""
    locked = locked_consumer(tx, action.consumer, action.generation, {})
    if not Repairs(tx.connection).without_allocations([action.consumer]):
        raise ChangedSince(f"The consumer {action.consumer} has allocations.")
    scope = scope_of([action.consumer])
    return Change(scope, lambda: tx.consumers.delete(locked.ids.values()))


def create_consumer(
    tx: Transaction, action: actions.CreateConsumer, incomplete: IncompleteConsumer
) -> Change:
    """Create the missing consumer of allocations.  Raises: ChangedSince."""
    claim = ConsumerClaim(
        action.consumer, {}, incomplete.project_id, incomplete.user_id, check_generation=False
    )
    locked = tx.consumers.lock([action.consumer], [claim])
    if locked.ids:
        raise ChangedSince(f"The consumer {action.consumer} exists.")
    if Repairs(tx.connection).without_allocations([action.consumer]):
        raise ChangedSince(f"The consumer {action.consumer} has no allocations any more.")
    scope = {"consumers": {"uuid": [action.consumer]}}
    return Change(scope, lambda: tx.consumers.save([claim], locked))


def locked_consumer(
    tx: Transaction, uuid: str, generation: int, amounts: Amounts
) -> LockedConsumers:
    """Lock a consumer that is as in the plan.  Raises: ChangedSince."""
    locked = tx.consumers.lock([uuid])
    current = locked.generations.get(uuid)
    if current is None:
        raise ChangedSince(f"The consumer {uuid} does not exist.")
    if current != generation:
        raise ChangedSince(
            f"The consumer {uuid} has generation {current}; it had {generation} when planned."
        )
    allocated = _plain(locked.allocated.get(uuid, {}))
    if allocated != _plain(amounts):
        raise ChangedSince(f"The consumer {uuid} has other allocations: {allocated}.")
    return locked


def _plain(amounts: Amounts) -> dict[str, dict[str, int]]:
    return {provider: dict(own) for provider, own in amounts.items()}


def scope_of(uuids: Collection[str]) -> Scope:
    """Return the rows of consumers and of their allocations."""
    listed = sorted(uuids)
    return {"consumers": {"uuid": listed}, "allocations": {"consumer_id": listed}}
