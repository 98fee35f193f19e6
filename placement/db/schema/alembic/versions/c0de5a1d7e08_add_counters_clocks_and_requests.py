"""Add usage counters, clocks and recorded requests.

Revision ID: c0de5a1d7e08
Revises: a082b8bb98d0

Other implementations ignore these tables and columns. If one of them was used on a database
with these tables and columns, they exist already, with old sums. See
``placement.db.usage_counters``, ``placement.db.clocks`` and ``placement.insight.recording.sql``.
"""

import sqlalchemy as sa
from alembic import op

from placement.db.schema import migration as steps
from placement.db.schema import seed

revision = "c0de5a1d7e08"
down_revision = "a082b8bb98d0"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add tables and columns; counters and clocks have values before this is recorded."""
    _add_clocks()
    _add_requests()
    _add_counters()


def _add_clocks() -> None:
    """Add clocks, stamps and records of removals, by which processes detect changes."""
    steps.add_column("resource_providers", _number("stamp", sa.BigInteger()))
    steps.create_index("resource_providers_stamp_idx", "resource_providers", ["stamp"])
    steps.create_table(
        "removed_providers",
        sa.Column("provider_id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("stamp", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("uuid", sa.String(36)),
    )
    # databases of development releases
    steps.add_column("removed_providers", sa.Column("uuid", sa.String(36)))
    steps.create_index("removed_providers_stamp_idx", "removed_providers", ["stamp"])
    steps.create_table(
        "clocks",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("value", sa.BigInteger, nullable=False),
    )
    if steps.has_column("clocks", "era"):
        op.drop_column("clocks", "era")
    seed.insert_clocks(op.get_bind())


def _number(name: str, kind: sa.types.TypeEngine[int]) -> sa.Column[int]:
    return sa.Column(name, kind, nullable=False, server_default="0")


def _add_requests() -> None:
    """Add a table for requests that found no candidates, and for refused claims."""
    steps.create_table(
        "insight_requests",
        sa.Column("created_at", sa.DateTime, nullable=False),
        sa.Column("id", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("reason", sa.String(32), nullable=False),
        sa.Column("request_id", sa.String(40)),
        sa.Column("global_request_id", sa.String(40)),
        sa.Column("project_id", sa.String(255)),
        sa.Column("user_id", sa.String(255)),
        sa.Column("microversion", sa.String(8), nullable=False),
        sa.Column("query", sa.Text),
        sa.Column("claim", sa.Text),
        sa.Column("explanation", sa.Text, nullable=False),
    )
    for column in ("request_id", "global_request_id"):
        steps.create_index(f"insight_requests_{column}_idx", "insight_requests", [column])


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
