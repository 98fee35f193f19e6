"""The first claims of consumers: the statement that reads inventories reads all other state.

Most claims are those of new consumers. They need the providers with their inventories, the ids of
the owners, and that the consumers do not exist. A consumer that another transaction inserts later
violates the unique constraint, and the write starts again.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import sqlalchemy as sa

from placement.core.claims import ProviderUsage
from placement.core.model import ConsumerClaim
from placement.core.text import is_storable
from placement.db.claims.consumers import LockedConsumers, OwnerIds, is_first
from placement.db.claims.inventories import AddedColumns, lock_rows, usage_by_provider
from placement.db.resources.names import CHUNK, rows_named
from placement.db.statements import compiled
from placement.db.tables import allocations, consumers

# Each is a subquery. Usually there are three: a project, a user and a type.
_MAX_OWNERS = 10
_GENERATIONS = sa.select(consumers.c.uuid, consumers.c.generation)


class FirstState(NamedTuple):
    """The consumers, and what ``Inventories.lock`` returns.

    Consumers that exist have a generation only: the claims are wrong, and nothing else is read.
    """

    consumers: LockedConsumers
    providers: dict[str, ProviderUsage]
    class_ids: dict[str, int]


class FirstClaims:
    """Claims of consumers that do not exist, in one transaction."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def lock(self, claims: Sequence[ConsumerClaim]) -> FirstState | None:
        """Lock the providers of claims that say that their consumers are new.

        Returns None if some do not say so, if a consumer without row has allocations, if no
        provider exists, or if there are many owners: ``Consumers.lock`` then reads the state.
        A consumer that exists is not locked, because consumers are locked before providers.
        Cost: that of ``inventory_locks.lock_rows``, one more if a consumer exists.
        Raises: UsageNotCounted.
        """
        if not all(map(is_first, claims)):
            return None
        owner_ids = OwnerIds()
        owners = [(column, name) for column, own in owner_ids.missing(claims) for name in own]
        uuids = sorted({claim.consumer_uuid for claim in claims})
        if not _fit(uuids, owners):
            return None
        providers = {provider for claim in claims for provider in claim.resources}
        rows = lock_rows(self._connection, providers, _added_columns(uuids, owners))
        generations = self._generations(uuids) if rows and rows[0].has_consumer else {}
        if not rows or (rows[0].has_consumer and not generations):
            return None
        for number, (column, name) in enumerate(owners):
            id_ = getattr(rows[0], f"owner_{number}")
            owner_ids.by_column[column] |= {} if id_ is None else {name: id_}
        owner_ids.looked_up = True
        locked = LockedConsumers({}, generations, {}, {}, owner_ids)
        return FirstState(locked, *usage_by_provider(rows, providers))

    def _generations(self, uuids: Sequence[str]) -> dict[str, int]:
        rows = rows_named(self._connection, _GENERATIONS, consumers.c.uuid, uuids)
        return {row.uuid: row.generation for row in rows}


def _fit(uuids: Sequence[str], owners: Sequence[tuple[sa.Column[str], str]]) -> bool:
    texts = [*uuids, *[name for _, name in owners]]
    return len(uuids) <= CHUNK and len(owners) <= _MAX_OWNERS and is_storable("".join(texts))


def _added_columns(
    uuids: Sequence[str], owners: Sequence[tuple[sa.Column[str], str]]
) -> AddedColumns:
    listed = compiled.padded(uuids)
    values: dict[str, Any] = {f"consumer_{number}": uuid for number, uuid in enumerate(listed)}
    values |= {f"name_{number}": name for number, (_, name) in enumerate(owners)}
    return AddedColumns(_columns(len(listed), tuple(column for column, _ in owners)), values)


@lru_cache(maxsize=100)
def _columns(
    consumer_count: int, owners: Sequence[sa.Column[str]]
) -> tuple[sa.ColumnElement[Any], ...]:
    """Return the column ``has_consumer``, and one with the id, or NULL, of each owner.

    The database compares names by its collation. Its unique key allows only one of the names
    that are equal, so each subquery returns one row at most.
    """
    binds: list[sa.BindParameter[str]] = [
        sa.bindparam(f"consumer_{number}") for number in range(consumer_count)
    ]
    return (
        sa.or_(
            sa.exists().where(consumers.c.uuid.in_(binds)),
            sa.exists().where(allocations.c.consumer_id.in_(binds)),
        ).label("has_consumer"),
        *(
            sa.select(column.table.c.id)
            .where(column == sa.bindparam(f"name_{number}"))
            .scalar_subquery()
            .label(f"owner_{number}")
            for number, column in enumerate(owners)
        ),
    )
