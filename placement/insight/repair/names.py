"""Actions on the names of resource classes, traits and consumer types."""

from dataclasses import dataclass
from typing import ClassVar

from placement.core.model import CUSTOM_PREFIX
from placement.db.resources.names import ConsumerTypes, ResourceClasses, Traits
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
        _check_custom("resource class", self.resource_class)
        _delete(repair, repair.tx.resource_classes, "resource class", self.resource_class)
        repair.tx.publish(names=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteTrait(Action):
    """Delete a custom trait that no provider has."""

    kind: ClassVar = "delete_trait"
    repairs: ClassVar = ("unused_trait",)
    trait: Text

    def perform(self, repair: Repair) -> None:
        """Delete the row, which is recorded."""
        _check_custom("trait", self.trait)
        _delete(repair, repair.tx.traits, "trait", self.trait)
        repair.tx.publish(names=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteConsumerType(Action):
    """Delete a consumer type that no consumer has; the next claim of this type inserts it."""

    kind: ClassVar = "delete_consumer_type"
    repairs: ClassVar = ("unused_type",)
    type: Text

    def perform(self, repair: Repair) -> None:
        """Delete the row, which is recorded; snapshots do not have consumer types."""
        types = repair.tx.consumer_types
        if not types.has_foreign_key():
            raise ChangedSince(
                "The table consumers has no foreign key to consumer_types, so a concurrent claim "
                f"could use the type {self.type} while it is deleted. Add it: ALTER TABLE "
                "consumers ADD CONSTRAINT consumers_consumer_type_id_fkey FOREIGN KEY "
                "(consumer_type_id) REFERENCES consumer_types (id)."
            )
        _delete(repair, types, "consumer type", self.type)


def _check_custom(noun: str, name: str) -> None:
    if not name.startswith(CUSTOM_PREFIX):
        raise ChangedSince(f"The {noun} {name} is a standard name.")


def _delete(
    repair: Repair, names: ConsumerTypes | ResourceClasses | Traits, noun: str, name: str
) -> None:
    """Delete a name that nothing uses, and record its row.  Raises: ChangedSince."""
    row = names.lock(name)
    if row is None:
        raise ChangedSince(f"The {noun} {name} does not exist.")
    if names.is_in_use(row.id):
        raise ChangedSince(f"The {noun} {name} is in use.")
    repair.record({names.table.name: {"name": [name]}})
    names.delete(row.id)
