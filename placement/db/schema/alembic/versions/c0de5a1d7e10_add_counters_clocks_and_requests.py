"""Add usage counters, clocks and recorded requests.

Revision ID: c0de5a1d7e10
Revises: a082b8bb98d0

Other implementations ignore these tables and columns. If one of them was used on a database
with these tables and columns, they exist already, with old sums. See
``placement.db.usage_counters`` and ``placement.db.clocks``.
"""

import sqlalchemy as sa
from alembic import op

from placement.db.schema import migration as steps
from placement.db.schema import seed

revision = "c0de5a1d7e10"
down_revision = "a082b8bb98d0"


def upgrade() -> None:
    """Add tables and columns; counters and clocks have values before this is recorded.

    The counters of an existing provider are compared with its allocations by the first write that
    locks it.
    """
    steps.apply(revision)
    seed.insert_clocks(op.get_bind())
    op.execute(
        sa.text(
            "UPDATE inventories SET used = COALESCE((SELECT SUM(allocations.used) FROM allocations"
            " WHERE allocations.resource_provider_id = inventories.resource_provider_id"
            " AND allocations.resource_class_id = inventories.resource_class_id), 0)"
        )
    )
