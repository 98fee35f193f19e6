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

The tables of a Placement database, as existing deployments have them.

Names of tables, columns, indexes and constraints are those of any existing
deployment, which this service opens as it is. Additions of this service:
``inventories.used`` and ``resource_providers.counted_generation`` (see
:mod:`placement.db.usage_counters`), ``resource_providers.stamp``, ``clocks`` and
``removed_providers`` (see :mod:`placement.db.clocks`), and ``insight_requests``.
"""

from collections.abc import MutableMapping
from datetime import datetime
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
ALL_OF_MANY_VERSIONS: sa.ColumnElement[str] = sa.literal_column(
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


metadata = sa.MetaData()


def _timestamps() -> tuple[sa.Column[datetime], sa.Column[datetime]]:
    """Columns of every upstream table: naive UTC, filled by the application."""
    return sa.Column("created_at", sa.DateTime), sa.Column("updated_at", sa.DateTime)


resource_providers = sa.Table(
    "resource_providers",
    metadata,
    *_timestamps(),
    sa.Column("id", sa.Integer, primary_key=True, nullable=False),
    sa.Column("uuid", sa.String(36), nullable=False),
    sa.Column("name", sa.Unicode(200)),
    sa.Column("generation", sa.Integer, default=0),
    sa.Column("root_provider_id", sa.Integer, sa.ForeignKey("resource_providers.id")),
    sa.Column("parent_provider_id", sa.Integer, sa.ForeignKey("resource_providers.id")),
    # the value of the provider's clock when the row, or a row that belongs to it, last changed
    sa.Column("stamp", sa.BigInteger, nullable=False, server_default="0"),
    # the generation up to which the usage counters of the provider count all allocations
    sa.Column("counted_generation", sa.Integer, nullable=False, server_default="0"),
    sa.UniqueConstraint("uuid", name="uniq_resource_providers0uuid"),
    sa.UniqueConstraint("name", name="uniq_resource_providers0name"),
    sa.Index("resource_providers_root_provider_id_idx", "root_provider_id"),
    sa.Index("resource_providers_parent_provider_id_idx", "parent_provider_id"),
    sa.Index("resource_providers_stamp_idx", "stamp"),
)

inventories = sa.Table(
    "inventories",
    metadata,
    *_timestamps(),
    sa.Column("id", sa.Integer, primary_key=True, nullable=False),
    sa.Column("resource_provider_id", sa.Integer, nullable=False),
    sa.Column("resource_class_id", sa.Integer, nullable=False),
    sa.Column("total", sa.Integer, nullable=False),
    sa.Column("reserved", sa.Integer, nullable=False),
    sa.Column("min_unit", sa.Integer, nullable=False),
    sa.Column("max_unit", sa.Integer, nullable=False),
    sa.Column("step_size", sa.Integer, nullable=False),
    sa.Column("allocation_ratio", sa.Float, nullable=False),
    # the sum over allocations, kept in the same transaction as they change
    sa.Column("used", sa.BigInteger, nullable=False, server_default="0"),
    sa.UniqueConstraint(
        "resource_provider_id",
        "resource_class_id",
        name="uniq_inventories0resource_provider_resource_class",
    ),
    sa.Index("inventories_resource_class_id_idx", "resource_class_id"),
)

allocations = sa.Table(
    "allocations",
    metadata,
    *_timestamps(),
    sa.Column("id", sa.Integer, primary_key=True, nullable=False),
    sa.Column("resource_provider_id", sa.Integer, nullable=False),
    sa.Column("consumer_id", sa.String(36), nullable=False),  # the UUID, not consumers.id
    sa.Column("resource_class_id", sa.Integer, nullable=False),
    sa.Column("used", sa.Integer, nullable=False),
    sa.Index(
        "allocations_resource_provider_class_used_idx",
        "resource_provider_id",
        "resource_class_id",
        "used",
    ),
    sa.Index("allocations_resource_class_id_idx", "resource_class_id"),
    sa.Index("allocations_consumer_id_idx", "consumer_id"),
)

resource_classes = sa.Table(
    "resource_classes",
    metadata,
    *_timestamps(),
    # standard classes have the position in os-resource-classes as id, from 0; custom ones
    # get theirs from the application, from 10000
    sa.Column("id", sa.Integer, primary_key=True, nullable=False),
    sa.Column("name", sa.String(255), nullable=False),
    sa.UniqueConstraint("name", name="uniq_resource_classes0name"),
)

traits = sa.Table(
    "traits",
    metadata,
    *_timestamps(),
    sa.Column("id", sa.Integer, primary_key=True, nullable=False),
    sa.Column("name", sa.Unicode(255), nullable=False),
    sa.UniqueConstraint("name", name="uniq_traits0name"),
)

resource_provider_traits = sa.Table(
    "resource_provider_traits",
    metadata,
    *_timestamps(),
    sa.Column("trait_id", sa.Integer, sa.ForeignKey("traits.id"), primary_key=True),
    sa.Column(
        "resource_provider_id",
        sa.Integer,
        sa.ForeignKey("resource_providers.id"),
        primary_key=True,
    ),
    sa.Index(
        "resource_provider_traits_resource_provider_trait_idx",
        "resource_provider_id",
        "trait_id",
    ),
)

placement_aggregates = sa.Table(
    "placement_aggregates",
    metadata,
    *_timestamps(),
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("uuid", sa.String(36)),
    sa.UniqueConstraint("uuid", name="uniq_placement_aggregates0uuid"),
)

resource_provider_aggregates = sa.Table(
    "resource_provider_aggregates",
    metadata,
    *_timestamps(),
    sa.Column("resource_provider_id", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("aggregate_id", sa.Integer, primary_key=True, autoincrement=False),
    sa.Index("resource_provider_aggregates_aggregate_id_idx", "aggregate_id"),
)

projects = sa.Table(
    "projects",
    metadata,
    *_timestamps(),
    sa.Column("id", sa.Integer, primary_key=True, nullable=False),
    sa.Column("external_id", sa.String(255), nullable=False),
    sa.UniqueConstraint("external_id", name="uniq_projects0external_id"),
)

users = sa.Table(
    "users",
    metadata,
    *_timestamps(),
    sa.Column("id", sa.Integer, primary_key=True, nullable=False),
    sa.Column("external_id", sa.String(255), nullable=False),
    sa.UniqueConstraint("external_id", name="uniq_users0external_id"),
)

consumer_types = sa.Table(
    "consumer_types",
    metadata,
    *_timestamps(),
    sa.Column("id", sa.Integer, primary_key=True, nullable=False),
    sa.Column("name", sa.Unicode(255), nullable=False),
    sa.UniqueConstraint("name", name="uniq_consumer_types0name"),
)

consumers = sa.Table(
    "consumers",
    metadata,
    *_timestamps(),
    sa.Column("id", sa.Integer, primary_key=True, nullable=False),
    sa.Column("uuid", sa.String(36), nullable=False),
    sa.Column("project_id", sa.Integer, nullable=False),
    sa.Column("user_id", sa.Integer, nullable=False),
    sa.Column("generation", sa.Integer, nullable=False, server_default=sa.text("0")),
    sa.Column(
        "consumer_type_id",
        sa.Integer,
        sa.ForeignKey("consumer_types.id", name="consumers_consumer_type_id_fkey"),
    ),
    sa.UniqueConstraint("uuid", name="uniq_consumers0uuid"),
    sa.Index("consumers_project_id_uuid_idx", "project_id", "uuid"),
    sa.Index("consumers_project_id_user_id_uuid_idx", "project_id", "user_id", "uuid"),
    sa.Index("consumers_consumer_type_id_idx", "consumer_type_id"),
)

# --- ours ---------------------------------------------------------------------

clocks = sa.Table(
    "clocks",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("value", sa.BigInteger, nullable=False),
)
for _statement in (ADD_ERA, ADD_INDEX):
    _ddl = sa.DDL(_statement)  # type: ignore[no-untyped-call]
    sa.event.listen(clocks, "after_create", _ddl.execute_if(dialect="postgresql"))

removed_providers = sa.Table(
    "removed_providers",
    metadata,
    sa.Column("provider_id", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("stamp", sa.BigInteger, primary_key=True, autoincrement=False),
    # NULL where a release noted the removal that did not have this column
    sa.Column("uuid", sa.String(36)),
    sa.Index("removed_providers_stamp_idx", "stamp"),
)

insight_requests = sa.Table(
    "insight_requests",
    metadata,
    sa.Column("created_at", sa.DateTime, nullable=False),
    # in the order of time, see placement.insight.recording.model
    sa.Column("id", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("kind", sa.String(16), nullable=False),
    sa.Column("reason", sa.String(32), nullable=False),
    sa.Column("request_id", sa.String(40)),
    sa.Column("global_request_id", sa.String(40)),
    sa.Column("project_id", sa.String(255)),
    sa.Column("user_id", sa.String(255)),
    sa.Column("microversion", sa.String(8), nullable=False),
    sa.Column("query", sa.Text),
    sa.Column("claim", sa.Text),
    sa.Column("explanation", sa.Text, nullable=False),
    sa.Index("insight_requests_request_id_idx", "request_id"),
    sa.Index("insight_requests_global_request_id_idx", "global_request_id"),
)
