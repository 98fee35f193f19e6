"""Keep the used amount of each inventory beside it.

Revision ID: c0de5a1d7e01
Revises: a082b8bb98d0

`placement-manage db sync` fills it in, see ``placement.db.sqlalchemy.usage_counters``. A database
that went back to another implementation for a while has it already.
"""

import sqlalchemy as sa
from alembic import op

revision = "c0de5a1d7e01"
down_revision = "a082b8bb98d0"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add a column that others need not know."""
    columns = sa.inspect(op.get_bind()).get_columns("inventories")
    if "used" not in {column["name"] for column in columns}:
        op.add_column(
            "inventories", sa.Column("used", sa.BigInteger, nullable=False, server_default="0")
        )
