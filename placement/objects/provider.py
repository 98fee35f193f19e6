"""Resource providers: create, show, update and delete one."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from typing import TypeVar

from placement import exception
from placement.core.changes import of_provider
from placement.core.model import Provider, ProviderSummary, UpdateProvider
from placement.core.request import ProviderFilter
from placement.core.text import among
from placement.db.resources.providers import Node, subtree
from placement.db.store import Store, write_transaction
from placement.db.transaction import Transaction

T = TypeVar("T")


def show(store: Store, uuid: str) -> Provider:
    """Return the provider.  Raises: ProviderNotFound."""
    return store.read_once(existing, uuid)


def parsed(store: Store, uuid: str, parse: Callable[[], T]) -> T:
    """Return the result of ``parse``; if it raises, report a missing provider first.

    Clients rely on 404 before 400 for an invalid body. A request that cannot be parsed has no
    write: this read is its only transaction. All other requests are checked by their write, in
    its transaction. The body is parsed before, since a slow client must not keep a row locked.
    Raises: ProviderNotFound, and all errors of ``parse``.
    """
    try:
        return parse()
    except exception.PlacementException:
        show(store, uuid)
        raise


def with_stored_name(store: Store, conditions: ProviderFilter) -> ProviderFilter:
    """Return the filter with the name that POST would report as a conflict with its name.

    It is the name itself, except on databases that compare names without regard to letter case.
    Cost: for a filter with a name, one statement on these databases; otherwise no statement.
    """
    if not conditions.name or store.compares_text_exactly:
        return conditions
    with store.read() as tx:
        name = tx.providers.stored_name(conditions.name)
    return replace(conditions, name=name or conditions.name)


def existing(tx: Transaction, uuid: str) -> Provider:
    """Return the provider as the transaction sees it.  Raises: ProviderNotFound."""
    provider = tx.providers.find(uuid)
    if provider is None:
        raise exception.ProviderNotFound(uuid)
    return provider


def locked(tx: Transaction, uuid: str) -> Provider:
    """Return the provider, locked against other writes.  Raises: ProviderNotFound."""
    provider = tx.providers.lock(uuid)
    if provider is None:
        raise exception.ProviderNotFound(uuid)
    return provider


def locked_at_generation(tx: Transaction, uuid: str, generation: int) -> Provider:
    """Return the provider, locked against other writes, if it is at the generation.

    Raises: ProviderNotFound, StaleProviderGeneration.
    """
    provider = locked(tx, uuid)
    if provider.generation != generation:
        raise exception.StaleProviderGeneration(uuid, provider.generation, generation)
    return provider


def create(store: Store, uuid: str, name: str, parent_uuid: str | None) -> Provider:
    """Return the new provider, generation 0.

    Raises: CannotCreateProvider, DuplicateProvider.
    """
    if not name:
        raise exception.CannotCreateProvider(name, uuid, "name is required")
    if parent_uuid == uuid:
        raise exception.CannotCreateProvider(
            name, uuid, "parent provider UUID cannot be same as UUID"
        )
    try:
        return store.write(_create, uuid, name, parent_uuid)
    except exception.DuplicateProvider:
        raise _conflict(store, name, uuid) from None


def _conflict(store: Store, name: str, new_uuid: str = "") -> exception.DuplicateProvider:
    """Return the conflict with the provider that has the UUID of a new provider, or the name.

    Databases differ in the constraint that they report if both are violated: one transaction reads
    both. If the database is unreachable, the conflict is that of the name, without its holder.
    """
    by_uuid = by_name = None
    with suppress(exception.DatabaseUnavailable), store.read() as tx:
        by_uuid = tx.providers.summary_with_uuid(new_uuid) if new_uuid else None
        by_name = None if by_uuid else tx.providers.summary_named(name)
    if by_uuid is not None:
        return exception.DuplicateProvider("uuid", new_uuid, _holder(by_uuid))
    return exception.DuplicateProvider("name", name, _holder(by_name))


def _holder(provider: ProviderSummary | None) -> exception.Holder | None:
    """Return the provider of a conflict; None if it was removed or the database is unreachable."""
    if provider is None:
        return None
    age = None
    if provider.changed_at is not None:
        elapsed = datetime.now(UTC).replace(tzinfo=None) - provider.changed_at
        age = max(0, int(elapsed.total_seconds()))
    return exception.Holder(
        provider.uuid, provider.name, provider.generation, age, provider.consumers
    )


def _create(tx: Transaction, uuid: str, name: str, parent_uuid: str | None) -> Provider:
    parent = None
    if parent_uuid is not None:
        # the lock prevents removal and moves to another tree
        parent = tx.providers.lock_trees([parent_uuid]).get(parent_uuid)
        if parent is None:
            raise exception.CannotCreateProvider(
                name, uuid, "parent provider UUID does not exist."
            )
    id_ = tx.providers.insert(uuid, name, parent)
    created = existing(tx, uuid)
    # also writes the parent: other Galera nodes do not see locks
    changed = [id_] if parent is None else [id_, parent.id]
    tx.publish(changed, changes=of_provider(None, created))
    return created


def update(store: Store, command: UpdateProvider) -> Provider:
    """Return the provider with its new name and parent; its generation does not change.

    The returned ``modified_at`` is the time of this update, if it changed something.
    Raises: ProviderNotFound, CannotSaveProvider, DuplicateProvider.
    """
    try:
        return store.write(_rename_and_move if command.has_parent else _rename, command)
    except exception.DuplicateProvider:
        raise _conflict(store, command.name) from None


def _rename(tx: Transaction, command: UpdateProvider) -> Provider:
    provider = locked(tx, command.uuid)
    if command.name == provider.name:
        return provider
    tx.providers.rename(provider.id, command.name)
    renamed = existing(tx, command.uuid)
    tx.publish([provider.id], changes=of_provider(provider, renamed))
    return renamed


def _rename_and_move(tx: Transaction, command: UpdateProvider) -> Provider:
    uuid, parent_uuid = command.uuid, command.parent_uuid
    # All of both trees: a member that concurrently is moved, or gets a child, would leave a loop,
    # or a root that is not the end of the chain of parents.
    nodes = tx.providers.lock_trees([uuid] if parent_uuid is None else [uuid, parent_uuid])
    if uuid not in nodes:
        raise exception.ProviderNotFound(uuid)
    provider = existing(tx, uuid)
    if (command.name, parent_uuid) == (provider.name, provider.parent_uuid):
        return provider
    _check_move(provider, parent_uuid, nodes, may_move=command.may_move)
    parent_id = None if parent_uuid is None else nodes[parent_uuid].id
    tx.providers.rename(provider.id, command.name, parent_provider_id=parent_id)
    changed = {provider.id}
    if parent_uuid != provider.parent_uuid:
        changed = subtree(nodes, provider.id)
        root_id = nodes[parent_uuid].root_id if parent_uuid else provider.id
        if root_id != nodes[uuid].root_id:
            tx.providers.move(changed, root_id)
    updated = existing(tx, uuid)
    # also writes the new parent: other Galera nodes do not see locks
    parents = [nodes[parent_uuid].id] if parent_uuid else []
    tx.publish([*changed, *parents], changes=of_provider(provider, updated))
    return updated


def _check_move(
    provider: Provider, parent_uuid: str | None, nodes: Mapping[str, Node], *, may_move: bool
) -> None:
    if parent_uuid is not None and parent_uuid not in nodes:
        raise exception.CannotSaveProvider(provider.uuid, "parent provider UUID does not exist.")
    if parent_uuid == provider.parent_uuid:
        return
    if provider.parent_uuid is not None and not may_move:
        action = "re-parenting" if parent_uuid else "un-parenting"
        raise exception.ParentIsFixed(
            provider.uuid, f"{action} a provider is not currently allowed."
        )
    if parent_uuid and nodes[parent_uuid].id in subtree(nodes, provider.id):
        reason = "creating loop in the provider tree is not allowed."
        raise exception.CannotSaveProvider(provider.uuid, reason)


@write_transaction
def delete(tx: Transaction, uuid: str) -> None:
    """Delete the provider with its inventories, traits and aggregate associations.

    Raises: ProviderNotFound, ProviderHasChildren, ProviderInUse.
    """
    provider = tx.providers.lock(uuid)
    if provider is None:
        raise exception.ProviderNotFound(uuid, " for delete")
    if children := tx.providers.children(provider.id):
        raise exception.ProviderHasChildren(uuid, among(len(children), *children[0]))
    if holders := tx.allocations.holders_on(provider.id):
        raise exception.ProviderInUse(uuid, among(*holders))
    tx.providers.delete(provider.id)
    tx.publish(removed={provider.id: uuid}, changes=of_provider(provider, None))
