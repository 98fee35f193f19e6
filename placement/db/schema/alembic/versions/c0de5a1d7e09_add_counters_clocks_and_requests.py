"""Add usage counters, clocks and recorded requests.

Revision ID: c0de5a1d7e09
Revises: a082b8bb98d0

Other implementations ignore these tables and columns. If one of them was used on a database
with these tables and columns, they exist already, with old sums. See
``placement.db.usage_counters``, ``placement.db.clocks`` and ``placement.insight.recording.sql``.
"""

import sqlalchemy as sa
from alembic import op

from placement.db import tables
from placement.db.schema import migration as steps
from placement.db.schema import seed

revision = "c0de5a1d7e09"
down_revision = "a082b8bb98d0"


def upgrade() -> None:
    """Add tables and columns; counters and clocks have values before this is recorded."""
    _add_clocks()
    steps.create(tables.insight_requests)
    _add_counters()


def _add_clocks() -> None:
    """Add clocks, stamps and records of removals, by which processes detect changes."""
    steps.add_column("resource_providers", _number("stamp", sa.BigInteger()))
    steps.create_index("resource_providers_stamp_idx", "resource_providers", ["stamp"])
    steps.create(tables.removed_providers)
    steps.create(tables.clocks)
    seed.insert_clocks(op.get_bind())


def _number(name: str, kind: sa.types.TypeEngine[int]) -> sa.Column[int]:
    return sa.Column(name, kind, nullable=False, server_default="0")


def _add_counters() -> None:
    """Add usage counters, and the generation of each provider up to which they are complete.

    The counters of an existing provider are compared with its allocations by the first write that
    locks it.
    """
    steps.add_column("resource_providers", _number("counted_generation", sa.Integer()))
    steps.add_column("inventories", _number("used", sa.BigInteger()))
    op.execute(
        sa.text(
            "UPDATE inventories SET used = COALESCE((SELECT SUM(allocations.used) FROM allocations"
            " WHERE allocations.resource_provider_id = inventories.resource_provider_id"
            " AND allocations.resource_class_id = inventories.resource_class_id), 0)"
        )
    )
