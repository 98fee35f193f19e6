"""Statements of repairs: what the API has no request for.

The caller locks consumers first, then providers in the order of ids, like every write.
"""

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from typing import Any, NamedTuple

import sqlalchemy as sa

from placement.db.sqlalchemy.clocks import utcnow
from placement.db.sqlalchemy.lookups import chunks
from placement.db.sqlalchemy.models import (
    allocations,
    consumers,
    inventories,
    resource_classes,
    resource_providers,
)

_allocation = allocations.c
_consumer = consumers.c
_inventory = inventories.c
_provider = resource_providers.c
_TREE = sa.select(
    _provider.id,
    _provider.uuid,
    _provider.name,
    sa.func.coalesce(_provider.generation, 0).label("generation"),
    _provider.parent_provider_id.label("parent_id"),
    _provider.root_provider_id.label("root_id"),
)


class ProviderRow(NamedTuple):
    """The row of a provider, which may have no root."""

    id: int
    uuid: str
    name: str | None
    generation: int
    parent_id: int | None
    root_id: int | None


class Counter(NamedTuple):
    """The usage counter of an inventory, and the sum of its allocations."""

    used: int
    allocated: int


class Repairs:
    """Statements of repairs, in one transaction."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def lock_providers(self, ids: Iterable[int]) -> dict[int, str]:
        """Lock the providers that exist, in the order of ids; return their UUIDs."""
        uuids: dict[int, str] = {}
        for chunk in chunks(sorted(set(ids))):
            statement = sa.select(_provider.id, _provider.uuid).where(_provider.id.in_(chunk))
            rows = self._connection.execute(statement.order_by(_provider.id).with_for_update())
            uuids |= {row.id: row.uuid for row in rows}
        return uuids

    def provider_ids(self, uuids: Iterable[str]) -> dict[str, int]:
        """Return the ids of the providers that exist."""
        ids: dict[str, int] = {}
        for chunk in chunks(sorted(set(uuids))):
            statement = sa.select(_provider.uuid, _provider.id).where(_provider.uuid.in_(chunk))
            ids |= {row.uuid: row.id for row in self._connection.execute(statement)}
        return ids

    def provider(self, id_: int) -> ProviderRow | None:
        """Return the row of a provider, None if it does not exist."""
        row = self._connection.execute(_TREE.where(_provider.id == id_)).one_or_none()
        return None if row is None else ProviderRow(*row)

    def providers_like(self, id_: int, name: str) -> list[ProviderRow]:
        """Return the providers that have the id or the name."""
        rows = self._connection.execute(
            _TREE.where(sa.or_(_provider.id == id_, _provider.name == name))
        )
        return [ProviderRow(*row) for row in rows]

    def written_at(self, consumer_uuid: str) -> datetime | None:
        """Return when a consumer was written last (naive UTC), None if that is not known."""
        at: datetime | None = self._connection.execute(
            sa.select(sa.func.coalesce(_consumer.updated_at, _consumer.created_at)).where(
                _consumer.uuid == consumer_uuid
            )
        ).scalar_one_or_none()
        return at

    def class_names(self, ids: Iterable[int]) -> dict[int, str]:
        """Return the names of the resource classes that exist."""
        own = resource_classes.c
        statement = sa.select(own.id, own.name).where(own.id.in_(set(ids)))
        return {row.id: row.name for row in self._connection.execute(statement)}

    # --- allocations ----------------------------------------------------------------

    def stray_consumers(self, provider_id: int, class_id: int) -> dict[str, int]:
        """Return the amounts, by consumer, of a class on a provider that does not exist."""
        rows = self._connection.execute(
            sa.select(_allocation.consumer_id, sa.func.sum(_allocation.used))
            .where(
                _allocation.resource_provider_id == provider_id,
                _allocation.resource_class_id == class_id,
            )
            .group_by(_allocation.consumer_id)
        )
        return {uuid: int(amount) for uuid, amount in rows}

    def delete_allocations(
        self,
        consumer_uuids: Iterable[str],
        provider_ids: Collection[int],
        class_id: int | None = None,
    ) -> None:
        """Delete what locked consumers have on the providers, of one class or of all."""
        of_class = [] if class_id is None else [_allocation.resource_class_id == class_id]
        for chunk in chunks(consumer_uuids):
            self._connection.execute(
                allocations.delete().where(
                    _allocation.consumer_id.in_(chunk),
                    _allocation.resource_provider_id.in_(provider_ids),
                    *of_class,
                )
            )

    def without_allocations(self, consumer_uuids: Iterable[str]) -> set[str]:
        """Return those of the consumers that have no allocations."""
        uuids = set(consumer_uuids)
        for chunk in chunks(sorted(uuids)):
            statement = sa.select(_allocation.consumer_id).where(
                _allocation.consumer_id.in_(chunk)
            )
            uuids.difference_update(self._connection.execute(statement).scalars())
        return uuids

    def move_allocations(self, consumer_uuid: str, source_id: int, target_id: int) -> None:
        """Move what a locked consumer has on a provider to another one."""
        self._connection.execute(
            allocations.update()
            .where(
                _allocation.consumer_id == consumer_uuid,
                _allocation.resource_provider_id == source_id,
            )
            .values(resource_provider_id=target_id, updated_at=utcnow())
        )

    def advance_consumers(self, uuids: Iterable[str]) -> None:
        """Increase the generations of locked consumers by one."""
        for chunk in chunks(sorted(uuids)):
            self._connection.execute(
                consumers.update()
                .where(_consumer.uuid.in_(chunk))
                .values(generation=_consumer.generation + 1, updated_at=utcnow())
            )

    # --- usage counters -------------------------------------------------------------

    def counter(self, provider_id: int, class_id: int) -> Counter | None:
        """Return the counter of an inventory of a locked provider, None without inventory."""
        summed = (
            sa.select(sa.func.coalesce(sa.func.sum(_allocation.used), 0))
            .where(
                _allocation.resource_provider_id == provider_id,
                _allocation.resource_class_id == class_id,
            )
            .scalar_subquery()
        )
        row = self._connection.execute(
            sa.select(_inventory.used, summed).where(
                _inventory.resource_provider_id == provider_id,
                _inventory.resource_class_id == class_id,
            )
        ).one_or_none()
        return None if row is None else Counter(int(row[0]), int(row[1]))

    # --- trees ----------------------------------------------------------------------

    def set_tree(self, provider_id: int, parent_id: int | None, root_id: int) -> None:
        """Set parent and root of a locked provider."""
        values: Mapping[str, Any] = {"parent_provider_id": parent_id, "root_provider_id": root_id}
        self._connection.execute(
            resource_providers.update()
            .where(_provider.id == provider_id)
            .values(**values, updated_at=utcnow())
        )
