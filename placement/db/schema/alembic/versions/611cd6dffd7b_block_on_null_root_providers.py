"""Refuse to go on while a provider has no root.

Revision ID: 611cd6dffd7b
Revises: b4ed3a175331
"""

import sqlalchemy as sa
from alembic import op

revision = "611cd6dffd7b"
down_revision = "b4ed3a175331"


def upgrade() -> None:
    """Change nothing; raise if the data is not ready."""
    rootless = op.get_bind().scalar(
        sa.text("SELECT COUNT(*) FROM resource_providers WHERE root_provider_id IS NULL")
    )
    if rootless:
        raise RuntimeError(
            "There is at least one resource provider table record which misses its root provider "
            f"id ({rootless} in all). Run `placement-manage db online_data_migrations` first."
        )
