"""How much of the numbers of 32 bits is used: ids that the database assigns, and generations.

Every claim takes ids of allocations, and an id is never used again: the counter of the database
counts, not the largest id. The counters of SQLite have 64 bits.
"""

from dataclasses import dataclass

import sqlalchemy as sa

from placement.db.store import Store
from placement.db.tables import NUMBERED, consumers, resource_providers

LAST = 2**31 - 1
_WARN_FROM = 0.7

# MySQL 8 returns counters that are up to a day old: information_schema_stats_expiry.
_MYSQL = """
    SELECT t.table_name, t.auto_increment FROM information_schema.tables t
    JOIN information_schema.columns c
      ON c.table_schema = t.table_schema AND c.table_name = t.table_name
    WHERE t.table_schema = DATABASE() AND t.table_name IN :tables
      AND c.column_name = 'id' AND c.data_type = 'int' AND t.auto_increment IS NOT NULL
"""
_POSTGRESQL = """
    SELECT c.table_name, s.last_value FROM information_schema.columns c
    JOIN pg_sequences s
      ON to_regclass(format('%I.%I', s.schemaname, s.sequencename))
       = to_regclass(pg_get_serial_sequence(format('%I.%I', c.table_schema, c.table_name), 'id'))
    WHERE c.table_schema = current_schema() AND c.table_name IN :tables
      AND c.column_name = 'id' AND c.data_type = 'integer' AND s.last_value IS NOT NULL
"""
_COUNTERS = {"mysql": _MYSQL, "mariadb": _MYSQL, "postgresql": _POSTGRESQL}


@dataclass(frozen=True, slots=True)
class UsedNumbers:
    """The largest number of a column so far."""

    column: str
    largest: int

    @property
    def share(self) -> float:
        """The used part of all numbers of the column."""
        return self.largest / LAST

    @property
    def is_high(self) -> bool:
        """Whether an operator should act."""
        return self.share >= _WARN_FROM


def used_ids(connection: sa.Connection) -> list[UsedNumbers]:
    """Return the used ids of each table.  Cost: on a server, one read of its catalog."""
    if connection.dialect.name not in _COUNTERS:
        return []
    statement = sa.text(_COUNTERS[connection.dialect.name]).bindparams(
        sa.bindparam("tables", NUMBERED, expanding=True)
    )
    counters = sorted((table, value) for table, value in connection.execute(statement))
    return [UsedNumbers(f"{table}.id", int(value)) for table, value in counters]


def used_numbers(connection: sa.Connection) -> list[UsedNumbers]:
    """Return the used numbers of each column with 32 bits.

    Cost: that of ``used_ids``, and on a server a pass over all providers and consumers.
    """
    if connection.dialect.name not in _COUNTERS:
        return []
    return [
        *used_ids(connection),
        *(
            UsedNumbers(
                f"{table.name}.generation",
                connection.scalar(sa.select(sa.func.max(table.c.generation))) or 0,
            )
            for table in (consumers, resource_providers)
        ),
    ]


def shares_of_ids(store: Store) -> dict[str, float]:
    """Return the used part of the ids of each table, for example of ``allocations.id``."""
    with store.read() as tx:
        return {used.column: used.share for used in used_ids(tx.connection)}
