"""Refuse to go on while an allocation has no consumer record.

Revision ID: b5c396305c25
Revises: 611cd6dffd7b
"""

import sqlalchemy as sa
from alembic import op

revision = "b5c396305c25"
down_revision = "611cd6dffd7b"


def upgrade() -> None:
    """Change nothing; raise if the data is not ready."""
    orphans = op.get_bind().scalar(
        sa.text(
            "SELECT COUNT(DISTINCT allocations.consumer_id) FROM allocations "
            "LEFT JOIN consumers ON consumers.uuid = allocations.consumer_id "
            "WHERE consumers.id IS NULL"
        )
    )
    if orphans:
        raise RuntimeError(
            f"There are {orphans} consumers with allocations and without a consumer record. "
            "Run `placement-manage db online_data_migrations` first."
        )
