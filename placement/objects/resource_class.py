"""Resource classes: standard classes and custom classes."""

from placement import exception
from placement.core.changes import ClassChange
from placement.core.model import NameList
from placement.core.text import among
from placement.db.clocks import start_epoch
from placement.db.resources.names import StoredName, summary
from placement.db.store import Store, write_transaction
from placement.db.transaction import Transaction


def list_all(store: Store) -> NameList:
    """Return the names of all classes, standard classes first, by id."""
    with store.read() as tx:
        return summary(tx.resource_classes.all())


def show(store: Store, name: str) -> NameList:
    """Return only this class.  Raises: ResourceClassNotFound."""
    with store.read() as tx:
        return summary([_existing(tx.resource_classes.find(name), name)])


def _existing(class_: StoredName | None, name: str) -> StoredName:
    if class_ is None:
        raise exception.ResourceClassNotFound(name)
    return class_


def create(store: Store, name: str) -> None:
    """Add a custom class.  Raises: ResourceClassExists."""
    if not ensure(store, name):
        raise exception.ResourceClassExists(name)


@write_transaction
def ensure(tx: Transaction, name: str) -> bool:
    """Create the class unless it exists; return whether it was created (1.7)."""
    if tx.resource_classes.ids([name]):
        return False
    tx.resource_classes.insert(name)
    tx.publish(names=True, changes=[ClassChange(None, name)])
    return True


@write_transaction
def rename(tx: Transaction, name: str, new_name: str) -> None:
    """Rename a custom class (1.2 to 1.6).

    Raises: ResourceClassNotFound, StandardClassNotRenamable, ResourceClassNameTaken.
    """
    renamed = _existing(tx.resource_classes.lock(name), name)
    if renamed.is_standard:
        raise exception.StandardClassNotRenamable(name)
    if new_name == renamed.name:
        return
    if tx.resource_classes.ids([new_name]):
        raise exception.ResourceClassNameTaken(new_name)
    tx.resource_classes.rename(renamed.id, new_name)
    # the providers that have it look different now, and none of them was written
    tx.publish(names=True, changes=[ClassChange(name, new_name)])
    start_epoch(tx.connection)


@write_transaction
def delete(tx: Transaction, name: str) -> None:
    """Delete a custom class.

    Raises: ResourceClassNotFound, StandardClassNotDeletable, ResourceClassInUse.
    """
    removed = _existing(tx.resource_classes.lock(name), name)
    if removed.is_standard:
        raise exception.StandardClassNotDeletable(name)
    if user := tx.resource_classes.user_of(removed.id):
        raise exception.ResourceClassInUse(name, among(*user))
    tx.resource_classes.delete(removed.id)
    tx.publish(names=True, changes=[ClassChange(name, None)])
