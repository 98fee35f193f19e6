"""Order the versions of clocks on PostgreSQL.

Revision ID: c0de5a1d7e06
Revises: c0de5a1d7e05

See ``placement.db.tables``. The table is written anew, without old versions.
Releases that do not know the column need not write it.
"""

from alembic import op

from placement.db import tables
from placement.db.schema import migration as steps

revision = "c0de5a1d7e06"
down_revision = "c0de5a1d7e05"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add a generated column and its index; nothing on other databases."""
    if op.get_bind().dialect.name != "postgresql":
        return
    if not steps.has_column("clocks", "era"):
        op.execute(tables.ADD_ERA)
    if not steps.has_index("clocks", "clocks_era_idx"):
        op.execute(tables.ADD_INDEX)
