"""Let processes learn what others have written.

Revision ID: c0de5a1d7e02
Revises: c0de5a1d7e01

See ``placement.db.sqlalchemy.clocks``. A database that went back to another implementation
for a while has all of it already.
"""

import secrets

import sqlalchemy as sa
from alembic import op

revision = "c0de5a1d7e02"
down_revision = "c0de5a1d7e01"
branch_labels = None
depends_on = None

CLOCKS = 34
EPOCH = 33


def upgrade() -> None:
    """Add the clocks, the stamps and the notes of removals; others need not know them."""
    inspector = sa.inspect(op.get_bind())
    columns = inspector.get_columns("resource_providers")
    if "stamp" not in {column["name"] for column in columns}:
        _add_stamps()
    if not inspector.has_table("removed_providers"):
        _add_removed_providers()
    if not inspector.has_table("clocks"):
        _add_clocks()


def _add_stamps() -> None:
    op.add_column(
        "resource_providers",
        sa.Column("stamp", sa.BigInteger, nullable=False, server_default="0"),
    )
    op.create_index("resource_providers_stamp_idx", "resource_providers", ["stamp"])


def _add_removed_providers() -> None:
    op.create_table(
        "removed_providers",
        sa.Column("provider_id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("stamp", sa.BigInteger, primary_key=True, autoincrement=False),
    )
    op.create_index("removed_providers_stamp_idx", "removed_providers", ["stamp"])


def _add_clocks() -> None:
    clocks = op.create_table(
        "clocks",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("value", sa.BigInteger, nullable=False),
    )
    op.bulk_insert(
        clocks,
        [
            {"id": clock, "value": (clock << 40) + (secrets.randbits(40) if clock == EPOCH else 0)}
            for clock in range(CLOCKS)
        ],
    )
