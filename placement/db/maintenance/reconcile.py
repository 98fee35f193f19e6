"""Reconciles data that other programs wrote; writers may be active.

The service looks up UUIDs in canonical form only: lower case, with hyphens. Other implementations
store UUIDs of consumers and aggregates as clients write them, and do not update usage counters.
"""

import logging
from collections.abc import Callable, Iterable
from typing import Any

import sqlalchemy as sa

from placement.core.text import canonical_uuid
from placement.db.clocks import start_epoch
from placement.db.store import Store, ignore, write_transaction
from placement.db.tables import (
    GENERATION,
    NUMBERED,
    allocations,
    consumers,
    placement_aggregates,
    resource_providers,
)
from placement.db.transaction import Transaction
from placement.db.usage_counters import count_again, differences
from placement.db.writes import chunks

LOG = logging.getLogger(__name__)

Report = Callable[[str], object]

_NOT_COUNTED = sa.select(resource_providers.c.id).where(
    resource_providers.c.counted_generation != GENERATION
)
_CANONICAL_PATTERN = "-".join("_" * length for length in (8, 4, 4, 4, 12))


def reconcile(store: Store, report: Report = ignore) -> int:
    """Set the usage counters to the sums of allocations; return how many were wrong.

    Writers may be active: the providers are locked, a batch at a time, and compared again.
    Providers whose ``counted_generation`` differs from their generation are also compared, so that
    their next write does not have to compare them.
    Cost: two statements, one of which reads all allocations from an index, then ``count_again``
    for each thousand providers that are compared again.
    """
    report("Comparing usage counters with allocations")
    with store.read() as tx:
        wrong = {row.provider_id for row in differences(tx.connection)}
        provider_ids = sorted(wrong.union(tx.connection.execute(_NOT_COUNTED).scalars()))
    corrected = checked = 0
    for batch in chunks(provider_ids):
        corrected += store.write(count_again, batch)
        checked += len(batch)
        report(f"Checked the usage counters of {checked} of {len(provider_ids)} providers")
    return corrected


def advance_sequences(connection: sa.Connection) -> None:
    """Let the sequences of PostgreSQL continue after the largest ids.

    Logical replication, and restores of rows only, write ids without the sequences.
    """
    if connection.dialect.name != "postgresql":
        return
    for table in NUMBERED:
        owned = sa.func.pg_get_serial_sequence(table, "id")
        if sequence := connection.scalar(sa.select(owned)):
            connection.exec_driver_sql(
                f"SELECT setval('{sequence}', max(id)) FROM {table} HAVING max(id) >="  # noqa: S608
                f" (SELECT last_value + CAST(is_called AS integer) FROM {sequence})"
            )


@write_transaction
def convert_uuids(tx: Transaction) -> None:
    """Convert the stored UUIDs that are not canonical.

    A UUID is not converted if the database also has its canonical form; this is logged.
    Cost: one scan of each table with UUIDs.
    """
    connection = tx.connection
    columns_of_snapshots = (resource_providers.c.uuid, placement_aggregates.c.uuid)
    has_changed = [_convert(connection, column) for column in columns_of_snapshots]
    _convert(connection, consumers.c.uuid, allocations.c.consumer_id)  # also without a consumer
    if any(has_changed):
        tx.publish(names=True)
        start_epoch(connection)


def _convert(connection: sa.Connection, *columns: sa.Column[str]) -> bool:
    """Convert the UUIDs in columns, the first of which is unique; return whether any changed."""
    uuids = [uuid for column in columns for uuid in _spellings(connection, column)]
    spellings = _convertible(connection, columns[0], uuids)
    rows = [{"spelling": spelling, "canonical": uuid} for spelling, uuid in spellings.items()]
    for column in columns if rows else ():
        update = sa.update(column.table).values({column.name: sa.bindparam("canonical")})
        connection.execute(update.where(column == sa.bindparam("spelling")), rows)
    return bool(rows)


def _spellings(connection: sa.Connection, column: sa.Column[str]) -> list[str]:
    """Return the distinct values of a column that are UUIDs, but not in canonical form."""
    text: sa.ColumnElement[Any] = column
    lower: sa.ColumnElement[Any] = sa.func.lower(column)
    if connection.dialect.name in {"mysql", "mariadb"}:  # these ignore letter case
        text, lower = sa.cast(text, sa.BINARY), sa.cast(lower, sa.BINARY)
    query = sa.select(column).where(sa.or_(column.not_like(_CANONICAL_PATTERN), text != lower))
    uuids = set(connection.scalars(query))
    return sorted(uuid for uuid in uuids if canonical_uuid(uuid) not in (None, uuid))


def _convertible(
    connection: sa.Connection, column: sa.Column[str], uuids: Iterable[str]
) -> dict[str, str]:
    """Return the canonical forms by spelling, except forms that the column already has."""
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
