"""Actions on the names of resource classes, traits and consumer types."""

import sqlalchemy as sa

from placement.core.model import CUSTOM_PREFIX
from placement.db.resources.names import StoredNames, select_names
from placement.db.tables import consumer_types, consumers
from placement_insight.audit.repair.action import Action, Text
from placement_insight.audit.repair.transaction import ChangedSince, Repair


class DeleteResourceClass(Action, kind="delete_resource_class"):
    """Delete a custom resource class that no inventory has."""

    resource_class: Text

    def perform(self, repair: Repair) -> None:
        """Delete the row, which is recorded."""
        _delete_custom(repair, repair.tx.resource_classes, "resource class", self.resource_class)


class DeleteTrait(Action, kind="delete_trait"):
    """Delete a custom trait that no provider has."""

    trait: Text

    def perform(self, repair: Repair) -> None:
        """Delete the row, which is recorded."""
        _delete_custom(repair, repair.tx.traits, "trait", self.trait)


class ConsumerTypes(StoredNames):
    """Consumer types, in one transaction.

    A claim reads the id of a type without a lock: its insert or update of the consumer locks the
    type by the foreign key. If the type was deleted in between, the foreign key fails, and the
    claim is run again and inserts the type.
    """

    table, _query = consumer_types, select_names(consumer_types)
    _reference = consumers.c.consumer_type_id

    def user_of(self, id_: int) -> tuple[int, str, None] | None:
        """Return the number of consumers with a locked type, and the UUID of one, if any."""
        users = sa.select(sa.func.count(), sa.func.min(consumers.c.uuid))
        number, uuid = self._connection.execute(users.where(self._reference == id_)).one()
        return (number, uuid, None) if number else None

    def has_foreign_key(self) -> bool:
        """Return whether the database has the foreign key, without which no type may be deleted.

        SQLite does not check it, but has one writer at a time.
        """
        keys = sa.inspect(self._connection).get_foreign_keys(consumers.name)
        return any(key["referred_table"] == self.table.name for key in keys)


class DeleteConsumerType(Action, kind="delete_consumer_type"):
    """Delete a consumer type that no consumer has; the next claim of this type inserts it."""

    type: Text

    def perform(self, repair: Repair) -> None:
        """Delete the row, which is recorded; snapshots do not have consumer types."""
        types = ConsumerTypes(repair.tx.connection)
        if not types.has_foreign_key():
            raise ChangedSince(
                "The table consumers has no foreign key to consumer_types, so a concurrent claim "
                f"could use the type {self.type} while it is deleted. Add it: ALTER TABLE "
                "consumers ADD CONSTRAINT consumers_consumer_type_id_fkey FOREIGN KEY "
                "(consumer_type_id) REFERENCES consumer_types (id)."
            )
        _delete(repair, types, "consumer type", self.type)


def _delete_custom(repair: Repair, names: StoredNames, noun: str, name: str) -> None:
    if not name.startswith(CUSTOM_PREFIX):
        raise ChangedSince(f"The {noun} {name} is a standard name.")
    _delete(repair, names, noun, name)
    repair.tx.publish(names=True)


def _delete(repair: Repair, names: StoredNames, noun: str, name: str) -> None:
    """Delete a name that nothing uses, and record its row.  Raises: ChangedSince."""
    row = names.lock(name)
    if row is None:
        raise ChangedSince(f"The {noun} {name} does not exist.")
    if names.user_of(row.id):
        raise ChangedSince(f"The {noun} {name} is in use.")
    repair.record({names.table.name: {"name": [name]}})
    names.delete(row.id)
