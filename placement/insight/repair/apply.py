"""Applies one action of a plan, or undoes it, in one transaction.

Each action locks its rows, checks that they are as in the plan, and changes them; it raises
``ChangedSince`` if the plan is out of date. The rows before and after are passed to ``record``
before the commit: every committed action is recorded.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final

from placement import exception
from placement.core.claims import AllocationState, plan_claims
from placement.core.model import ConsumerClaim, IncompleteConsumer
from placement.core.text import timestamp
from placement.db.claims import consumers, inventories
from placement.db.claims.consumers import LockedConsumers
from placement.db.resources.names import ResourceClasses, Traits, check_names
from placement.db.store import Store
from placement.db.transaction import Transaction
from placement.insight.repair import actions
from placement.insight.repair.actions import Action, Amounts
from placement.insight.repair.plan_file import Drift, Image, Scope, Undo, action_as_json
from placement.insight.repair.sql import ProviderRow, Repairs, RowImages

APPLIED: Final = "applied"

ALREADY: Final = "already"

SKIPPED: Final = "skipped"

Record = Callable[[Undo], object]


class ChangedSince(Exception):  # noqa: N818
    """The rows differ from the plan; the message states the current values."""


@dataclass(frozen=True, slots=True)
class Change:
    """The change of an action: the rows to record, the writes, and the ids to publish.

    ``perform`` writes the change. ``drift`` is the drift of the usage counter that it sets.
    """

    scope: Scope
    perform: Callable[[], object]
    changed: Collection[int] = ()
    bumped: Collection[int] = ()
    removed: Mapping[int, str] | None = None
    names: bool = False
    drift: Drift | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """The status ``applied``, ``already`` (by an earlier run) or ``skipped``, and the reason."""

    status: str
    reason: str = ""


def delete_resource_class(tx: Transaction, action: actions.DeleteResourceClass) -> Change:
    """Delete a custom resource class that no provider has.  Raises: ChangedSince."""
    return _delete(tx.resource_classes, "resource_classes", action.resource_class)


def delete_trait(tx: Transaction, action: actions.DeleteTrait) -> Change:
    """Delete a custom trait that no provider has.  Raises: ChangedSince."""
    return _delete(tx.traits, "traits", action.trait)


def _delete(rows: ResourceClasses | Traits, table: str, name: str) -> Change:
    kind = {"resource_classes": "resource class", "traits": "trait"}[table]
    row = rows.lock(name)
    if row is None:
        raise ChangedSince(f"The {kind} {name} does not exist.")
    if row.is_standard or rows.is_in_use(row.id):
        raise ChangedSince(f"The {kind} {name} is in use.")
    return Change({table: {"name": [name]}}, lambda: rows.delete(row.id), names=True)


def class_id_of(tx: Transaction, name: str) -> int:
    """Return the id of a class; the name of a class that does not exist contains its id.

    Raises: ChangedSince.
    """
    if name.startswith("id ") and name[3:].isdecimal():
        return int(name[3:])
    class_id = tx.resource_classes.ids([name]).get(name)
    if class_id is None:
        raise ChangedSince(f"The resource class {name} does not exist.")
    return class_id


def remove_consumer(tx: Transaction, action: actions.RemoveConsumer) -> Change:
    """Remove a consumer without allocations.  Raises: ChangedSince."""
    locked = locked_consumer(tx, action.consumer, action.generation, {})
    if not Repairs(tx.connection).without_allocations([action.consumer]):
        raise ChangedSince(f"The consumer {action.consumer} has allocations.")
    scope = scope_of([action.consumer])
    return Change(scope, lambda: tx.execute_all(consumers.deletions(locked.ids.values())))


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
    owners = tx.consumers.owners([claim], locked)
    scope = {"consumers": {"uuid": [action.consumer]}}
    return Change(scope, lambda: tx.execute_all(consumers.savings(owners, locked.ids)))


def locked_consumer(
    tx: Transaction, uuid: str, generation: int, amounts: Amounts
) -> LockedConsumers:
    """Lock a consumer, and check that it is as in the plan.  Raises: ChangedSince."""
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
    return {provider: dict(by_class) for provider, by_class in amounts.items()}


def scope_of(uuids: Collection[str]) -> Scope:
    """Return the rows of consumers and of their allocations."""
    listed = sorted(uuids)
    return {"consumers": {"uuid": listed}, "allocations": {"consumer_id": listed}}


def set_tree(tx: Transaction, action: actions.SetTree) -> Change:
    """Set the parent and the root of a provider.  Raises: ChangedSince."""
    repairs = Repairs(tx.connection)
    row = _locked_provider(tx, action.provider, action.new_parent, action.new_root)
    ids = repairs.provider_ids([action.provider, action.new_root, action.new_parent or ""])
    current = (_uuid(tx, row.parent_id), _uuid(tx, row.root_id))
    if current != (action.parent, action.root):
        raise ChangedSince(
            f"The provider {row.uuid} has parent {current[0]} and root {current[1]}; planned were "
            f"{action.parent} and {action.root}."
        )
    parent_id = None if action.new_parent is None else ids[action.new_parent]
    root_id = ids[action.new_root]
    ancestors = _with_ancestors(tx, parent_id)
    if row.id in ancestors:
        raise ChangedSince(
            f"The provider {row.uuid} cannot have the parent {action.new_parent}, which is itself "
            "or below it: the parents would form a loop. Plan again, or correct new_parent."
        )
    if [row.id, *ancestors][-1] != root_id:
        raise ChangedSince(f"The chain of parents of {row.uuid} does not end at the new root.")
    scope = {"resource_providers": {"uuid": [row.uuid]}}
    return Change(
        scope,
        lambda: repairs.set_tree(row.id, parent_id, root_id),
        changed=[row.id, root_id],
    )


def rename_provider(tx: Transaction, action: actions.RenameProvider) -> Change:
    """Rename a provider.  Raises: ChangedSince, DuplicateProviderName."""
    row = _locked_provider(tx, action.provider)
    _check_provider(row, action.generation, action.name)
    scope = {"resource_providers": {"uuid": [row.uuid]}}
    return Change(scope, lambda: tx.providers.rename(row.id, action.new_name), changed=[row.id])


def delete_provider(tx: Transaction, action: actions.DeleteProvider) -> Change:
    """Delete a provider without children and allocations.  Raises: ChangedSince."""
    row = _locked_provider(tx, action.provider)
    _check_provider(row, action.generation, action.name)
    if tx.providers.has_children(row.id):
        raise ChangedSince(f"The provider {row.uuid} has children.")
    if tx.allocations.exist_on(row.id):
        raise ChangedSince(f"The provider {row.uuid} has allocations.")
    provider_rows = {"resource_provider_id": [row.id]}
    scope: Scope = {
        "resource_providers": {"uuid": [row.uuid]},
        "inventories": provider_rows,
        "resource_provider_traits": provider_rows,
        "resource_provider_aggregates": provider_rows,
    }
    return Change(scope, lambda: tx.providers.delete(row.id), removed={row.id: row.uuid})


def set_usage_counter(tx: Transaction, action: actions.SetUsageCounter) -> Change:
    """Set the usage counter of an inventory to the sum of its allocations.

    Raises: ChangedSince.
    """
    provider = _locked_provider(tx, action.provider)
    class_id = class_id_of(tx, action.resource_class)
    counter = Repairs(tx.connection).counter(provider.id, class_id)
    if counter is None:
        raise ChangedSince(f"{provider.uuid} has no inventory of {action.resource_class}.")
    if counter.used == counter.allocated:
        raise ChangedSince(f"The counter is the sum of the allocations: {counter.used}.")
    drift = Drift(provider.id, class_id, counter.used - counter.allocated, 0)
    return Change(
        {},
        lambda: tx.execute_all(inventories.additions({(provider.id, class_id): -drift.before})),
        changed=[provider.id],
        drift=drift,
    )


def _locked_provider(tx: Transaction, uuid: str, *also: str | None) -> ProviderRow:
    """Lock a provider and further ones; return the row of the first.  Raises: ChangedSince."""
    repairs = Repairs(tx.connection)
    uuids = {uuid, *also} - {None}
    ids = repairs.provider_ids(value for value in uuids if value is not None)
    missing = uuids - ids.keys()
    if missing:
        raise ChangedSince(f"The provider {', '.join(map(str, missing))} does not exist.")
    repairs.lock_providers(ids.values())
    row = repairs.provider(ids[uuid])
    if row is None:
        raise ChangedSince(f"The provider {uuid} does not exist.")
    return row


def _check_provider(row: ProviderRow, generation: int | None, name: str) -> None:
    if generation not in (None, row.generation):
        raise ChangedSince(
            f"The provider {row.uuid} has generation {row.generation}; it had {generation} when "
            "planned."
        )
    if row.name != name:
        raise ChangedSince(f"The provider {row.uuid} has the name {row.name}; not {name}.")


def _uuid(tx: Transaction, id_: int | None) -> str | None:
    row = None if id_ is None else Repairs(tx.connection).provider(id_)
    return None if row is None else row.uuid


def _with_ancestors(tx: Transaction, id_: int | None) -> list[int]:
    """Return the ids of a provider and its ancestors, the topmost last.

    Raises: ChangedSince if the parents form a loop.
    """
    chain: list[int] = []
    while id_ is not None and (row := Repairs(tx.connection).provider(id_)) is not None:
        if id_ in chain:
            raise ChangedSince(f"The provider {row.uuid} is in a loop of parents.")
        chain.append(id_)
        id_ = row.parent_id
    return chain


def remove_allocations(tx: Transaction, action: actions.RemoveAllocations) -> Change:
    """Remove the allocations of a consumer on some providers.  Raises: ChangedSince.

    The consumer is removed with its last allocation.
    """
    repairs = Repairs(tx.connection)
    locked = locked_consumer(tx, action.consumer, action.generation, action.allocations)
    _check_written_at(tx, action)
    providers, class_ids = tx.inventories.lock(list(action.allocations))
    check_names(locked.class_ids, class_ids)
    action_providers = {uuid: providers[uuid] for uuid in action.providers if uuid in providers}
    if len(action_providers) != len(action.providers):
        raise ChangedSince("A provider does not exist any more.")
    ids = [provider.id for provider in action_providers.values()]

    def perform() -> None:
        repairs.delete_allocations([action.consumer], ids)
        if repairs.without_allocations([action.consumer]):
            tx.execute_all(consumers.deletions(locked.ids.values()))
        else:
            repairs.advance_consumers([action.consumer])
        released = {
            (provider.id, class_ids[name]): -amount
            for uuid, provider in action_providers.items()
            for name, amount in action.allocations[uuid].items()
            if name in class_ids
        }
        tx.execute_all(inventories.additions(released))

    return Change(scope_of([action.consumer]), perform, changed=ids)


def _check_written_at(tx: Transaction, action: actions.RemoveAllocations) -> None:
    """Raise ChangedSince if the consumer was written after the plan.

    A consumer that was deleted and created again can have the same generation and allocations.
    """
    written_at = timestamp(Repairs(tx.connection).written_at(action.consumer))
    if written_at != action.written_at:
        raise ChangedSince(
            f"The consumer {action.consumer} was written at {written_at}; when planned, at "
            f"{action.written_at}."
        )


def move_allocations(tx: Transaction, action: actions.MoveAllocations) -> Change:
    """Move the allocations of a consumer from one provider to another.

    Raises: ChangedSince, and the errors of a claim on the target.
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
        {action.target if uuid == action.source else uuid: dict(by_class)
         for uuid, by_class in action.allocations.items()},
        "", "", check_generation=False,
    )  # fmt: skip
    state = AllocationState(locked.generations, locked.allocated, providers, class_ids)
    plan_claims(state, [claim])
    source, target = providers[action.source], providers[action.target]

    def perform() -> None:
        repairs.move_allocations(action.consumer, source.id, target.id)
        repairs.advance_consumers([action.consumer])
        moved = [(class_ids[name], amount) for name, amount in amounts.items()]
        released = {(source.id, class_id): -amount for class_id, amount in moved}
        added = {(target.id, class_id): amount for class_id, amount in moved}
        tx.execute_all(inventories.additions(released | added))

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
        removed = [locked.ids[uuid] for uuid in sorted(empty) if uuid in locked.ids]
        tx.execute_all(consumers.deletions(removed))
        repairs.advance_consumers(amounts.keys() - empty)

    return Change(scope_of(amounts.keys()), perform)


Perform = Callable[[Transaction, Any], Change]

_PERFORM: Mapping[type[Action], Perform] = {
    actions.RemoveAllocations: remove_allocations,
    actions.MoveAllocations: move_allocations,
    actions.RemoveStrayAllocations: remove_stray_allocations,
    actions.RemoveConsumer: remove_consumer,
    actions.SetUsageCounter: set_usage_counter,
    actions.SetTree: set_tree,
    actions.RenameProvider: rename_provider,
    actions.DeleteProvider: delete_provider,
    actions.DeleteResourceClass: delete_resource_class,
    actions.DeleteTrait: delete_trait,
}


def apply_action(
    store: Store, action: Action, incomplete: IncompleteConsumer, record: Record
) -> Outcome:
    """Apply an action.  Raises: the errors of a write and of ``record``."""
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
        return create_consumer(tx, action, incomplete)
    return _PERFORM[type(action)](tx, action)
