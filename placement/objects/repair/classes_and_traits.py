"""Actions that delete unused resource classes and traits."""

from placement.core.insight import repair_actions as actions
from placement.db.sqlalchemy.resource_classes import ResourceClasses
from placement.db.sqlalchemy.traits import Traits
from placement.db.transaction import Transaction
from placement.objects.repair.change import Change, ChangedSince


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
    """Return the id of a class; one that does not exist is named by its id.

    Raises: ChangedSince.
    """
    if name.startswith("id ") and name[3:].isdecimal():
        return int(name[3:])
    class_id = tx.resource_classes.ids([name]).get(name)
    if class_id is None:
        raise ChangedSince(f"The resource class {name} does not exist.")
    return class_id
