"""Resource providers: create, show, change and remove one."""

from collections.abc import Iterator, Mapping
from enum import Enum
from typing import Any, Final

from placement import exception
from placement.core.model import Provider
from placement.core.storable_text import check_storable
from placement.db.store import Store


class Parent(Enum):
    """What an update does about the parent when it names none."""

    UNCHANGED = "unchanged"


UNCHANGED: Final = Parent.UNCHANGED


def show(store: Store, uuid: str) -> Provider:
    """Return the provider.  Raises: ProviderNotFound."""
    with store.read() as tx:
        return found(tx, uuid)


def found(tx: Any, uuid: str) -> Provider:
    """Return the provider as the transaction sees it.  Raises: ProviderNotFound."""
    provider: Provider | None = tx.providers.find(uuid)
    if provider is None:
        raise exception.ProviderNotFound(uuid)
    return provider


def locked(tx: Any, uuid: str) -> Provider:
    """Return the provider, which only this transaction changes.  Raises: ProviderNotFound."""
    provider: Provider | None = tx.providers.lock(uuid)
    if provider is None:
        raise exception.ProviderNotFound(uuid)
    return provider


def locked_at(tx: Any, uuid: str, generation: int) -> Provider:
    """Return the provider, which only this transaction changes, if it is at the generation.

    Raises: ProviderNotFound, StaleProviderGeneration.
    """
    provider = locked(tx, uuid)
    if provider.generation != generation:
        raise exception.StaleProviderGeneration(uuid, provider.generation, generation)
    return provider


def create(store: Store, uuid: str, name: str, parent_uuid: str | None) -> Provider:
    """Return the new provider, generation 0.

    Raises: CannotCreateProvider, DuplicateProviderUuid, DuplicateProviderName,
    BadRequest for a name that no database can hold.
    """
    check_storable("name", name)
    if not name:
        raise exception.CannotCreateProvider(name, uuid, "name is required")
    if parent_uuid == uuid:
        raise exception.CannotCreateProvider(
            name, uuid, "parent provider UUID cannot be same as UUID"
        )
    return store.write(_create, uuid, name, parent_uuid)


def _create(tx: Any, uuid: str, name: str, parent_uuid: str | None) -> Provider:
    parent = None
    if parent_uuid is not None:
        # locked against being removed, or moved to another tree
        parent = tx.providers.lock_as_parent(parent_uuid)
        if parent is None:
            raise exception.CannotCreateProvider(
                name, uuid, "parent provider UUID does not exist."
            )
    id_ = tx.providers.insert(uuid, name, parent)
    created = found(tx, uuid)
    # the parent is written too: a lock alone is not known to other nodes of a cluster
    tx.publish([id_] if parent is None else [id_, parent.id])
    return created


def update(
    store: Store, uuid: str, name: str, parent: str | Parent | None, *, may_move: bool
) -> Provider:
    """Return the provider with its new name and parent; its generation does not change.

    ``may_move`` is false below 1.37, where a parent once set can neither be changed nor removed.
    ``modified_at`` of the answer is the time of this update, if it changed something.
    Raises: ProviderNotFound, CannotSaveProvider, DuplicateProviderName,
    BadRequest for a name that no database can hold.
    """
    check_storable("name", name)
    if parent is UNCHANGED:
        return store.write(_rename, uuid, name)
    return store.write(_rename_and_move, uuid, name, parent, may_move=may_move)


def _rename(tx: Any, uuid: str, name: str) -> Provider:
    provider = locked(tx, uuid)
    if name == provider.name:
        return provider
    tx.providers.rename(provider.id, name)
    renamed = found(tx, uuid)
    tx.publish([provider.id])
    return renamed


def _rename_and_move(
    tx: Any, uuid: str, name: str, parent_uuid: str | None, *, may_move: bool
) -> Provider:
    # All of both trees: a member that is moved elsewhere, or gets a child, at the same
    # time would leave a loop, or a root that is not where the parents lead.
    nodes = tx.providers.lock_trees([uuid] if parent_uuid is None else [uuid, parent_uuid])
    provider = found(tx, uuid)
    if (name, parent_uuid) == (provider.name, provider.parent_uuid):
        return provider
    _check_move(provider, parent_uuid, nodes, may_move=may_move)
    tx.providers.update(provider.id, name, parent_uuid and nodes[parent_uuid].id)
    changed = [provider.id]
    if parent_uuid != provider.parent_uuid:
        changed = list(_subtree(nodes, provider.id))
        tx.providers.move(changed, nodes[parent_uuid].root_id if parent_uuid else provider.id)
    updated = found(tx, uuid)
    # the new parent is written too: a lock alone is not known to other nodes of a cluster
    tx.publish([*changed, nodes[parent_uuid].id] if parent_uuid else changed)
    return updated


def _check_move(
    provider: Provider, parent_uuid: str | None, nodes: Mapping[str, Any], *, may_move: bool
) -> None:
    """Return if the provider may have the parent.  Raises: CannotSaveProvider."""
    reason = _objection(provider, parent_uuid, nodes, may_move=may_move)
    if reason is not None:
        raise exception.CannotSaveProvider(provider.uuid, reason)


def _objection(
    provider: Provider, parent_uuid: str | None, nodes: Mapping[str, Any], *, may_move: bool
) -> str | None:
    is_fixed = provider.parent_uuid is not None and not may_move
    if parent_uuid is None:
        return "un-parenting a provider is not currently allowed." if is_fixed else None
    if parent_uuid not in nodes:
        return "parent provider UUID does not exist."
    if parent_uuid == provider.parent_uuid:
        return None
    if is_fixed:
        return "re-parenting a provider is not currently allowed."
    if nodes[parent_uuid].id in _subtree(nodes, provider.id):
        return "creating loop in the provider tree is not allowed."
    return None


def _subtree(nodes: Mapping[str, Any], top: int) -> Iterator[int]:
    """Yield the ids of a provider and of all below it."""
    children: dict[int | None, list[int]] = {}
    for node in nodes.values():
        children.setdefault(node.parent_id, []).append(node.id)
    rest = [top]
    while rest:
        id_ = rest.pop()
        yield id_
        rest += children.get(id_, ())


def delete(store: Store, uuid: str) -> None:
    """Remove the provider with its inventories, traits and aggregate associations.

    Raises: ProviderNotFoundForDelete, ProviderHasChildren, ProviderInUse.
    """
    store.write(_delete, uuid)


def _delete(tx: Any, uuid: str) -> None:
    provider = tx.providers.lock(uuid)
    if provider is None:
        raise exception.ProviderNotFoundForDelete(uuid)
    if tx.providers.has_children(provider.id):
        raise exception.ProviderHasChildren(uuid)
    if tx.allocations.exist_on(provider.id):
        raise exception.ProviderInUse(uuid)
    tx.providers.delete(provider.id)
    tx.publish(removed={provider.id: uuid})
