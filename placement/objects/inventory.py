"""Inventories of one provider.

A write with a stale generation is refused. A write increases the provider's generation by one. It
returns the written inventories as the database has them: MySQL rounds allocation ratios.
"""

import logging
from collections.abc import Iterator, Mapping, Sequence

from placement import exception
from placement.core.capacity import check_minimum, integer_capacity, is_within_capacity
from placement.core.changes import Change, of_inventories
from placement.core.model import (
    CreateInventory,
    Inventory,
    Provider,
    ProviderInventories,
    ReplaceInventories,
    UpdateInventory,
)
from placement.core.text import among
from placement.db.claims.inventories import StoredInventory
from placement.db.store import Store, write_transaction
from placement.db.transaction import Transaction
from placement.objects.provider import locked, locked_at_generation

LOG = logging.getLogger(__name__)

Stored = Mapping[str, StoredInventory]
"""Inventories by resource class."""


def list_of(store: Store, uuid: str) -> ProviderInventories:
    """Return all inventories of the provider.  Raises: ProviderNotFound."""
    return _as_stored(*store.read_once(lambda tx: tx.inventories.of(uuid)))


def _as_stored(generation: int, stored: Stored) -> ProviderInventories:
    times = (row.modified_at for row in stored.values() if row.modified_at)
    inventories = {name: row.inventory for name, row in stored.items()}
    return ProviderInventories(generation, inventories, max(times, default=None))


def present(tx: Transaction, provider: Provider) -> Stored:
    """Return the stored inventories of a provider, by class."""
    return tx.inventories.of(provider.uuid)[1]


def show(store: Store, uuid: str, resource_class: str) -> ProviderInventories:
    """Return the provider with only this inventory.

    Raises: ProviderNotFound, InventoryNotFound.
    """
    generation, stored = store.read_once(lambda tx: tx.inventories.of(uuid))
    if resource_class not in stored:
        raise exception.InventoryNotFound(resource_class, uuid)
    return _as_stored(generation, {resource_class: stored[resource_class]})


@write_transaction
def create(tx: Transaction, command: CreateInventory) -> ProviderInventories:
    """Add one inventory, without checking the generation.

    Raises: ProviderNotFound, NegativeCapacity, UnknownResourceClass (400),
    InventoryExists (409 concurrent).
    """
    provider = locked(tx, command.provider_uuid)
    added = {command.resource_class: command.inventory}
    check_minimum(added, command.minimum_capacity, uuid=provider.uuid, action="create")
    action = f"Unable to create inventory for resource provider {provider.uuid}"
    class_ids = used_classes(tx, added, action)
    stored = present(tx, provider)
    if command.resource_class in stored:
        raise exception.InventoryExists(provider.uuid, command.resource_class)
    tx.inventories.insert(provider.id, {class_ids[command.resource_class]: command.inventory})
    return _written(tx, provider, stored)


def replace(store: Store, command: ReplaceInventories) -> ProviderInventories:
    """Replace the inventories of the provider.

    After the commit, logs each class whose new capacity is less than its usage.
    Raises: ProviderNotFound, StaleProviderGeneration, NegativeCapacity,
    UnknownResourceClass (400), InventoryInUse.
    """
    return _logged(store.write(_replace, command))


_Change = tuple[ProviderInventories, Sequence[str]]
"""The written inventories, and texts on the classes whose usage exceeds the new capacity."""


def _logged(change: _Change) -> ProviderInventories:
    written, overcommits = change
    for overcommit in overcommits:
        LOG.warning("Inventory change leaves less than is used: %s", overcommit)
    return written


def _replace(tx: Transaction, command: ReplaceInventories) -> _Change:
    provider = locked_at_generation(tx, command.provider_uuid, command.generation)
    check_minimum(
        command.inventories, command.minimum_capacity, uuid=provider.uuid, action="update"
    )
    action = f"Unknown resource class in inventory for resource provider {provider.uuid}"
    class_ids = used_classes(tx, command.inventories, action)
    stored = present(tx, provider)
    remove_others(tx, provider, stored, command.inventories)
    overcommits = put(tx, provider, stored, command.inventories, class_ids)
    return _written(tx, provider, stored), overcommits


def used_classes(
    tx: Transaction, inventories: Mapping[str, Inventory], action: str
) -> dict[str, int]:
    """Return the ids of the classes, which cannot be removed until the transaction ends.

    Raises: UnknownResourceClass, whose message begins with ``action``.
    """
    class_ids = {row.name: row.id for row in tx.resource_classes.lock_shared(inventories.keys())}
    for name in inventories:
        if name not in class_ids:
            raise exception.UnknownResourceClass(name, action)
    return class_ids


