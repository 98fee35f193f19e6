"""Record requests that found no candidates, and claims that were refused.

Revision ID: c0de5a1d7e05
Revises: c0de5a1d7e04

See ``placement.insight.recording.sql``. A database that went back to another
implementation for a while has the table already.
"""

import sqlalchemy as sa

from placement.db.schema import migration as steps

revision = "c0de5a1d7e05"
down_revision = "c0de5a1d7e04"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the table; others need not know it."""
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
