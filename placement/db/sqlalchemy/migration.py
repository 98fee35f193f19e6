"""The schema of a database: reads its revision, and upgrades it to the newest one.

The first five revisions are those of every Placement database. Ours come after
them and only add, so that another implementation still works on the database.
"""

import logging
from pathlib import Path
from typing import TYPE_CHECKING

import sqlalchemy as sa

from placement.db.sqlalchemy import (
    canonical_uuids,
    clocks,
    compatibility,
)
from placement.db.sqlalchemy.concurrent_migrations import exclusive, repeated
from placement.db.sqlalchemy.reconcile import Report, ignore, reconcile
from placement.db.store import Store

if TYPE_CHECKING:
    from alembic.config import Config
    from alembic.script import ScriptDirectory

# Alembic is imported where it is used: it takes a fifth of the start-up of a process, and the
# service does not need it if the schema is at HEAD.
# ruff: noqa: PLC0415
# It logs each of its plugins when it is imported.
logging.getLogger("alembic.runtime.plugins").setLevel(logging.WARNING)

LOG = logging.getLogger(__name__)


class SchemaTooOld(RuntimeError):  # noqa: N818
    """The database has to be migrated before it can be served from."""


# The newest revision of the schema of other implementations.
COMMON_HEAD = "a082b8bb98d0"
# The newest revision; a test compares it with the scripts.
HEAD = "c0de5a1d7e07"


def sync(store: Store, report: Report = ignore) -> None:
    """Bring the schema to its newest revision, and all derived data up to date.

    Safe to run in several processes at once, also on different nodes of a Galera cluster, and
    while others write: all of it is repeated if another process gets in the way.
    Another implementation may have written to the database: usage counters are reconciled with
    the allocations, and every running process loads everything again.
    """
    prepare(store, report)
    repeated(lambda: store.write(lambda tx: clocks.start_epoch(tx.connection)))


def prepare(store: Store, report: Report = ignore) -> None:
    """Do the same for a process that starts; running processes do not load everything again."""
    upgrade(store)
    repeated(lambda: _derive(store, report))


def _derive(store: Store, report: Report) -> None:
    canonical_uuids.convert(store)
    reconcile(store, report)


def upgrade(store: Store, revision: str = "head") -> None:
    """Apply the missing revisions up to this one; safe to run in several processes at once.

    An interrupted revision is completed. On one server, one process upgrades and the others wait
    for it; on Galera, processes on different nodes take part in the same upgrade, and one that
    finds a step done by another starts again, see ``concurrent_migrations``.
    Raises: RuntimeError if the data is not ready for a revision.
    """
    repeated(lambda: _upgrade(store, revision))


def _upgrade(store: Store, revision: str) -> None:
    from alembic import command

    with exclusive(store) as connection:
        if _is_upgradable(connection):
            command.upgrade(_config(connection), revision)


def _is_upgradable(connection: sa.Connection) -> bool:
    """Return whether revisions can be applied.  Raises: IncompatibleSchema, RevisionNotApplied.

    At an unknown revision that only adds to the schema, the revisions of this service are applied
    if its tables or columns are missing; otherwise the database is left as it is.
    """
    from alembic import command

    current = _revision(connection)
    if current is None:
        return True
    if current in revisions():
        _check_is_applied(connection, current)
        return True
    compatibility.check_additive(connection, current)
    if not compatibility.lacks_additions(connection):
        LOG.warning(compatibility.UNKNOWN_REVISION.format(current))
        return False
    LOG.warning(
        "The database is at revision %s, which this release does not know and which only adds to "
        "the schema. To return to the release that knows it, run "
        "`placement-manage db stamp %s` with that release",
        current,
        current,
    )
    command.stamp(_config(connection), COMMON_HEAD, purge=True)
    return True


def _check_is_applied(connection: sa.Connection, revision: str) -> None:
    """Check that the recorded revision is that of the schema.  Raises: RevisionNotApplied."""
    from placement.db.sqlalchemy import recorded_schema

    schema = recorded_schema.of(connection)
    if revision != HEAD or not recorded_schema.is_newest(schema):
        recorded_schema.check_is_applied(schema, revision, recorded_schema.by_revision(_scripts()))


