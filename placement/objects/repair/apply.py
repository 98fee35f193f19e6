"""Apply one action of a plan in one transaction.

Each action locks its rows, checks that they are as in the plan, and changes them. The rows before
and after are passed to ``record`` before the commit: every committed action is recorded.
"""

from collections.abc import Callable, Mapping
from typing import Any

from placement import exception
from placement.core.insight import repair_actions as actions
from placement.core.insight.repair import action_as_json
from placement.core.insight.repair_actions import Action
from placement.core.insight.undo import Image, Undo
from placement.core.model import IncompleteConsumer
from placement.db.sqlalchemy.repairs import Repairs
from placement.db.sqlalchemy.row_images import RowImages
from placement.db.store import Store
from placement.db.transaction import Transaction
from placement.objects.repair import allocations, classes_and_traits, consumers, providers
from placement.objects.repair.change import Change, ChangedSince
from placement.objects.repair.outcome import APPLIED, SKIPPED, Outcome

Record = Callable[[Undo], object]
Perform = Callable[[Transaction, Any], Change]

_PERFORM: Mapping[type[Action], Perform] = {
    actions.RemoveAllocations: allocations.remove_allocations,
    actions.MoveAllocations: allocations.move_allocations,
    actions.RemoveStrayAllocations: allocations.remove_stray_allocations,
    actions.RemoveConsumer: consumers.remove_consumer,
    actions.SetUsageCounter: providers.set_usage_counter,
    actions.SetTree: providers.set_tree,
    actions.RenameProvider: providers.rename_provider,
    actions.DeleteProvider: providers.delete_provider,
    actions.DeleteResourceClass: classes_and_traits.delete_resource_class,
    actions.DeleteTrait: classes_and_traits.delete_trait,
}


def apply_action(
    store: Store, action: Action, incomplete: IncompleteConsumer, record: Record
) -> Outcome:
    """Apply an action.  Raises: what a write raises, and what ``record`` raises."""
    try:
        store.write(_apply, action, incomplete, record)
    except ChangedSince as error:
        return Outcome(SKIPPED, str(error))
    except exception.PlacementException as error:
        if isinstance(error, exception.DatabaseUnavailable | exception.CommitLost):
            raise
        return Outcome(SKIPPED, str(error))
    return Outcome(APPLIED)


def _apply(
    tx: Transaction, action: Action, incomplete: IncompleteConsumer, record: Record
) -> None:
    images = RowImages(tx.connection)
    change = _change(tx, action, incomplete)
    before = images.read(change.scope)
    change.perform()
    tx.publish(
        change.changed,
        generation_bumped=change.bumped,
        removed=change.removed or {},
        names=change.names,
    )
    after = images.read(change.scope)
    record(_undo(tx, action, change, before, after))


def _undo(tx: Transaction, action: Action, change: Change, before: Image, after: Image) -> Undo:
    repairs = Repairs(tx.connection)
    rows = [*before.get("allocations", ()), *after.get("allocations", ())]
    provider_ids = {row["resource_provider_id"] for row in rows}
    for row in before.get("resource_providers", ()):
        provider_ids |= {row["parent_provider_id"], row["root_provider_id"]} - {None}
    class_ids = {row["resource_class_id"] for row in rows}
    if change.drift is not None:
        provider_ids.add(change.drift.provider_id)
        class_ids.add(change.drift.class_id)
    return Undo(
        action_as_json(action),
        change.scope,
        before,
        after,
        {str(id_): uuid for id_, uuid in repairs.lock_providers(provider_ids).items()},
        {str(id_): name for id_, name in repairs.class_names(class_ids).items()},
        change.drift,
    )


def _change(tx: Transaction, action: Action, incomplete: IncompleteConsumer) -> Change:
    if isinstance(action, actions.CreateConsumer):
        return consumers.create_consumer(tx, action, incomplete)
    return _PERFORM[type(action)](tx, action)
