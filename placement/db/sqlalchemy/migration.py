"""The schema of a database: what it is, and bringing it to the newest revision.

The first five revisions are those of every Placement database. Ours come after
them and only add, so that another implementation still works on the database.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import sqlalchemy as sa
from alembic import command, script
from alembic.config import Config
from alembic.runtime.migration import MigrationContext

from placement.db.sqlalchemy import canonical_uuids, clocks, usage_counters
from placement.db.sqlalchemy.usage_counters import Tell, ignore
from placement.db.store import Store


class SchemaTooOld(RuntimeError):  # noqa: N818
    """The database has to be migrated before it can be served from."""


# Where the schema of other implementations ends.
COMMON_HEAD = "a082b8bb98d0"
_LOCK_NAME = "placement-migration"
_LOCK_NUMBER = 7_034_150_918  # what PostgreSQL has for a name
_LOCK_TIMEOUT_SECONDS = 3600


def sync(store: Store, tell: Tell = ignore) -> None:
    """Bring the schema to its newest revision, and everything that is kept up to the data.

    Another implementation may have written to the database: the kept usage is made what the
    allocations say, and every process that runs is told to load everything again.
    """
    prepare(store, tell)
    store.write(lambda tx: clocks.start_epoch(tx.connection))


def prepare(store: Store, tell: Tell = ignore) -> None:
    """Do the same for a process that starts; those that run need not notice."""
    upgrade(store)
    canonical_uuids.convert(store)
    usage_counters.mend(store, tell)


def upgrade(store: Store, revision: str = "head") -> None:
    """Apply the revisions up to this one that the database has not had; safe to run twice at once.

    Raises: RuntimeError if the data is not ready for a revision.
    """
    with _alone(store) as connection:
        command.upgrade(_config(connection), revision)


def version(store: Store) -> str | None:
    """Return the revision of the database, None if it has none."""
    with store.read() as tx:
        return _revision(tx.connection)


def _revision(connection: sa.Connection) -> str | None:
    return MigrationContext.configure(connection).get_current_revision()


def stamp(store: Store, revision: str) -> None:
    """Note that the database has this revision, without applying any.

    Raises: alembic's CommandError for a revision that there is not.
    """
    with _alone(store) as connection:
        command.stamp(_config(connection), revision)


def check_is_new_enough(store: Store) -> None:
    """Return if the database has what we need.  Raises: SchemaTooOld."""
    with store.read() as tx:
        found = _revision(tx.connection)
        tables = sa.inspect(tx.connection).get_table_names()
    if found in _earlier_revisions() or "clocks" not in tables:
        raise SchemaTooOld(
            f"The schema of the database is at revision {found}, and {head()} is needed. "
            "Run `placement-manage db sync`, or set [placement_database]sync_on_startup."
        )


def _earlier_revisions() -> set[str]:
    """Return the revisions that lead to ours.

    One that is not known here is newer: revisions only add, so that a process of the release
    before still serves while a deployment is upgraded step by step.
    """
    steps = script.ScriptDirectory.from_config(_config()).walk_revisions()
    return {step.revision for step in steps} - {head()}


def head() -> str:
    """Return the newest revision."""
    found = script.ScriptDirectory.from_config(_config()).get_current_head()
    assert found is not None  # noqa: S101  there are revisions
    return found


def _config(connection: sa.Connection | None = None) -> Config:
    config = Config(Path(__file__).parent / "alembic.ini")
    config.attributes["connection"] = connection
    return config


@contextmanager
def _alone(store: Store) -> Iterator[sa.Connection]:
    """A connection, while no other process migrates this database."""
    engines = store.engines()
    with store.exclusive, engines.writer.connect() as connection:
        _lock(connection)
        try:
            if engines.begin_write is not None:
                # all revisions or none, and no other writer
                connection.exec_driver_sql(engines.begin_write)
            yield connection
            connection.commit()
        finally:
            connection.rollback()
            _unlock(connection)


def _lock(connection: sa.Connection) -> None:
    """Wait for other processes that migrate; SQLite's transaction is lock enough."""
    match connection.dialect.name:
        case "mysql" | "mariadb":
            wait = {"name": _LOCK_NAME, "seconds": _LOCK_TIMEOUT_SECONDS}
            connection.execute(sa.text("SELECT GET_LOCK(:name, :seconds)"), wait)
        case "postgresql":
            # a table in use is waited for, however long its transactions take
            connection.execute(sa.text("SET lock_timeout = 0"))
            connection.execute(sa.text("SELECT pg_advisory_lock(:number)"), _NUMBER)
            connection.commit()


def _unlock(connection: sa.Connection) -> None:
    match connection.dialect.name:
        case "mysql" | "mariadb":
            connection.execute(sa.text("SELECT RELEASE_LOCK(:name)"), {"name": _LOCK_NAME})
        case "postgresql":
            connection.execute(sa.text("SELECT pg_advisory_unlock(:number)"), _NUMBER)
            connection.execute(sa.text("RESET lock_timeout"))
            connection.commit()


_NUMBER = {"number": _LOCK_NUMBER}