def remove_others(
    tx: Transaction,
    provider: Provider,
    stored: Stored,
    inventories: Mapping[str, Inventory],
) -> None:
    """Delete the other stored inventories of a locked provider.  Raises: InventoryInUse."""
    removed = {name: row.class_id for name, row in stored.items() if name not in inventories}
    in_use = tx.inventories.in_use(provider.id, removed)
    class_ids = [removed[name] for name in in_use]
    if in_use and (holders := tx.allocations.holders_on(provider.id, class_ids)):
        raise exception.InventoryInUse(provider.uuid, in_use, among(*holders))
    tx.inventories.delete(provider.id, removed.values())


def put(
    tx: Transaction,
    provider: Provider,
    stored: Stored,
    inventories: Mapping[str, Inventory],
    class_ids: Mapping[str, int],
) -> Sequence[str]:
    """Add or change inventories of a locked provider; return texts on the overcommits.

    Equal inventories are not written: the audit names the time at which an inventory changed.
    """
    changed = {
        class_ids[name]: row
        for name, row in inventories.items()
        if name in stored and row != stored[name].inventory
    }
    new = {class_ids[name]: row for name, row in inventories.items() if name not in stored}
    tx.inventories.update(provider.id, changed)
    tx.inventories.insert(provider.id, new)
    return _overcommits(provider, inventories, stored)


def _overcommits(
    provider: Provider,
    inventories: Mapping[str, Inventory],
    present: Stored,
) -> list[str]:
    used = {name: row.used for name, row in present.items() if row.used}
    return [
        f"provider {provider.name} ({provider.uuid}), resource_class {name}, used {used[name]}, "
        f"reserved {inventory.reserved}, capacity {integer_capacity(inventory)}"
        for name, inventory in inventories.items()
        if name in used and not is_within_capacity(inventory, used[name], 0)
    ]


def update(store: Store, command: UpdateInventory) -> ProviderInventories:
    """Change one existing inventory; logs as ``replace`` does.

    Raises: ProviderNotFound, StaleProviderGeneration, NegativeCapacity,
    ResourceClassNotFound (404), NoInventoryRecord (400).
    """
    return _logged(store.write(_update, command))


def _update(tx: Transaction, command: UpdateInventory) -> _Change:
    provider = locked_at_generation(tx, command.provider_uuid, command.generation)
    changed = {command.resource_class: command.inventory}
    check_minimum(changed, command.minimum_capacity, uuid=provider.uuid, action="update")
    stored = present(tx, provider)
    if command.resource_class not in stored:
        if tx.resource_classes.find(command.resource_class) is None:
            raise exception.ResourceClassNotFound(command.resource_class)
        raise exception.NoInventoryRecord(provider.uuid, command.resource_class)
    class_ids = {command.resource_class: stored[command.resource_class].class_id}
    overcommits = put(tx, provider, stored, changed, class_ids)
    return _written(tx, provider, stored), overcommits


@write_transaction
def delete(tx: Transaction, uuid: str, resource_class: str) -> None:
    """Delete one inventory.

    Raises: ProviderNotFound, InventoryNotFoundForDelete (404),
    SingleInventoryInUse (409 concurrent).
    """
    provider = locked(tx, uuid)
    stored = present(tx, provider)
    row = stored.get(resource_class)
    if row is None:
        raise exception.InventoryNotFoundForDelete(resource_class)
    if holders := tx.allocations.holders_on(provider.id, [row.class_id]):
        raise exception.SingleInventoryInUse(uuid, resource_class, among(*holders))
    tx.inventories.delete(provider.id, [row.class_id])
    removed = changes(provider, {resource_class: row}, {})
    tx.publish(generation_bumped=[provider.id], changes=removed)


@write_transaction
def delete_all(tx: Transaction, uuid: str) -> None:
    """Delete all inventories; the generation increases even if there were none.

    Raises: ProviderNotFound, InventoryInUse.
    """
    provider = locked(tx, uuid)
    stored = present(tx, provider)
    remove_others(tx, provider, stored, {})
    tx.publish(generation_bumped=[provider.id], changes=changes(provider, stored, {}))


def changes(provider: Provider, before: Stored, after: Stored) -> Iterator[Change]:
    """Yield the change of the inventories of a provider, if they differ."""
    old, new = ({name: row.inventory for name, row in rows.items()} for rows in (before, after))
    yield from of_inventories(provider, old, new)


def _written(tx: Transaction, provider: Provider, before: Stored) -> ProviderInventories:
    """Publish the change; return the inventories after this write."""
    stored = present(tx, provider)
    tx.publish(generation_bumped=[provider.id], changes=changes(provider, before, stored))
    return _as_stored(provider.generation + 1, stored)
