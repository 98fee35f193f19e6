"""Apply one action of a plan, or undo it, in one transaction.

Each function locks the rows, checks that they are what the plan saw, changes them, and passes what
it did to ``record`` before the commit: whatever was committed has been recorded.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from placement import exception
from placement.core.claims import AllocationState, plan_claims
from placement.core.insight import repair as actions
from placement.core.insight.repair import Action, Amounts, action_as_json
from placement.core.insight.undo import AFTER, BEFORE, Drift, Image, Scope, Undo, state_of
from placement.core.model import ConsumerClaim, IncompleteConsumer
from placement.db.sqlalchemy.consumers import LockedConsumers
from placement.db.sqlalchemy.repairs import ProviderRow
from placement.db.store import Store, Transaction

Record = Callable[[Undo], object]

APPLIED: Final = "applied"
ALREADY: Final = "already"
SKIPPED: Final = "skipped"


class ChangedSince(Exception):  # noqa: N818
    """What the plan saw is not there any more; the message says what is."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """``applied``, ``already`` (by an earlier run) or ``skipped``, and why."""

    status: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Change:
    """What an action touches: the rows to record, and what to publish.

    ``perform`` makes the change; ``drift`` is that of the counter that it sets.
    """

    scope: Scope
    perform: Callable[[], object]
    changed: Collection[int] = ()
    bumped: Collection[int] = ()
    removed: Mapping[int, str] | None = None
    names: bool = False
    drift: Drift | None = None


Perform = Callable[[Transaction, Any], Change]


def apply(store: Store, action: Action, incomplete: IncompleteConsumer, record: Record) -> Outcome:
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
    change = _change(tx, action, incomplete)
    before = tx.row_images.read(change.scope)
    change.perform()
    tx.publish(
        change.changed,
        generation_bumped=change.bumped,
        removed=change.removed or {},
        names=change.names,
    )
    after = tx.row_images.read(change.scope)
    record(_undo(tx, action, change, before, after))


def _undo(tx: Transaction, action: Action, change: Change, before: Image, after: Image) -> Undo:
    rows = [*before.get("allocations", ()), *after.get("allocations", ())]
    provider_ids = {row["resource_provider_id"] for row in rows}
    class_ids = {row["resource_class_id"] for row in rows}
    if change.drift is not None:
        provider_ids.add(change.drift.provider_id)
        class_ids.add(change.drift.class_id)
    return Undo(
        action_as_json(action),
        change.scope,
        before,
        after,
        {str(id_): uuid for id_, uuid in tx.repairs.lock_providers(provider_ids).items()},
        {str(id_): name for id_, name in tx.repairs.class_names(class_ids).items()},
        change.drift,
    )


def undo(store: Store, entry: Undo) -> Outcome:
    """Undo an action; what has changed since is left as it is."""
    try:
        return store.write(_restore, entry)
    except ChangedSince as error:
        return Outcome(SKIPPED, str(error))


def state(store: Store, entry: Undo) -> str | None:
    """Return whether the rows are as ``before`` or ``after`` the action, None if neither."""
    with store.read() as tx:
        return _state(tx, entry, tx.row_images.read(entry.scope))


# --- actions ------------------------------------------------------------------------


def _change(tx: Transaction, action: Action, incomplete: IncompleteConsumer) -> Change:
    if isinstance(action, actions.CreateConsumer):
        return _create_consumer(tx, action, incomplete)
    return _PERFORM[type(action)](tx, action)


def _of_consumers(uuids: Collection[str]) -> Scope:
    listed = sorted(uuids)
    return {"consumers": {"uuid": listed}, "allocations": {"consumer_id": listed}}


def _locked_consumer(
    tx: Transaction, uuid: str, generation: int, amounts: Amounts
) -> LockedConsumers:
    """Lock a consumer that is as the plan saw it.  Raises: ChangedSince."""
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


def _remove_allocations(tx: Transaction, action: actions.RemoveAllocations) -> Change:
    locked = _locked_consumer(tx, action.consumer, action.generation, action.allocations)
    providers, class_ids = tx.inventories.lock(list(action.allocations))
    own = {uuid: providers[uuid] for uuid in action.providers if uuid in providers}
    if len(own) != len(action.providers):
        raise ChangedSince("A provider does not exist any more.")
    ids = [provider.id for provider in own.values()]

    def perform() -> None:
        tx.repairs.delete_allocations([action.consumer], ids)
        if tx.repairs.without_allocations([action.consumer]):
            tx.consumers.delete(locked.ids.values())
        else:
            tx.repairs.advance_consumers([action.consumer])
        tx.inventories.add_used(
            {
                (provider.id, class_ids[name]): -amount
                for uuid, provider in own.items()
                for name, amount in action.allocations[uuid].items()
                if name in class_ids
            }
        )

    return Change(_of_consumers([action.consumer]), perform, changed=ids)


def _move_allocations(tx: Transaction, action: actions.MoveAllocations) -> Change:
    locked = _locked_consumer(tx, action.consumer, action.generation, action.allocations)
    amounts = action.allocations.get(action.source)
    if amounts is None or action.target in action.allocations:
        raise ChangedSince(
            f"The consumer {action.consumer} must have allocations on {action.source} and none "
            f"on {action.target}; it has them on {', '.join(action.allocations) or 'none'}."
        )
    providers, class_ids = tx.inventories.lock([*action.allocations, action.target])
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
        tx.repairs.move_allocations(action.consumer, source.id, target.id)
        tx.repairs.advance_consumers([action.consumer])
        moved = [(class_ids[name], amount) for name, amount in amounts.items()]
        tx.inventories.add_used(
            {(source.id, class_id): -amount for class_id, amount in moved}
            | {(target.id, class_id): amount for class_id, amount in moved}
        )

    scope = _of_consumers([action.consumer])
    return Change(scope, perform, changed=[source.id], bumped=[target.id])


def _remove_consumer(tx: Transaction, action: actions.RemoveConsumer) -> Change:
    locked = _locked_consumer(tx, action.consumer, action.generation, {})
    if not tx.repairs.without_allocations([action.consumer]):
        raise ChangedSince(f"The consumer {action.consumer} has allocations.")
    scope = _of_consumers([action.consumer])
    return Change(scope, lambda: tx.consumers.delete(locked.ids.values()))


def _create_consumer(
    tx: Transaction, action: actions.CreateConsumer, incomplete: IncompleteConsumer
) -> Change:
    claim = ConsumerClaim(
        action.consumer, {}, incomplete.project_id, incomplete.user_id, check_generation=False
    )
    locked = tx.consumers.lock([action.consumer], [claim])
    if locked.ids:
        raise ChangedSince(f"The consumer {action.consumer} exists.")
    if tx.repairs.without_allocations([action.consumer]):
        raise ChangedSince(f"The consumer {action.consumer} has no allocations any more.")
    scope = {"consumers": {"uuid": [action.consumer]}}
    return Change(scope, lambda: tx.consumers.save([claim], locked))


def _remove_stray_allocations(tx: Transaction, action: actions.RemoveStrayAllocations) -> Change:
    class_id = _class_id(tx, action.resource_class)
    amounts = tx.repairs.stray_consumers(action.provider_id, class_id)
    locked = tx.consumers.lock(sorted(amounts))
    if tx.repairs.lock_providers([action.provider_id]):
        raise ChangedSince(f"A provider with the id {action.provider_id} exists.")
    amounts = tx.repairs.stray_consumers(action.provider_id, class_id)
    if sum(amounts.values()) != action.used:
        raise ChangedSince(
            f"{sum(amounts.values())} {action.resource_class} are allocated on the provider with "
            f"the id {action.provider_id}; planned were {action.used}."
        )

    def perform() -> None:
        tx.repairs.delete_allocations(sorted(amounts), [action.provider_id], class_id)
        empty = tx.repairs.without_allocations(amounts)
        tx.consumers.delete([locked.ids[uuid] for uuid in sorted(empty) if uuid in locked.ids])
        tx.repairs.advance_consumers(amounts.keys() - empty)

    return Change(_of_consumers(amounts.keys()), perform)


def _class_id(tx: Transaction, name: str) -> int:
    """Return the id of a class; one that does not exist is named by its id.

    Raises: ChangedSince.
    """
    if name.startswith("id ") and name[3:].isdecimal():
        return int(name[3:])
    class_id = tx.resource_classes.ids([name]).get(name)
    if class_id is None:
        raise ChangedSince(f"The resource class {name} does not exist.")
    return class_id


def _set_usage_counter(tx: Transaction, action: actions.SetUsageCounter) -> Change:
    provider = _locked_provider(tx, action.provider)
    class_id = _class_id(tx, action.resource_class)
    counter = tx.repairs.counter(provider.id, class_id)
    if counter is None:
        raise ChangedSince(f"{provider.uuid} has no inventory of {action.resource_class}.")
    if counter.used == counter.allocated:
        raise ChangedSince(f"The counter is the sum of the allocations: {counter.used}.")
    drift = Drift(provider.id, class_id, counter.used - counter.allocated, 0)
    return Change(
        {},
        lambda: tx.inventories.add_used({(provider.id, class_id): -drift.before}),
        changed=[provider.id],
        drift=drift,
    )


# --- providers ----------------------------------------------------------------------


def _locked_provider(tx: Transaction, uuid: str, *also: str | None) -> ProviderRow:
    """Lock a provider, with others, and return its row.  Raises: ChangedSince."""
    named = {uuid, *also} - {None}
    ids = tx.repairs.provider_ids(each for each in named if each is not None)
    missing = named - ids.keys()
    if missing:
        raise ChangedSince(f"The provider {', '.join(map(str, missing))} does not exist.")
    tx.repairs.lock_providers(ids.values())
    row = tx.repairs.provider(ids[uuid])
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


def _set_tree(tx: Transaction, action: actions.SetTree) -> Change:
    row = _locked_provider(tx, action.provider, action.new_parent, action.new_root)
    ids = tx.repairs.provider_ids([action.provider, action.new_root, action.new_parent or ""])
    seen = (_uuid(tx, row.parent_id), _uuid(tx, row.root_id))
    if seen != (action.parent, action.root):
        raise ChangedSince(
            f"The provider {row.uuid} has parent {seen[0]} and root {seen[1]}; planned were "
            f"{action.parent} and {action.root}."
        )
    parent_id = None if action.new_parent is None else ids[action.new_parent]
    root_id = ids[action.new_root]
    if (row.id if parent_id is None else _top(tx, parent_id)) != root_id:
        raise ChangedSince(f"The chain of parents of {row.uuid} does not end at the new root.")
    scope = {"resource_providers": {"uuid": [row.uuid]}}
    return Change(
        scope, lambda: tx.repairs.set_tree(row.id, parent_id, root_id), changed=[row.id, root_id]
    )


def _uuid(tx: Transaction, id_: int | None) -> str | None:
    row = None if id_ is None else tx.repairs.provider(id_)
    return None if row is None else row.uuid


def _top(tx: Transaction, id_: int) -> int | None:
    """Return the id of the end of a chain of parents, None if it is a loop."""
    seen: set[int] = set()
    while id_ not in seen:
        seen.add(id_)
        row = tx.repairs.provider(id_)
        if row is None or row.parent_id is None or tx.repairs.provider(row.parent_id) is None:
            return id_
        id_ = row.parent_id
    return None


def _rename_provider(tx: Transaction, action: actions.RenameProvider) -> Change:
    row = _locked_provider(tx, action.provider)
    _check_provider(row, action.generation, action.name)
    scope = {"resource_providers": {"uuid": [row.uuid]}}
    return Change(scope, lambda: tx.providers.rename(row.id, action.new_name), changed=[row.id])


def _delete_provider(tx: Transaction, action: actions.DeleteProvider) -> Change:
    row = _locked_provider(tx, action.provider)
    _check_provider(row, action.generation, action.name)
    if tx.providers.has_children(row.id):
        raise ChangedSince(f"The provider {row.uuid} has children.")
    if tx.allocations.exist_on(row.id):
        raise ChangedSince(f"The provider {row.uuid} has allocations.")
    own = {"resource_provider_id": [row.id]}
    scope: Scope = {
        "resource_providers": {"uuid": [row.uuid]},
        "inventories": own,
        "resource_provider_traits": own,
        "resource_provider_aggregates": own,
    }
    return Change(scope, lambda: tx.providers.delete(row.id), removed={row.id: row.uuid})


# --- names --------------------------------------------------------------------------


def _delete_resource_class(tx: Transaction, action: actions.DeleteResourceClass) -> Change:
    found = tx.resource_classes.lock(action.resource_class)
    if found is None:
        raise ChangedSince(f"The resource class {action.resource_class} does not exist.")
    if found.is_standard or tx.resource_classes.is_in_use(found.id):
        raise ChangedSince(f"The resource class {action.resource_class} is in use.")
    scope = {"resource_classes": {"name": [action.resource_class]}}
    return Change(scope, lambda: tx.resource_classes.delete(found.id), names=True)


def _delete_trait(tx: Transaction, action: actions.DeleteTrait) -> Change:
    found = tx.traits.lock(action.trait)
    if found is None:
        raise ChangedSince(f"The trait {action.trait} does not exist.")
    if found.is_standard or tx.traits.is_in_use(found.id):
        raise ChangedSince(f"The trait {action.trait} is in use.")
    scope = {"traits": {"name": [action.trait]}}
    return Change(scope, lambda: tx.traits.delete(found.id), names=True)


_PERFORM: Mapping[type[Action], Perform] = {
    actions.RemoveAllocations: _remove_allocations,
    actions.MoveAllocations: _move_allocations,
    actions.RemoveConsumer: _remove_consumer,
    actions.RemoveStrayAllocations: _remove_stray_allocations,
    actions.SetUsageCounter: _set_usage_counter,
    actions.SetTree: _set_tree,
    actions.RenameProvider: _rename_provider,
    actions.DeleteProvider: _delete_provider,
    actions.DeleteResourceClass: _delete_resource_class,
    actions.DeleteTrait: _delete_trait,
}


# --- undo ---------------------------------------------------------------------------


def _restore(tx: Transaction, entry: Undo) -> Outcome:
    _lock(tx, entry)
    current = tx.row_images.read(entry.scope)
    found = _state(tx, entry, current)
    if found == BEFORE:
        return Outcome(ALREADY)
    if found != AFTER:
        raise ChangedSince("The rows have changed since the action.")
    tx.row_images.restore(entry, current)
    if entry.drift is not None:
        key = (entry.drift.provider_id, entry.drift.class_id)
        tx.inventories.add_used({key: entry.drift.before - entry.drift.after})
    tx.inventories.add_used(_difference(entry))
    names = {"resource_classes", "traits"}
    tx.publish(map(int, _touched(entry)), names=bool(names & entry.scope.keys()))
    return Outcome(APPLIED)


def _lock(tx: Transaction, entry: Undo) -> None:
    """Lock what the entry concerns.  Raises: ChangedSince if it stands for other rows now."""
    consumers = entry.scope.get("consumers", {}).get("uuid", ())
    if consumers:
        tx.consumers.lock(consumers)
    locked = tx.repairs.lock_providers(map(int, _touched(entry)))
    for id_, uuid in entry.providers.items():
        if locked.get(int(id_)) != uuid:
            raise ChangedSince(f"The provider {uuid} does not exist any more.")
    names = tx.repairs.class_names(map(int, entry.classes))
    for id_, name in entry.classes.items():
        if names.get(int(id_)) != name:
            raise ChangedSince(f"The resource class {name} does not exist any more.")


def _touched(entry: Undo) -> Iterable[str]:
    """Return the ids of the providers of the entry, as text."""
    rows = [
        *entry.before.get("resource_providers", ()),
        *entry.after.get("resource_providers", ()),
    ]
    return {*entry.providers, *(str(row["id"]) for row in rows)}


def _state(tx: Transaction, entry: Undo, current: Image) -> str | None:
    if entry.drift is None:
        return state_of(entry, current)
    counter = tx.repairs.counter(entry.drift.provider_id, entry.drift.class_id)
    if counter is None:
        return None
    drift = counter.used - counter.allocated
    return {entry.drift.before: BEFORE, entry.drift.after: AFTER}.get(drift)


def _difference(entry: Undo) -> dict[tuple[int, int], int]:
    """Return what the undo adds to the counters of providers that exist."""
    amounts: dict[tuple[int, int], int] = {}
    for image, sign in ((entry.before, 1), (entry.after, -1)):
        for row in image.get("allocations", ()):
            if str(row["resource_provider_id"]) in entry.providers:
                key = (row["resource_provider_id"], row["resource_class_id"])
                amounts[key] = amounts.get(key, 0) + sign * row["used"]
    return {key: amount for key, amount in amounts.items() if amount}
