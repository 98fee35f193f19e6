"""Run by alembic: migrate on the connection that ``placement.db.schema.migration`` gives."""

from alembic import context

from placement.db.schema.migration import check_recorded_once
from placement.db.tables import metadata

if context.is_offline_mode():
    raise RuntimeError("Revisions look at the data, so they cannot be written out as a script.")

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    transaction_per_migration=True,
    on_version_apply=check_recorded_once,  # type: ignore[arg-type]  # called with keywords
)
with context.begin_transaction():
    context.run_migrations()
