"""Note up to which generation of a provider its usage counters count allocations.

Revision ID: c0de5a1d7e07
Revises: c0de5a1d7e06

See ``placement.db.usage_counters``. The counters of an existing provider are compared
with its allocations by the first write that locks it.
"""

import sqlalchemy as sa

from placement.db.schema import migration as steps

revision = "c0de5a1d7e07"
down_revision = "c0de5a1d7e06"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add a column that other implementations ignore."""
    steps.add_column(
        "resource_providers",
        sa.Column("counted_generation", sa.Integer, nullable=False, server_default="0"),
    )
