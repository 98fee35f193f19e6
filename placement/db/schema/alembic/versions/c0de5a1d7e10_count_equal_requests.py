"""Count equal recorded requests in one row.

Revision ID: c0de5a1d7e10
Revises: c0de5a1d7e09

Rows of release 1.0.0, also rows that it writes on the new schema, are one request each.
"""

import sqlalchemy as sa

from placement.db.schema import migration as steps

revision = "c0de5a1d7e10"
down_revision = "c0de5a1d7e09"

_TABLE = "insight_requests"


def upgrade() -> None:
    """Add the columns of equal requests, and a unique index of their keys."""
    for column in (
        sa.Column("equal_key", sa.String(64)),
        sa.Column("requests", sa.Integer(), nullable=False, server_default="1"),
        sa.Column("superseded", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("last_at", sa.DateTime()),
        sa.Column("latest", sa.Text()),
    ):
        steps.add_column(_TABLE, column)
    steps.create_index(f"{_TABLE}_equal_key_idx", _TABLE, ["equal_key"], unique=True)
