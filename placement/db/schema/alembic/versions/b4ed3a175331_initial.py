"""Create the tables that every Placement database starts with.

Revision ID: b4ed3a175331
Revises:
"""

import sqlalchemy as sa

from placement.db import tables
from placement.db.schema import migration as steps

revision = "b4ed3a175331"
down_revision = None


def upgrade() -> None:
    """Create the tables with their first indexes; later revisions change three of them."""
    for table in (tables.placement_aggregates, tables.projects, tables.users):
        steps.create(table)
    steps.create_index("ix_placement_aggregates_uuid", "placement_aggregates", ["uuid"])
    steps.create(tables.resource_classes)
    steps.create(tables.traits)
    _create_resource_providers()
    _create_inventories()
    steps.create(tables.resource_provider_traits)
    steps.create(tables.resource_provider_aggregates)
    steps.create(tables.allocations)
    _create_consumers()


def _table(name: str, *columns: sa.schema.SchemaItem) -> None:
    """Create a table with the two timestamps and the id that all these tables have."""
    steps.create_table(
        name,
        sa.Column("created_at", sa.DateTime),
        sa.Column("updated_at", sa.DateTime),
        sa.Column("id", sa.Integer, primary_key=True, nullable=False),
        *columns,
    )


def _number(name: str) -> sa.Column[int]:
    return sa.Column(name, sa.Integer, nullable=False)


def _create_resource_providers() -> None:
    _table(
        "resource_providers",
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


def _create_inventories() -> None:
    pair = ["resource_provider_id", "resource_class_id"]
    _table(
        "inventories",
        *map(_number, (*pair, "total", "reserved", "min_unit", "max_unit", "step_size")),
        sa.Column("allocation_ratio", sa.Float, nullable=False),
        sa.UniqueConstraint(*pair, name="uniq_inventories0resource_provider_resource_class"),
    )
    for column in reversed(pair):
        steps.create_index(f"inventories_{column}_idx", "inventories", [column])
    steps.create_index("inventories_resource_provider_resource_class_idx", "inventories", pair)


def _create_consumers() -> None:
    _table(
        "consumers",
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
