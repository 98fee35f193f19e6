"""Statements for aggregates: UUIDs that are inserted on first use and never removed."""

from collections.abc import Collection

import sqlalchemy as sa

from placement.db.sqlalchemy.clocks import utcnow
from placement.db.sqlalchemy.lookups import chunks, ids_by_name, insert_names
from placement.db.sqlalchemy.models import placement_aggregates, resource_provider_aggregates

_association = resource_provider_aggregates.c
_OF_PROVIDER = (
    sa.select(placement_aggregates.c.uuid, placement_aggregates.c.id)
    .join(resource_provider_aggregates, _association.aggregate_id == placement_aggregates.c.id)
    .where(_association.resource_provider_id == sa.bindparam("provider_id"))
    .order_by(placement_aggregates.c.id)
)
_TABLE = (placement_aggregates, placement_aggregates.c.uuid)


class Aggregates:
    """Aggregates, in one transaction."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def of_provider(self, provider_id: int) -> dict[str, int]:
        """Return the ids of the aggregates that a provider is associated with, by UUID."""
        rows = self._connection.execute(_OF_PROVIDER, {"provider_id": provider_id})
        return {row.uuid: row.id for row in rows}

    def ids(self, uuids: Collection[str]) -> dict[str, int]:
        """Return the ids of the aggregates that exist."""
        return ids_by_name(self._connection, *_TABLE, uuids)

    def insert(self, uuids: Collection[str]) -> dict[str, int]:
        """Insert aggregates that do not exist, and return their ids."""
        return insert_names(self._connection, *_TABLE, uuids)

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
                    _association.resource_provider_id == provider_id,
                    _association.aggregate_id.in_(chunk),
                )
            )
