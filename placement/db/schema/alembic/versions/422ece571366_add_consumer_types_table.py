"""Add types of consumers.

Revision ID: 422ece571366
Revises: b5c396305c25
"""

import sqlalchemy as sa
from alembic import op

from placement.db import tables
from placement.db.schema import migration as steps

revision = "422ece571366"
down_revision = "b5c396305c25"

REFERRED, KEY = "consumer_types.id", "consumers_consumer_type_id_fkey"


def upgrade() -> None:
    """Create the table of types and refer to it; SQLite copies the table of consumers for that."""
    steps.create(tables.consumer_types)
    if not steps.has_column("consumers", "consumer_type_id"):
        with op.batch_alter_table("consumers") as consumers:
            consumers.add_column(
                sa.Column("consumer_type_id", sa.Integer, sa.ForeignKey(REFERRED, name=KEY))
            )
    elif not steps.has_foreign_key("consumers", KEY):
        op.create_foreign_key(KEY, "consumers", "consumer_types", ["consumer_type_id"], ["id"])
    steps.create_index("consumers_consumer_type_id_idx", "consumers", ["consumer_type_id"])
