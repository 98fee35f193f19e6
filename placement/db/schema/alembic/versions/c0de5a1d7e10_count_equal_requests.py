"""Count equal recorded requests in one row.

Revision ID: c0de5a1d7e10
Revises: c0de5a1d7e09

Rows of release 1.0.0, also rows that it writes on the new schema, are one request each.
"""

from placement.db.schema import migration as steps

revision = "c0de5a1d7e10"
down_revision = "c0de5a1d7e09"


def upgrade() -> None:
    """Add the columns of equal requests, and a unique index of their keys."""
    steps.apply(revision)
