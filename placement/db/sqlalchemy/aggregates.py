"""Statements about aggregates: UUIDs that are made when first used, and then stay."""

from collections.abc import Collection

import sqlalchemy as sa

from placement.db.sqlalchemy.clocks import utcnow
from placement.db.sqlalchemy.id_cache import Names
from placement.db.sqlalchemy.lookups import chunks, ids_by_name, ids_made
from placement.db.sqlalchemy.models import placement_aggregates, resource_provider_aggregates

_of = resource_provider_aggregates.c
_OF_PROVIDER = (
    sa.select(placement_aggregates.c.uuid, placement_aggregates.c.id)
    .join(resource_provider_aggregates, _of.aggregate_id == placement_aggregates.c.id)
    .where(_of.resource_provider_id == sa.bindparam("provider_id"))
    .order_by(placement_aggregates.c.id)
)
_TABLE = (placement_aggregates, placement_aggregates.c.uuid)


class Aggregates:
    """Aggregates, in one transaction."""

    def __init__(self, connection: sa.Connection, names: Names) -> None:
        self._connection = connection
        self._names = names

    def of_provider(self, provider_id: int) -> dict[str, int]:
        """Return the aggregates that a provider is associated with, and their ids."""
        rows = self._connection.execute(_OF_PROVIDER, {"provider_id": provider_id})
        return {row.uuid: row.id for row in rows}

    def ids(self, uuids: Collection[str]) -> dict[str, int]:
        """Return the ids of those that are there."""
        return ids_by_name(self._connection, *_TABLE, uuids)

    def make(self, uuids: Collection[str]) -> dict[str, int]:
        """Return the ids of aggregates that are not there yet, added."""
        return ids_made(self._connection, *_TABLE, uuids)

    def associate(self, provider_id: int, aggregate_ids: Collection[int]) -> None:
        """Add associations of a locked provider."""
        rows = [
            {
                "resource_provider_id": provider_id,
                "aggregate_id": aggregate_id,
                "created_at": utcnow(),
            }
            for aggregate_id in aggregate_ids
        ]
        if rows:
            self._connection.execute(resource_provider_aggregates.insert(), rows)

    def dissociate(self, provider_id: int, aggregate_ids: Collection[int]) -> None:
        """Remove associations of a locked provider."""
        for chunk in chunks(aggregate_ids):
            self._connection.execute(
                resource_provider_aggregates.delete().where(
                    _of.resource_provider_id == provider_id, _of.aggregate_id.in_(chunk)
                )
            )
