"""The revision of a database, and whether the service can use its schema."""

import logging

import sqlalchemy as sa

from placement.db.schema import compatibility
from placement.db.schema.compatibility import HEAD, REVISIONS
from placement.db.store import Store

LOG = logging.getLogger(__name__)


class SchemaTooOld(RuntimeError):  # noqa: N818
    """The database has to be migrated before it can be served from."""


def version(store: Store) -> str | None:
    """Return the revision of the database, None if it has none."""
    with store.read() as tx:
        return recorded(tx.connection)


def recorded(connection: sa.Connection) -> str | None:
    """Return the revision that the database records, None if it records none."""
    if not sa.inspect(connection).has_table("alembic_version"):
        return None
    revision: str | None = connection.exec_driver_sql(
        "SELECT version_num FROM alembic_version"
    ).scalar_one_or_none()
    return revision


def check_is_new_enough(store: Store) -> None:
    """Check that the service can use the schema.

    Raises: SchemaTooOld, IncompatibleSchema, RevisionNotApplied.
    """
    with store.read() as tx:
        revision = recorded(tx.connection)
        comparison = compatibility.compare(tx.connection)
    if warning := _warning(revision, comparison):
        LOG.warning(warning)
    if revision == HEAD:
        comparison.check_is_applied(HEAD)
    elif comparison.missing or revision in REVISIONS:
        raise SchemaTooOld(
            f"The schema of the database is at revision {revision}, and {HEAD} is needed. "
            "Run `placement-manage db sync`, or set [placement_database]sync_on_startup."
        )


def unknown_revision(store: Store) -> str | None:
    """Return a warning if the database is at a revision that this release does not know.

    Raises: IncompatibleSchema if the revision has not only added to the schema.
    """
    with store.read() as tx:
        return _warning(recorded(tx.connection), compatibility.compare(tx.connection))


def _warning(revision: str | None, comparison: compatibility.Comparison) -> str | None:
    if revision is None or revision in REVISIONS:
        return None
    comparison.check_additive(revision)
    return compatibility.UNKNOWN_REVISION.format(revision)


def check_has_tables(store: Store) -> None:
    """Check that the database has a Placement schema of any revision.  Raises: SchemaTooOld."""
    with store.read() as tx:
        has_schema = sa.inspect(tx.connection).has_table("resource_providers")
    if not has_schema:
        raise SchemaTooOld(
            "The database has no Placement schema. Run `placement-manage db sync`, and check that "
            "[placement_database]connection names the right database."
        )
