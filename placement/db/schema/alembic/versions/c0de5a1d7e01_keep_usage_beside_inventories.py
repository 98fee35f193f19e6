"""Add a usage counter to each inventory.

Revision ID: c0de5a1d7e01
Revises: a082b8bb98d0

The counters are summed before this revision is recorded: no process serves from a database whose
counters are not known. See ``placement.db.usage_counters``. A database that was used by
another implementation for a while has the column already, with old sums.
"""

import sqlalchemy as sa
from alembic import op

from placement.db.schema import migration as steps

revision = "c0de5a1d7e01"
down_revision = "a082b8bb98d0"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add a column that other implementations ignore, and sum up the allocations."""
    steps.add_column(
        "inventories", sa.Column("used", sa.BigInteger, nullable=False, server_default="0")
    )
    op.execute(
        sa.text(
            "UPDATE inventories SET used = COALESCE((SELECT SUM(allocations.used) FROM allocations"
            " WHERE allocations.resource_provider_id = inventories.resource_provider_id"
            " AND allocations.resource_class_id = inventories.resource_class_id), 0)"
        )
    )