def version(store: Store) -> str | None:
    """Return the revision of the database, None if it has none."""
    with store.read() as tx:
        return _revision(tx.connection)


def _revision(connection: sa.Connection) -> str | None:
    if not sa.inspect(connection).has_table("alembic_version"):
        return None
    revision: str | None = connection.exec_driver_sql(
        "SELECT version_num FROM alembic_version"
    ).scalar_one_or_none()
    return revision


def stamp(store: Store, revision: str) -> None:
    """Record a revision in the database, which has its tables and columns, without applying it.

    Raises: alembic's CommandError if the revision does not exist, RevisionNotApplied.
    """
    from alembic import command

    from placement.db.sqlalchemy import recorded_schema

    scripts = _scripts()
    script = scripts.get_revision(revision)
    target = script.revision if script else recorded_schema.BASE
    with exclusive(store) as connection:
        recorded_schema.check_can_stamp(
            recorded_schema.of(connection), target, recorded_schema.by_revision(scripts)
        )
        command.stamp(_config(connection), revision)


def check_is_new_enough(store: Store) -> None:
    """Check that the service can use the schema.

    Raises: SchemaTooOld, IncompatibleSchema, RevisionNotApplied.
    """
    if _is_at_head(store):
        return
    with store.read() as tx:
        recorded = _revision(tx.connection)
        if warning := _unknown_revision(tx.connection, recorded):
            LOG.warning(warning)
        is_incomplete = compatibility.lacks_additions(tx.connection)
        if is_incomplete and recorded == HEAD:
            _check_is_applied(tx.connection, HEAD)
    if is_incomplete or (recorded != HEAD and recorded in _earlier_revisions()):
        raise SchemaTooOld(
            f"The schema of the database is at revision {recorded}, and {HEAD} is needed. "
            "Run `placement-manage db sync`, or set [placement_database]sync_on_startup."
        )


def unknown_revision(store: Store) -> str | None:
    """Return a warning if the database is at a revision that this release does not know.

    Raises: IncompatibleSchema if the revision has not only added to the schema.
    """
    with store.read() as tx:
        return _unknown_revision(tx.connection, _revision(tx.connection))


def _unknown_revision(connection: sa.Connection, recorded: str | None) -> str | None:
    if recorded in {HEAD, None} or recorded in revisions():
        return None
    compatibility.check_additive(connection, recorded)
    return compatibility.UNKNOWN_REVISION.format(recorded)


def _is_at_head(store: Store) -> bool:
    """Return whether the schema is that of this release: the usual case, at a low cost."""
    with store.read() as tx:
        return _revision(tx.connection) == HEAD and compatibility.has_additions(tx.connection)


def check_has_tables(store: Store) -> None:
    """Check that the database has a Placement schema of any revision.  Raises: SchemaTooOld."""
    with store.read() as tx:
        tables = sa.inspect(tx.connection).get_table_names()
    if "resource_providers" not in tables:
        raise SchemaTooOld(
            "The database has no Placement schema. Run `placement-manage db sync`, and check that "
            "[placement_database]connection names the right database."
        )


def _earlier_revisions() -> set[str]:
    """Return the revisions that lead to ours.

    One that is not known here is newer: revisions only add, so that a process of the release
    before still serves while a deployment is upgraded step by step.
    """
    return {step.revision for step in _scripts().walk_revisions()} - {HEAD}


def revisions() -> list[str]:
    """Return the known revisions, the oldest first."""
    return [step.revision for step in _scripts().walk_revisions()][::-1]


def _scripts() -> "ScriptDirectory":
    from alembic.script import ScriptDirectory

    return ScriptDirectory.from_config(_config())


def _config(connection: sa.Connection | None = None) -> "Config":
    from alembic.config import Config

    config = Config(Path(__file__).parent / "alembic.ini")
    config.attributes["connection"] = connection
    return config
