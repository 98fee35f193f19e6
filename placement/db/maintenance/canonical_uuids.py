"""Converts stored UUIDs to their canonical form: lower case, with hyphens.

The service looks up UUIDs in canonical form only. Other implementations, and earlier releases of
this one, stored the UUIDs of consumers and aggregates as clients wrote them.
"""

import logging
from collections.abc import Iterable

import sqlalchemy as sa

from placement.core.text import canonical_uuid
from placement.db.resources.names import chunks
from placement.db.store import Store
from placement.db.tables import allocations, consumers, placement_aggregates, resource_providers
from placement.db.transaction import Transaction

LOG = logging.getLogger(__name__)

_CANONICAL_PATTERN = "-".join("_" * length for length in (8, 4, 4, 4, 12))


def convert(store: Store) -> int:
    """Convert the stored UUIDs that are not canonical, and return their number.

    A UUID stays as it is if the database has its canonical form, too; this is logged.
    Cost: one scan of each table with UUIDs.
    """
    return store.write(_convert)


def _convert(tx: Transaction) -> int:
    connection = tx.connection
    changed = 0
    for column in (resource_providers.c.uuid, placement_aggregates.c.uuid):
        spellings = _convertible(connection, column, _spellings(connection, column))
        _update(connection, column, spellings)
        changed += len(spellings)
    if changed:
        tx.publish(names=True, epoch=True)
    return changed + _convert_consumers(connection)


def _convert_consumers(connection: sa.Connection) -> int:
    """Convert consumers with their allocations, and allocations without a consumer."""
    columns = (consumers.c.uuid, allocations.c.consumer_id)
    uuids = [uuid for column in columns for uuid in _spellings(connection, column)]
    spellings = _convertible(connection, consumers.c.uuid, uuids)
    for column in columns:
        _update(connection, column, spellings)
    return len(spellings)


def _spellings(connection: sa.Connection, column: sa.Column[str]) -> list[str]:
    """Return the distinct values of a column that are UUIDs in another than canonical form."""
    text = sa.cast(column, sa.BINARY) if _ignores_case(connection) else column
    lower = sa.func.lower(column)
    lower_text = sa.cast(lower, sa.BINARY) if _ignores_case(connection) else lower
    query = sa.select(column).where(
        sa.or_(column.not_like(_CANONICAL_PATTERN), text != lower_text)
    )
    uuids = set(connection.scalars(query))
    return sorted(uuid for uuid in uuids if canonical_uuid(uuid) not in (None, uuid))


def _ignores_case(connection: sa.Connection) -> bool:
    return connection.dialect.name in {"mysql", "mariadb"}


def _convertible(
    connection: sa.Connection, column: sa.Column[str], uuids: Iterable[str]
) -> dict[str, str]:
    """Return the canonical forms by spelling, without those that the column already has."""
    canonical = {uuid: canonical_uuid(uuid) or uuid for uuid in uuids}
    stored = {
        uuid
        for chunk in chunks(canonical.values())
        for uuid in connection.scalars(sa.select(column).where(column.in_(chunk)))
    }
    convertible: dict[str, str] = {}
    assigned: set[str] = set()
    for spelling, uuid in canonical.items():
        if uuid in stored or uuid in assigned:
            LOG.warning(
                "%s has the UUID %s in two spellings; %s is not found by requests. Remove one.",
                column.table.name,
                uuid,
                spelling,
            )
        else:
            convertible[spelling] = uuid
            assigned.add(uuid)
    return convertible


def _update(connection: sa.Connection, column: sa.Column[str], spellings: dict[str, str]) -> None:
    statement = (
        sa.update(column.table)
        .where(column == sa.bindparam("spelling"))
        .values({column.name: sa.bindparam("canonical")})
    )
    for spelling, uuid in spellings.items():
        connection.execute(statement, {"spelling": spelling, "canonical": uuid})
