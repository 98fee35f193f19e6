"""The tables of a Placement database, as existing deployments have them.

Tables, columns, indexes and constraints have the same names as in any existing
deployment, whose database this service opens unchanged. Additions of this service:
``inventories.used`` and ``resource_providers.counted_generation`` (see
:mod:`placement.db.usage_counters`), ``resource_providers.stamp``, ``clocks`` and
``removed_providers`` (see :mod:`placement.db.clocks`), ``insight_requests`` and
``insight_changes`` with ``insight_change_providers``.
"""

from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import mysql

metadata = sa.MetaData()

# Revisions after the first one that add tables and columns. The ``info`` of such a table or column
# has the key ``revision``, by which ``placement.db.schema.revisions`` compares a database.
CONSUMER_TYPES = "422ece571366"
OURS = "c0de5a1d7e10"
_OF_CONSUMER_TYPES = {"revision": CONSUMER_TYPES}
_OURS = {"revision": OURS}


def _timestamps() -> tuple[sa.Column[datetime], sa.Column[datetime]]:
    """Columns of every upstream table: naive UTC, filled by the application."""
    return sa.Column("created_at", sa.DateTime), sa.Column("updated_at", sa.DateTime)


def _table(name: str, *items: sa.schema.SchemaItem, **arguments: Any) -> sa.Table:
    """Return a table with timestamps and an id."""
    id_ = sa.Column("id", sa.Integer, primary_key=True, nullable=False)
    return sa.Table(name, metadata, *_timestamps(), id_, *items, **arguments)


resource_providers = _table(
    "resource_providers",
    sa.Column("uuid", sa.String(36), nullable=False),
    sa.Column("name", sa.Unicode(200)),
    sa.Column("generation", sa.Integer, default=0),
    sa.Column("root_provider_id", sa.Integer, sa.ForeignKey("resource_providers.id")),
    sa.Column("parent_provider_id", sa.Integer, sa.ForeignKey("resource_providers.id")),
    # the value of the provider's clock when the row, or a row that belongs to it, last changed
    sa.Column("stamp", sa.BigInteger, nullable=False, server_default="0", info=_OURS),
    # the generation up to which the usage counters of the provider count all allocations
    sa.Column("counted_generation", sa.Integer, nullable=False, server_default="0", info=_OURS),
    sa.UniqueConstraint("uuid", name="uniq_resource_providers0uuid"),
    sa.UniqueConstraint("name", name="uniq_resource_providers0name"),
    sa.Index("resource_providers_root_provider_id_idx", "root_provider_id"),
    sa.Index("resource_providers_parent_provider_id_idx", "parent_provider_id"),
    sa.Index("resource_providers_stamp_idx", "stamp"),
)

# Claims have literals in place of constant parameters, each of which takes time.
ONE = sa.literal_column("1", sa.Integer)
# the column is NULL in rows of early releases
GENERATION = sa.func.coalesce(resource_providers.c.generation, sa.literal_column("0"))

inventories = _table(
    "inventories",
    sa.Column("resource_provider_id", sa.Integer, nullable=False),
    sa.Column("resource_class_id", sa.Integer, nullable=False),
    sa.Column("total", sa.Integer, nullable=False),
    sa.Column("reserved", sa.Integer, nullable=False),
    sa.Column("min_unit", sa.Integer, nullable=False),
    sa.Column("max_unit", sa.Integer, nullable=False),
    sa.Column("step_size", sa.Integer, nullable=False),
    sa.Column("allocation_ratio", sa.Float, nullable=False),
    # the sum over allocations, updated in the transaction that changes the allocations
    sa.Column("used", sa.BigInteger, nullable=False, server_default="0", info=_OURS),
    sa.UniqueConstraint(
        "resource_provider_id",
        "resource_class_id",
        name="uniq_inventories0resource_provider_resource_class",
    ),
    sa.Index("inventories_resource_class_id_idx", "resource_class_id"),
)

# the fields of ``core.model.Inventory``
_FIELDS = ("total", "reserved", "min_unit", "max_unit", "step_size", "allocation_ratio")
LIMITS = tuple(inventories.c[name] for name in _FIELDS)

