"""Statements for inventories and their usage counters.

First the providers are locked, then their inventories are read: at READ COMMITTED each statement
sees everything that was committed before it. A locking statement that reads other rows as well
would return some of them as they were before it waited: joined rows on PostgreSQL, subqueries
everywhere.

``inventories.used`` is the sum of the allocations of each inventory. It changes in the transaction
that changes ``allocations``, under the lock of the provider's row, and always by a difference.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from functools import lru_cache
from types import MappingProxyType
from typing import Any, NamedTuple

import sqlalchemy as sa

from placement.core.claims import ProviderUsage
from placement.core.model import Inventory
from placement.db.clocks import utcnow
from placement.db.errors import UsageNotCounted
from placement.db.resources.providers import (
    find_with,
    lock_providers,
    provider_ids,
    with_resources,
)
from placement.db.tables import (
    LIMITS,
    allocations,
    inventories,
    resource_classes,
    resource_providers,
)
from placement.db.writes import Statements, Write, chunks, numbered, one_of, rows_of

_inventory_c = inventories.c

_READ = (
    sa.select(
        _inventory_c.resource_provider_id,
        _inventory_c.resource_class_id,
        resource_classes.c.name.label("resource_class"),
        _inventory_c.used,
        *LIMITS,
    )
    .join(resource_classes, resource_classes.c.id == _inventory_c.resource_class_id)
    .order_by(_inventory_c.id)
)

# The largest number of MySQL's FLOAT, which has single precision
_MAX_RATIO = 3.40282e38

_WITH_PROVIDER = with_resources(
    [
        (inventories, _inventory_c.resource_provider_id == resource_providers.c.id),
        (resource_classes, resource_classes.c.id == _inventory_c.resource_class_id),
    ],
    resource_classes.c.name,
    _inventory_c.resource_class_id,
    _inventory_c.used,
    sa.func.coalesce(_inventory_c.updated_at, _inventory_c.created_at),
    *LIMITS,
).order_by(_inventory_c.resource_class_id)


def _provider_usage(provider: sa.Row[Any], rows: Iterable[Any]) -> ProviderUsage:
    """Return the inventories of one provider."""
    inventories_, used = {}, {}
    for _, _, name, amount, *limits in rows:
        inventory = Inventory(*limits)
        if inventory.step_size > 0:
            inventories_[name], used[name] = inventory, int(amount)
    return ProviderUsage(provider.id, inventories_, used, provider.name)


class StoredInventory(NamedTuple):
    """An inventory, the id of its class, its usage counter, and when it was written."""

    class_id: int
    inventory: Inventory
    used: int
    modified_at: datetime | None


class Inventories(Statements):
    """Inventories, in one transaction."""

    def of(self, uuid: str) -> tuple[int, dict[str, StoredInventory]]:
        """Return the generation of a provider, and its inventories by class, in order of ids.

        Raises: ProviderNotFound.
        """
        generation, rows = find_with(self._connection, _WITH_PROVIDER, uuid)
        return generation, {
            name: StoredInventory(class_id, Inventory(*limits), int(used), modified_at)
            for name, class_id, used, modified_at, *limits in rows
        }

    def lock(
        self,
        uuids: Collection[str],
        known_ids: Mapping[str, int] = MappingProxyType({}),
        released: Collection[str] = (),
    ) -> tuple[dict[str, ProviderUsage], dict[str, int]]:
        """Lock providers; return their inventories, and the class ids of the inventories.

        The inventories of providers that are only ``released`` are not read. Providers that do
        not exist are left out. ``known_ids`` has ids that were read before.
        Cost: two statements, and a third one to read ids that are not among them; one less if
        all are only released.
        Raises: UsageNotCounted, which the store handles.
        """
        requested = {*uuids, *released}
        read_ids = provider_ids(self._connection, requested - known_ids.keys())
        ids = {**known_ids, **read_ids}
        locked = lock_providers(self._connection, [ids[uuid] for uuid in requested & ids.keys()])
        uncounted = [provider.id for provider in locked if not provider.is_counted]
        if uncounted:
            raise UsageNotCounted(uncounted)
        read = [ids[uuid] for uuid in uuids if uuid in ids]
        rows = [*rows_of(self._connection, _READ, _inventory_c.resource_provider_id, read)]
        by_provider = defaultdict[int, list[Any]](list)
        for row in rows:
            by_provider[row.resource_provider_id].append(row)
        usages = {
            provider.uuid: _provider_usage(provider, by_provider[provider.id])
            for provider in locked
            if provider.uuid in requested
        }
        return usages, {row.resource_class: row.resource_class_id for row in rows}

    def insert(self, provider_id: int, added: Mapping[int, Inventory]) -> None:
        """Insert inventories, by class id, of a locked provider.

        Allocations of a class without inventory can only come from an older database. The usage
        counter includes them.
        """
        if not added:
            return
        used = self._allocated(provider_id, added)
        key = {"resource_provider_id": provider_id, "created_at": utcnow()}
        rows = [
            key | {"resource_class_id": class_id, "used": used.get(class_id, 0)} | _values(values)
            for class_id, values in added.items()
        ]
        self._connection.execute(inventories.insert(), rows)

    def _allocated(self, provider_id: int, class_ids: Collection[int]) -> dict[int, int]:
        """Return the allocated amounts, by class id, of the classes that have allocations."""
        rows = self._connection.execute(
            sa.select(allocations.c.resource_class_id, sa.func.sum(allocations.c.used))
            .where(
                allocations.c.resource_provider_id == provider_id,
                allocations.c.resource_class_id.in_(class_ids),
            )
            .group_by(allocations.c.resource_class_id)
            .order_by(allocations.c.resource_class_id)
        )
        return {class_id: int(amount) for class_id, amount in rows}

    def in_use(self, provider_id: int, class_ids: Mapping[str, int]) -> tuple[str, ...]:
        """Return the classes that have allocations on a locked provider, in the order of ids."""
        if not class_ids:
            return ()
        names = {class_id: name for name, class_id in class_ids.items()}
        return tuple(names[class_id] for class_id in self._allocated(provider_id, names))

    def update(self, provider_id: int, changed: Mapping[int, Inventory]) -> None:
        """Change inventories, by class id, of a locked provider.  Cost: one statement."""
        if not changed:
            return
        values = {class_id: _values(inventory) for class_id, inventory in changed.items()}
        columns = {
            column.name: sa.case(
                {class_id: row[column.name] for class_id, row in values.items()},
                value=_inventory_c.resource_class_id,
            )
            for column in LIMITS
        }
        self._connection.execute(
            inventories.update()
            .where(
                _inventory_c.resource_provider_id == provider_id,
                _inventory_c.resource_class_id.in_(list(changed)),
            )
            .values(updated_at=utcnow(), **columns)
        )

    def delete(self, provider_id: int, class_ids: Collection[int]) -> None:
        """Delete inventories of a locked provider."""
        if class_ids:
            self._connection.execute(
                inventories.delete().where(
                    _inventory_c.resource_provider_id == provider_id,
                    _inventory_c.resource_class_id.in_(class_ids),
                )
            )


def additions(amounts: Mapping[tuple[int, int], int]) -> list[Write]:
    """Return the writes that add to usage counters, by provider id and class id.

    The providers are locked. One write has up to a thousand counters of one provider.
    """
    by_provider = defaultdict[int, dict[int, int]](dict)
    for (provider_id, class_id), amount in sorted(amounts.items()):
        by_provider[provider_id][class_id] = amount
    writes = []
    for provider_id, by_class in by_provider.items():
        for chunk in chunks(by_class.items()):
            classes = numbered("class", [class_id for class_id, _ in chunk])
            added = numbered("amount", [amount for _, amount in chunk])
            values = {"provider": provider_id, **classes, **added}
            writes.append(Write(_addition(len(classes)), values))
    return writes


@lru_cache(maxsize=20)  # building a statement takes longer than sending it
def _addition(count: int) -> sa.Update:
    """Return the statement that adds the amounts of ``count`` classes."""
    class_id = _inventory_c.resource_class_id
    added = {
        sa.bindparam(f"class_{number}", type_=sa.Integer): sa.bindparam(
            f"amount_{number}", type_=sa.BigInteger
        )
        for number in range(count)
    }
    return (
        inventories.update()
        .where(_inventory_c.resource_provider_id == sa.bindparam("provider"))
        .where(one_of(class_id, "class", count))
        .values(used=_inventory_c.used + sa.case(added, value=class_id))
    )


def _values(inventory: Inventory) -> dict[str, Any]:
    """Return the columns of an inventory; the API limits only the maximum of the ratio."""
    values = {column.name: getattr(inventory, column.name) for column in LIMITS}
    ratio = max(-_MAX_RATIO, min(inventory.allocation_ratio, _MAX_RATIO))
    return values | {"allocation_ratio": float(ratio)}
