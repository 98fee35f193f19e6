"""The transaction of one action: what it records, and how recorded rows are restored."""

from collections.abc import Iterable

import sqlalchemy as sa

from placement.core.model import IncompleteConsumer
from placement.db.claims.inventories import additions
from placement.db.resources.providers import lock_providers
from placement.db.tables import (
    consumer_types,
    inventories,
    resource_classes,
    resource_providers,
    traits,
)
from placement.db.transaction import Transaction
from placement.db.writes import rows_of
from placement_insight.audit.repair import rows
from placement_insight.audit.repair.rows import Image, Recorded, Scope

_class = resource_classes.c
_inventory = inventories.c
_provider = resource_providers.c
_CLASS_NAMES = sa.select(_class.id, _class.name).order_by(_class.id)
_PROVIDER_UUIDS = sa.select(_provider.id, _provider.uuid).order_by(_provider.id)
_NAMED = {
    **dict.fromkeys((resource_classes, traits, consumer_types), "name"),
    resource_providers: "uuid",
}


class ChangedSince(Exception):  # noqa: N818
    """The rows differ from the plan or the undo file; the message states the current values."""


class Repair:
    """The transaction in which an action is performed."""

    def __init__(self, tx: Transaction, incomplete: IncompleteConsumer) -> None:
        self.tx = tx
        self.incomplete = incomplete
        self._scope: Scope = {}
        self._before: Image = {}

    def record(self, scope: Scope) -> None:
        """Record the locked rows that the next statements change; the undo restores them."""
        self._scope = scope
        self._before = rows.read(self.tx.connection, scope)

    def recorded(self) -> Recorded:
        """Return what was recorded, with the rows as they are now."""
        before, after = self._before, rows.read(self.tx.connection, self._scope)
        of_classes = [
            *before.get("allocations", ()),
            *after.get("allocations", ()),
            *before.get("inventories", ()),
        ]
        provider_ids = {row["resource_provider_id"] for row in of_classes}
        for row in before.get("resource_providers", ()):
            provider_ids |= {row["parent_provider_id"], row["root_provider_id"]} - {None}
        class_ids = {row["resource_class_id"] for row in of_classes}
        providers = rows_of(
            self.tx.connection, _PROVIDER_UUIDS, _provider.id, sorted(provider_ids)
        )
        return Recorded(
            self._scope,
            before,
            after,
            {str(row.id): row.uuid for row in providers},
            {str(id_): name for id_, name in _class_names(self.tx, class_ids).items()},
        )


def _class_names(tx: Transaction, ids: Iterable[int]) -> dict[int, str]:
    """Return the names of the resource classes that exist."""
    found = rows_of(tx.connection, _CLASS_NAMES, _class.id, sorted(ids))
    return {row.id: row.name for row in found}


def class_id_of(tx: Transaction, name: str | int) -> int:
    """Return the id of a class; a class that does not exist is named by its id.

    Raises: ChangedSince.
    """
    if isinstance(name, int):
        return name
    class_id = tx.resource_classes.ids([name]).get(name)
    if class_id is None:
        raise ChangedSince(f"The resource class {name} does not exist.")
    return class_id


def lock(tx: Transaction, recorded: Recorded) -> None:
    """Lock the rows to restore.  Raises: ChangedSince if their ids belong to other rows now."""
    consumers = recorded.scope.get("consumers", {}).get("uuid", ())
    if consumers:
        tx.consumers.lock([*map(str, consumers)])
    locked = lock_providers(tx.connection, recorded.provider_ids)
    uuids = {provider.id: provider.uuid for provider in locked}
    for id_, uuid in recorded.providers.items():
        if uuids.get(int(id_)) != uuid:
            raise ChangedSince(f"The provider {uuid} does not exist any more.")
    names = _class_names(tx, map(int, recorded.classes))
    for id_, name in recorded.classes.items():
        if names.get(int(id_)) != name:
            raise ChangedSince(f"The resource class {name} does not exist any more.")


def restore(tx: Transaction, recorded: Recorded) -> None:
    """Restore the recorded rows, which are locked and as after the action.

    Raises: ChangedSince if other rows prevent it.
    """
    _check_names(tx, recorded)
    _check_inventories(tx, recorded)
    rows.restore(tx.connection, recorded)
    tx.execute_all(additions(recorded.released))
    names = bool({"resource_classes", "traits"} & recorded.scope.keys())
    tx.publish(recorded.provider_ids, names=names)


def _check_names(tx: Transaction, recorded: Recorded) -> None:
    """Raise ChangedSince if another row has the name or the id of a restored one."""
    for table, key in _NAMED.items():
        columns = (table.c[key], table.c.name, table.c.id)
        for row in recorded.before.get(table.name, ()):
            named = sa.literal(row["name"], table.c.name.type)  # NULL is not equal to NULL
            same = sa.or_(table.c.id == row["id"], table.c.name == named)
            for other, name, id_ in tx.connection.execute(sa.select(*columns).where(same)):
                if (other, id_) != (row[key], row["id"]):
                    raise ChangedSince(
                        f"{row[key]} had the name {row['name']} and the id {row['id']}; {other} "
                        f"has the name {name} and the id {id_}. Rename or delete that one first."
                    )


def _check_inventories(tx: Transaction, recorded: Recorded) -> None:
    """Raise ChangedSince if an inventory of restored allocations does not exist."""
    for (provider_id, class_id), amount in recorded.released.items():
        inventory = sa.select(_inventory.id).where(
            _inventory.resource_provider_id == provider_id,
            _inventory.resource_class_id == class_id,
        )
        if amount > 0 and tx.connection.execute(inventory).first() is None:
            raise ChangedSince(
                f"The provider {recorded.providers[str(provider_id)]} has no inventory of "
                f"{recorded.classes.get(str(class_id), class_id)}. Create it, then undo again."
            )