allocations = _table(
    "allocations",
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


def _table_of_texts(name: str, text: sa.Column[str], **arguments: Any) -> sa.Table:
    """Return a table of unique texts that other tables refer to by number."""
    unique = sa.UniqueConstraint(text.name, name=f"uniq_{name}0{text.name}")
    return _table(name, text, unique, **arguments)


# The id of a standard class is its position in os-resource-classes, from 0; the application
# assigns the ids of custom classes, from 10000.
resource_classes = _table_of_texts(
    "resource_classes", sa.Column("name", sa.String(255), nullable=False)
)
traits = _table_of_texts("traits", sa.Column("name", sa.Unicode(255), nullable=False))
placement_aggregates = _table_of_texts("placement_aggregates", sa.Column("uuid", sa.String(36)))
projects = _table_of_texts("projects", sa.Column("external_id", sa.String(255), nullable=False))
users = _table_of_texts("users", sa.Column("external_id", sa.String(255), nullable=False))
consumer_types = _table_of_texts(
    "consumer_types",
    sa.Column("name", sa.Unicode(255), nullable=False),
    info=_OF_CONSUMER_TYPES,
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

resource_provider_aggregates = sa.Table(
    "resource_provider_aggregates",
    metadata,
    *_timestamps(),
    sa.Column("resource_provider_id", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("aggregate_id", sa.Integer, primary_key=True, autoincrement=False),
    sa.Index("resource_provider_aggregates_aggregate_id_idx", "aggregate_id"),
)

consumers = _table(
    "consumers",
    sa.Column("uuid", sa.String(36), nullable=False),
    sa.Column("project_id", sa.Integer, nullable=False),
    sa.Column("user_id", sa.Integer, nullable=False),
    sa.Column("generation", sa.Integer, nullable=False, server_default=sa.text("0")),
    sa.Column(
        "consumer_type_id",
        sa.Integer,
        sa.ForeignKey("consumer_types.id", name="consumers_consumer_type_id_fkey"),
        info=_OF_CONSUMER_TYPES,
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
    info=_OURS,
)

removed_providers = sa.Table(
    "removed_providers",
    metadata,
    sa.Column("provider_id", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("stamp", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("uuid", sa.String(36)),
    sa.Index("removed_providers_stamp_idx", "stamp"),
    info=_OURS,
)

insight_requests = sa.Table(
    "insight_requests",
    metadata,
    sa.Column("created_at", sa.DateTime, nullable=False),
    # in the order of time
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
    # the classes, traits or aggregates that the reason is about, separated by commas
    sa.Column("subject", sa.String(255)),
    # equal requests of an hour have one row: their number, how many of them later requests with
    # the same global id superseded, the last time, and the ids of the last ones
    sa.Column("equal_key", sa.String(64), nullable=False),
    sa.Column("requests", sa.Integer, nullable=False),
    sa.Column("superseded", sa.Integer, nullable=False),
    sa.Column("last_at", sa.DateTime, nullable=False),
    sa.Column("latest", sa.Text, nullable=False),
    sa.Index("insight_requests_equal_key_idx", "equal_key", unique=True),
    sa.Index("insight_requests_request_id_idx", "request_id"),
    sa.Index("insight_requests_global_request_id_idx", "global_request_id"),
    info=_OURS,
)

insight_changes = sa.Table(
    "insight_changes",
    metadata,
    sa.Column("created_at", sa.DateTime, nullable=False),
    # in the order of time, and of the commits of one provider or consumer: these wait for another
    sa.Column("id", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True),
    sa.Column("kind", sa.String(16), nullable=False),
    sa.Column("request_id", sa.String(40)),
    sa.Column("global_request_id", sa.String(40)),
    sa.Column("project_id", sa.String(255)),
    sa.Column("user_id", sa.String(255)),
    sa.Column("provider_uuid", sa.String(36)),  # NULL if allocations have several
    sa.Column("consumer_uuid", sa.String(36)),  # of changes of allocations only
    # JSON; in MySQL, a text longer than 64 kB would fail, and the write with it
    sa.Column(
        "change", sa.Text().with_variant(mysql.MEDIUMTEXT, "mysql", "mariadb"), nullable=False
    ),
    sa.Index("insight_changes_provider_uuid_idx", "provider_uuid", "id"),
    sa.Index("insight_changes_consumer_uuid_idx", "consumer_uuid", "id"),
    sa.Index("insight_changes_request_id_idx", "request_id"),
    sa.Index("insight_changes_global_request_id_idx", "global_request_id"),
    info=_OURS,
)

# the providers of a change of allocations, if it has several
insight_change_providers = sa.Table(
    "insight_change_providers",
    metadata,
    sa.Column("change_id", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("provider_uuid", sa.String(36), primary_key=True),
    sa.Index("insight_change_providers_provider_uuid_idx", "provider_uuid", "change_id"),
    info=_OURS,
)

# tables whose ids the database assigns
NUMBERED = sorted(
    name
    for name, table in metadata.tables.items()
    if table.autoincrement_column is not None and table is not resource_classes
)
