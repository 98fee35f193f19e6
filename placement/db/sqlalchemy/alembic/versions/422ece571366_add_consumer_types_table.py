"""Let consumers have a type.

Revision ID: 422ece571366
Revises: b5c396305c25
"""

import sqlalchemy as sa
from alembic import op

revision = "422ece571366"
down_revision = "b5c396305c25"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the table of types and refer to it; SQLite copies the table of consumers for that."""
    op.create_table(
        "consumer_types",
        sa.Column("created_at", sa.DateTime),
        sa.Column("updated_at", sa.DateTime),
        sa.Column("id", sa.Integer, primary_key=True, nullable=False),
        sa.Column("name", sa.Unicode(255), nullable=False),
        sa.UniqueConstraint("name", name="uniq_consumer_types0name"),
    )
    with op.batch_alter_table("consumers") as consumers:
        consumers.add_column(
            sa.Column(
                "consumer_type_id",
                sa.Integer,
                sa.ForeignKey("consumer_types.id", name="consumers_consumer_type_id_fkey"),
            )
        )
    op.create_index("consumers_consumer_type_id_idx", "consumers", ["consumer_type_id"])
