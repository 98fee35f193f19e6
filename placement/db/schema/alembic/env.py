"""Run by alembic: migrates on the connection that ``placement.db.schema.migration`` opened.

``alembic revision --autogenerate`` opens the connection that the environment variable specifies.
"""

import os

import sqlalchemy as sa
from alembic import context

from placement.db.schema.migration import check_recorded_once
from placement.db.tables import metadata

if context.is_offline_mode():
    raise RuntimeError("Revisions look at the data, so they cannot be written out as a script.")

existing_connection = context.config.attributes.get("connection")
if existing_connection is None:
    url = os.environ["OS_PLACEMENT_DATABASE__CONNECTION"]
    connection = sa.create_engine(url, poolclass=sa.NullPool).connect()
else:
    connection = existing_connection
context.configure(
    connection=connection,
    target_metadata=metadata,
    transaction_per_migration=True,
    on_version_apply=check_recorded_once,  # type: ignore[arg-type]  # called with keywords
)
with context.begin_transaction():
    context.run_migrations()
if existing_connection is None:
    connection.close()
