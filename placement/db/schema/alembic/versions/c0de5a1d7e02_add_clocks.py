"""Add clocks, by which processes detect what others have written.

Revision ID: c0de5a1d7e02
Revises: c0de5a1d7e01

See ``placement.db.clocks``. A database that was used by another implementation for a
while has all of it already.
"""

import secrets

import sqlalchemy as sa
from alembic import op

from placement.db.schema import migration as steps

revision = "c0de5a1d7e02"
down_revision = "c0de5a1d7e01"
branch_labels = None
depends_on = None

CLOCKS = 34
EPOCH = 33


def upgrade() -> None:
    """Add clocks, stamps and records of removals; other implementations ignore them."""
    steps.add_column(
        "resource_providers",
        sa.Column("stamp", sa.BigInteger, nullable=False, server_default="0"),
    )
    steps.create_index("resource_providers_stamp_idx", "resource_providers", ["stamp"])
    steps.create_table(
        "removed_providers",
        sa.Column("provider_id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("stamp", sa.BigInteger, primary_key=True, autoincrement=False),
    )
    steps.create_index("removed_providers_stamp_idx", "removed_providers", ["stamp"])
    steps.create_table(
        "clocks",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("value", sa.BigInteger, nullable=False),
    )
    _insert_clocks()


def _insert_clocks() -> None:
    clocks = sa.table("clocks", sa.column("id"), sa.column("value"))
    existing = set(op.get_bind().execute(sa.select(clocks.c.id)).scalars())
    rows = [
        {"id": clock, "value": (clock << 40) + (secrets.randbits(40) if clock == EPOCH else 0)}
        for clock in range(CLOCKS)
        if clock not in existing
    ]
    if rows:
        op.bulk_insert(clocks, rows)
