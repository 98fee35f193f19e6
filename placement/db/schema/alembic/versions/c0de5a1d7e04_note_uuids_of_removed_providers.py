"""Note the UUIDs of removed providers, for readers of changes.

Revision ID: c0de5a1d7e04
Revises: c0de5a1d7e02

See ``placement.insight.feed.http``. A database that went back to another release for a
while has the column already.
"""

import sqlalchemy as sa
from alembic import op

revision = "c0de5a1d7e04"
down_revision = "c0de5a1d7e02"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column; releases that do not know it leave it NULL."""
    columns = sa.inspect(op.get_bind()).get_columns("removed_providers")
    if "uuid" not in {column["name"] for column in columns}:
        op.add_column("removed_providers", sa.Column("uuid", sa.String(36)))
