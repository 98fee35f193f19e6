"""Run by alembic: migrates on the connection that ``placement.db.schema.migration`` opened.

``alembic revision --autogenerate`` in a checkout opens the configured connection.
"""

import sqlalchemy as sa
from alembic import context
from oslo_config import cfg

from placement.conf import base, database
from placement.db.schema.migration import check_recorded_once
from placement.db.settings import DatabaseSettings
from placement.db.tables import metadata

if context.is_offline_mode():
    raise RuntimeError("Revisions look at the data, so they cannot be written out as a script.")


def configured_url() -> sa.URL:
    """Return the URL in [placement_database].  Raises: RequiredOptError without one."""
    conf = cfg.ConfigOpts()
    conf.register_opts(database.options, group=database.group.name)
    conf([], project="placement", default_config_files=base.config_files())
    options = conf.placement_database
    return DatabaseSettings(
        connection=options.connection, connection_parameters=options.connection_parameters
    ).url


existing_connection = context.config.attributes.get("connection")
if existing_connection is None:
    connection = sa.create_engine(configured_url(), poolclass=sa.NullPool).connect()
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
