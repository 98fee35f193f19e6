"""Add types of consumers.

Revision ID: 422ece571366
Revises: b5c396305c25
"""

from alembic import op

from placement.db.schema import migration as steps

revision = "422ece571366"
down_revision = "b5c396305c25"

KEY = "consumers_consumer_type_id_fkey"


def upgrade() -> None:
    """Create the table of types and refer to it; SQLite copies the table of consumers for that."""
    steps.apply(revision)
    if not steps.has_foreign_key("consumers", KEY):  # an interrupted step added the column only
        op.create_foreign_key(KEY, "consumers", "consumer_types", ["consumer_type_id"], ["id"])
