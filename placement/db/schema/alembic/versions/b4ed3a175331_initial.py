"""Create the tables that every Placement database starts with.

Revision ID: b4ed3a175331
Revises:
"""

import sqlalchemy as sa

from placement.db.schema import migration as steps

revision = "b4ed3a175331"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the tables with their first indexes."""
    _named_things()
    _providers()
    _what_providers_have()
    _consumers()


def _table(name: str, *columns: sa.schema.SchemaItem) -> None:
    """Create a table with the two timestamps that all tables have."""
    times = (sa.Column("created_at", sa.DateTime), sa.Column("updated_at", sa.DateTime))
    steps.create_table(name, *times, *columns)


def _id() -> sa.Column[int]:
    return sa.Column("id", sa.Integer, primary_key=True, nullable=False)


def _number(name: str) -> sa.Column[int]:
    return sa.Column(name, sa.Integer, nullable=False)


def _named_things() -> None:
    _table(
        "placement_aggregates",
        _id(),
        sa.Column("uuid", sa.String(36)),
        sa.UniqueConstraint("uuid", name="uniq_placement_aggregates0uuid"),
    )
    steps.create_index("ix_placement_aggregates_uuid", "placement_aggregates", ["uuid"])
    for table in ("projects", "users"):
        _table(
            table,
            _id(),
            sa.Column("external_id", sa.String(255), nullable=False),
            sa.UniqueConstraint("external_id", name=f"uniq_{table}0external_id"),
        )
    for table, kind in (("resource_classes", sa.String(255)), ("traits", sa.Unicode(255))):
        _table(
            table,
            _id(),
            sa.Column("name", kind, nullable=False),
            sa.UniqueConstraint("name", name=f"uniq_{table}0name"),
        )


def _providers() -> None:
    _table(
        "resource_providers",
        _id(),
        sa.Column("uuid", sa.String(36), nullable=False),
        sa.Column("name", sa.Unicode(200)),
        sa.Column("generation", sa.Integer),
        sa.Column("root_provider_id", sa.Integer, sa.ForeignKey("resource_providers.id")),
        sa.Column("parent_provider_id", sa.Integer, sa.ForeignKey("resource_providers.id")),
        sa.UniqueConstraint("uuid", name="uniq_resource_providers0uuid"),
        sa.UniqueConstraint("name", name="uniq_resource_providers0name"),
    )
    for column in ("name", "parent_provider_id", "root_provider_id", "uuid"):
        steps.create_index(f"resource_providers_{column}_idx", "resource_providers", [column])


def _what_providers_have() -> None:
    _table(
        "inventories",
        _id(),
        *map(_number, ("resource_provider_id", "resource_class_id", "total", "reserved")),
        *map(_number, ("min_unit", "max_unit", "step_size")),
        sa.Column("allocation_ratio", sa.Float, nullable=False),
        sa.UniqueConstraint(
            "resource_provider_id",
            "resource_class_id",
            name="uniq_inventories0resource_provider_resource_class",
        ),
    )
    pair = ["resource_provider_id", "resource_class_id"]
    steps.create_index("inventories_resource_class_id_idx", "inventories", ["resource_class_id"])
    steps.create_index(
        "inventories_resource_provider_id_idx", "inventories", ["resource_provider_id"]
    )
    steps.create_index("inventories_resource_provider_resource_class_idx", "inventories", pair)
    _table(
        "resource_provider_traits",
        sa.Column("trait_id", sa.Integer, sa.ForeignKey("traits.id"), primary_key=True),
        sa.Column(
            "resource_provider_id",
            sa.Integer,
            sa.ForeignKey("resource_providers.id"),
            primary_key=True,
        ),
    )
    steps.create_index(
        "resource_provider_traits_resource_provider_trait_idx",
        "resource_provider_traits",
        ["resource_provider_id", "trait_id"],
    )
    _table(
        "resource_provider_aggregates",
        sa.Column("resource_provider_id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("aggregate_id", sa.Integer, primary_key=True, autoincrement=False),
    )
    steps.create_index(
        "resource_provider_aggregates_aggregate_id_idx",
        "resource_provider_aggregates",
        ["aggregate_id"],
    )


def _consumers() -> None:
    _table(
        "allocations",
        _id(),
        _number("resource_provider_id"),
        sa.Column("consumer_id", sa.String(36), nullable=False),
        _number("resource_class_id"),
        _number("used"),
    )
    steps.create_index(
        "allocations_resource_provider_class_used_idx",
        "allocations",
        ["resource_provider_id", "resource_class_id", "used"],
    )
    steps.create_index("allocations_resource_class_id_idx", "allocations", ["resource_class_id"])
    steps.create_index("allocations_consumer_id_idx", "allocations", ["consumer_id"])
    _table(
        "consumers",
        _id(),
        sa.Column("uuid", sa.String(36), nullable=False),
        _number("project_id"),
        _number("user_id"),
        sa.Column("generation", sa.Integer, nullable=False, server_default=sa.text("0")),
        sa.UniqueConstraint("uuid", name="uniq_consumers0uuid"),
    )
    steps.create_index("consumers_project_id_uuid_idx", "consumers", ["project_id", "uuid"])
    steps.create_index(
        "consumers_project_id_user_id_uuid_idx", "consumers", ["project_id", "user_id", "uuid"]
    )
