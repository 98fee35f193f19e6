"""Run by alembic: migrates on the connection that ``placement.db.schema.migration`` opened."""

from alembic import context

from placement.db.schema.migration import check_recorded_once

if context.is_offline_mode():
    raise RuntimeError("Revisions look at the data, so they cannot be written out as a script.")

context.configure(
    connection=context.config.attributes["connection"],
    transaction_per_migration=True,
    on_version_apply=check_recorded_once,  # type: ignore[arg-type]  # called with keywords
)
with context.begin_transaction():
    context.run_migrations()
