"""Undo one action in one transaction, if its rows have not changed since.

If rows were created, renamed or removed in the meantime, the undo is skipped.
"""

from collections.abc import Iterable

from placement import exception
from placement.db.claims.inventories import additions
from placement.db.store import Store
from placement.db.transaction import Transaction
from placement.insight.repair.apply import ALREADY, APPLIED, SKIPPED, ChangedSince, Outcome
from placement.insight.repair.plan_file import AFTER, BEFORE, Image, Undo, state_of
from placement.insight.repair.sql import Repairs, RowImages


def undo_action(store: Store, entry: Undo) -> Outcome:
    """Undo an action; skip it if its rows have changed since."""
    try:
        return store.write(_restore, entry)
    except ChangedSince as error:
        return Outcome(SKIPPED, str(error))
    except exception.PlacementException as error:
        if isinstance(error, exception.DatabaseUnavailable | exception.CommitLost):
            raise
        return Outcome(SKIPPED, str(error))


def row_state(store: Store, entry: Undo) -> str | None:
    """Return whether the rows are as ``before`` or ``after`` the action, None if neither."""
    with store.read() as tx:
        return _state(tx, entry, RowImages(tx.connection).read(entry.scope))


def _restore(tx: Transaction, entry: Undo) -> Outcome:
    images = RowImages(tx.connection)
    _lock(tx, entry)
    current = images.read(entry.scope)
    state = _state(tx, entry, current)
    if state == BEFORE:
        return Outcome(ALREADY)
    if state != AFTER:
        raise ChangedSince("The rows have changed since the action.")
    _check_names(tx, entry)
    _check_inventories(tx, entry)
    images.restore(entry, current)
    if entry.drift is not None:
        key = (entry.drift.provider_id, entry.drift.class_id)
        tx.execute_all(additions({key: entry.drift.before - entry.drift.after}))
    tx.execute_all(additions(_difference(entry)))
    names = {"resource_classes", "traits"}
    tx.publish(map(int, _touched(entry)), names=bool(names & entry.scope.keys()))
    return Outcome(APPLIED)


def _lock(tx: Transaction, entry: Undo) -> None:
    """Lock the rows of the entry.  Raises: ChangedSince if its ids belong to other rows now."""
    repairs = Repairs(tx.connection)
    consumers = entry.scope.get("consumers", {}).get("uuid", ())
    if consumers:
        tx.consumers.lock(consumers)
    locked = repairs.lock_providers(map(int, _touched(entry)))
    for id_, uuid in entry.providers.items():
        if locked.get(int(id_)) != uuid:
            raise ChangedSince(f"The provider {uuid} does not exist any more.")
    names = repairs.class_names(map(int, entry.classes))
    for id_, name in entry.classes.items():
        if names.get(int(id_)) != name:
            raise ChangedSince(f"The resource class {name} does not exist any more.")


def _check_names(tx: Transaction, entry: Undo) -> None:
    """Raise ChangedSince if another provider has the name or the id of a restored one."""
    for row in entry.before.get("resource_providers", ()):
        for other in Repairs(tx.connection).providers_like(row["id"], row["name"]):
            if other.uuid != row["uuid"]:
                raise ChangedSince(
                    f"The provider {row['uuid']} had the name {row['name']} and the id "
                    f"{row['id']}; the provider {other.uuid} has the name {other.name} and the "
                    f"id {other.id}. Rename or retire that one first."
                )


def _check_inventories(tx: Transaction, entry: Undo) -> None:
    """Raise ChangedSince if an inventory of restored allocations does not exist."""
    for (provider_id, class_id), amount in _difference(entry).items():
        if amount > 0 and Repairs(tx.connection).counter(provider_id, class_id) is None:
            raise ChangedSince(
                f"The provider {entry.providers[str(provider_id)]} has no inventory of "
                f"{entry.classes.get(str(class_id), class_id)}. Create it, then undo again."
            )


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
    counter = Repairs(tx.connection).counter(entry.drift.provider_id, entry.drift.class_id)
    if counter is None:
        return None
    drift = counter.used - counter.allocated
    return {entry.drift.before: BEFORE, entry.drift.after: AFTER}.get(drift)


def _difference(entry: Undo) -> dict[tuple[int, int], int]:
    """Return the amounts that the undo adds to the counters of existing providers."""
    amounts: dict[tuple[int, int], int] = {}
    for image, sign in ((entry.before, 1), (entry.after, -1)):
        for row in image.get("allocations", ()):
            if str(row["resource_provider_id"]) in entry.providers:
                key = (row["resource_provider_id"], row["resource_class_id"])
                amounts[key] = amounts.get(key, 0) + sign * row["used"]
    return {key: amount for key, amount in amounts.items() if amount}
