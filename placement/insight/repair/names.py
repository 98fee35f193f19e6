"""Actions on the names of resource classes and traits."""

from dataclasses import dataclass
from typing import ClassVar

from placement.db.resources.names import ResourceClasses, Traits
from placement.insight.repair.action import Action, Text
from placement.insight.repair.transaction import ChangedSince, Repair


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteResourceClass(Action):
    """Delete a custom resource class that no inventory has."""

    kind: ClassVar = "delete_resource_class"
    repairs: ClassVar = ("unused_class",)
    resource_class: Text

    def perform(self, repair: Repair) -> None:
        """Delete the row, which is recorded."""
        names = repair.tx.resource_classes
        id_ = _locked(names, "resource class", self.resource_class)
        repair.record({"resource_classes": {"name": [self.resource_class]}})
        names.delete(id_)
        repair.tx.publish(names=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteTrait(Action):
    """Delete a custom trait that no provider has."""

    kind: ClassVar = "delete_trait"
    repairs: ClassVar = ("unused_trait",)
    trait: Text

    def perform(self, repair: Repair) -> None:
        """Delete the row, which is recorded."""
        names = repair.tx.traits
        id_ = _locked(names, "trait", self.trait)
        repair.record({"traits": {"name": [self.trait]}})
        names.delete(id_)
        repair.tx.publish(names=True)


def _locked(names: ResourceClasses | Traits, noun: str, name: str) -> int:
    """Lock a custom name that nothing uses; return its id.  Raises: ChangedSince."""
    row = names.lock(name)
    if row is None:
        raise ChangedSince(f"The {noun} {name} does not exist.")
    if row.is_standard or names.is_in_use(row.id):
        raise ChangedSince(f"The {noun} {name} is in use.")
    return row.id
