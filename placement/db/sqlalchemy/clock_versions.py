"""Statements for a table of clocks with many versions of its rows, on PostgreSQL.

Each advance of a clock creates a version of its row. PostgreSQL removes old versions within the
next update of the page, but not while a transaction that may read them is open, such as that of
pg_dump: then 100,000 writes add 5 MB to the table, and each scan of it takes 1 ms longer.

On PostgreSQL the column ``clocks.era`` has the value of a clock without its last bits, and an
index has the versions of a clock in the order of eras. Read backward, it finds the newest version
after those of one era at most. Only one version of a row is visible to a statement, so the result
is that of a scan. An update that stays within an era does not write to the index, and its old
version can still be removed without VACUUM.

The size of the table is read with the other checks of a connection, once a second. These
statements are used for a large table only: a scan of a small one is faster.
"""

from collections.abc import MutableMapping
from typing import Any

import sqlalchemy as sa

ERA_BITS = 6
# a scan of so many pages takes as long as the descents in the index for all clocks
LARGE_BYTES = 32 * 8192

_NOTE = "clocks_bytes"

# for PostgreSQL alone: other databases keep old versions elsewhere
ADD_ERA = (
    "ALTER TABLE clocks ADD COLUMN era bigint NOT NULL "
    f"GENERATED ALWAYS AS (value >> {ERA_BITS}) STORED"
)
ADD_INDEX = "CREATE INDEX clocks_era_idx ON clocks (id, era)"

ERA: sa.ColumnElement[int] = sa.literal_column("clocks.era", sa.BigInteger)
# for large tables, in the place of clocks.ALL
ALL: sa.ColumnElement[str] = sa.literal_column(
    "(WITH RECURSIVE newest AS ("
    "(SELECT id, value FROM clocks ORDER BY id DESC, era DESC LIMIT 1)"
    " UNION ALL SELECT earlier.id, earlier.value FROM newest, LATERAL ("
    "SELECT id, value FROM clocks WHERE clocks.id < newest.id ORDER BY id DESC, era DESC LIMIT 1"
    ") AS earlier) SELECT string_agg(CAST(value AS VARCHAR(20)), ',') FROM newest)",
    sa.Text,
)
# for large tables: advances one clock; a concurrent transaction can only increase its era
ADVANCE = sa.text(
    "UPDATE clocks SET value = value + 1 WHERE id = :id AND era >= "
    "(SELECT era FROM clocks WHERE id = :id ORDER BY era DESC LIMIT 1)"
)


def note_size(info: MutableMapping[str, Any], size: int) -> None:
    """Record the size of the table of clocks, in bytes, with a connection of a pool."""
    info[_NOTE] = size


def are_many(connection: sa.Connection) -> bool:
    """Return whether the table was large when the connection was last checked."""
    size: int = connection.info.get(_NOTE, 0)
    return size > LARGE_BYTES
