"""Create the tables that every Placement database starts with.

Revision ID: b4ed3a175331
Revises:
"""

from placement.db.schema import migration as steps

revision = "b4ed3a175331"
down_revision = None

_PAIR = ("resource_provider_id", "resource_class_id")


def upgrade() -> None:
    """Create the tables, and five indexes that a later revision drops."""
    steps.apply(revision)
    steps.create_index("inventories_resource_provider_id_idx", "inventories", _PAIR[:1])
    steps.create_index("inventories_resource_provider_resource_class_idx", "inventories", _PAIR)
    steps.create_index("ix_placement_aggregates_uuid", "placement_aggregates", ["uuid"])
    steps.create_index("resource_providers_name_idx", "resource_providers", ["name"])
    steps.create_index("resource_providers_uuid_idx", "resource_providers", ["uuid"])
