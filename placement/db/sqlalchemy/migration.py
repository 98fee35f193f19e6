"""The schema of a database: reads its revision, and upgrades it to the newest one.

The first five revisions are those of every Placement database. Ours come after
them and only add, so that another implementation still works on the database.
"""

import logging
import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import sqlalchemy as sa

from placement.db.sqlalchemy import (
    canonical_uuids,
    clocks,
    compatibility,
    db_errors,
    usage_counters,
)
from placement.db.sqlalchemy.usage_counters import Report, ignore
from placement.db.store import Store

if TYPE_CHECKING:
    from alembic.config import Config

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
_LOCK_NAME = "placement-migration"
_LOCK_NUMBER = 7_034_150_918  # what PostgreSQL has for a name
_LOCK_TIMEOUT_SECONDS = 3600
_ATTEMPTS = 10
# MySQL: table, column, index or row exists already, index does not exist, deadlock, lock timeout,
# a row or table changed since it was read, a table is being changed
_CONCURRENT = frozenset({1020, 1050, 1060, 1061, 1062, 1091, 1205, 1213, 1412, 1684})
_FORBIDDEN = 1105


def sync(store: Store, report: Report = ignore) -> None:
    """Bring the schema to its newest revision, and all derived data up to date.

    Another implementation may have written to the database: usage counters are reconciled with
    the allocations, and every running process loads everything again.
    """
    prepare(store, report)
    store.write(lambda tx: clocks.start_epoch(tx.connection))


def prepare(store: Store, report: Report = ignore) -> None:
    """Do the same for a process that starts; running processes do not load everything again."""
    upgrade(store)
    canonical_uuids.convert(store)
    usage_counters.reconcile(store, report)


def upgrade(store: Store, revision: str = "head") -> None:
    """Apply the missing revisions up to this one; safe to run several times at once.

    An interrupted revision is completed. On Galera, where a lock is known to one node only, a
    step that another node has done meanwhile is skipped by running the revision again.
    Raises: RuntimeError if the data is not ready for a revision.
    """
    from alembic import command
    from alembic.util import CommandError

    for attempt in range(_ATTEMPTS):
        try:
            with _exclusive(store) as connection:
                if _is_upgradable(connection):
                    command.upgrade(_config(connection), revision)
                return
        except (sa.exc.DBAPIError, CommandError) as error:
            if attempt == _ATTEMPTS - 1 or not _is_concurrent(error):
                raise
            time.sleep(random.uniform(0.1, 1.0))  # noqa: S311


def _is_upgradable(connection: sa.Connection) -> bool:
    """Return whether revisions can be applied.  Raises: IncompatibleSchema.

    At an unknown revision that only adds to the schema, the revisions of this service are applied
    if its tables or columns are missing; otherwise the database is left as it is.
    """
    from alembic import command

    current = _revision(connection)
    if current is None or current in revisions():
        return True
    compatibility.check_additive(connection, current)
    if not compatibility.lacks_additions(connection):
        LOG.warning("The database stays at revision %s, which this release does not know", current)
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


def _is_concurrent(error: Exception) -> bool:
    """Return whether another process did the same step, or recorded the same revision."""
    from alembic.util import CommandError

    if isinstance(error, CommandError):
        return "expected to match" in str(error)
    return db_errors.code(error) in _CONCURRENT


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
    """Record a revision in the database without applying it.

    Raises: alembic's CommandError if the revision does not exist.
    """
    from alembic import command

    with _exclusive(store) as connection:
        command.stamp(_config(connection), revision)


def check_is_new_enough(store: Store) -> None:
    """Check that the service can use the schema.  Raises: SchemaTooOld, IncompatibleSchema."""
    with store.read() as tx:
        found = _revision(tx.connection)
        if found not in {HEAD, None} and found not in revisions():
            compatibility.check_additive(tx.connection, found)
        is_incomplete = compatibility.lacks_additions(tx.connection)
    if is_incomplete or (found != HEAD and found in _earlier_revisions()):
        raise SchemaTooOld(
            f"The schema of the database is at revision {found}, and {HEAD} is needed. "
            "Run `placement-manage db sync`, or set [placement_database]sync_on_startup."
        )


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
    from alembic import script

    steps = script.ScriptDirectory.from_config(_config()).walk_revisions()
    return {step.revision for step in steps} - {HEAD}


def revisions() -> list[str]:
    """Return the known revisions, the oldest first."""
    from alembic import script

    steps = script.ScriptDirectory.from_config(_config()).walk_revisions()
    return [step.revision for step in steps][::-1]


def head() -> str:
    """Return the newest revision."""
    return HEAD


def _config(connection: sa.Connection | None = None) -> "Config":
    from alembic.config import Config

    config = Config(Path(__file__).parent / "alembic.ini")
    config.attributes["connection"] = connection
    return config


@contextmanager
def _exclusive(store: Store) -> Iterator[sa.Connection]:
    """A connection, while no other process migrates this database on this server."""
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
            # a table in use is waited for, however long its transactions take
            connection.exec_driver_sql(f"SET SESSION lock_wait_timeout = {_LOCK_TIMEOUT_SECONDS}")
            _get_lock(connection)
        case "postgresql":
            # a table in use is waited for, however long its transactions take
            connection.execute(sa.text("SET lock_timeout = 0"))
            connection.execute(sa.text("SELECT pg_advisory_lock(:number)"), _NUMBER)
            connection.commit()


def _get_lock(connection: sa.Connection) -> None:
    """Take the lock of MySQL.

    Percona XtraDB Cluster forbids it in strict mode (1105); there ``upgrade`` alone handles other
    processes.
    """
    wait = {"name": _LOCK_NAME, "seconds": _LOCK_TIMEOUT_SECONDS}
    try:
        is_locked = connection.scalar(sa.text("SELECT GET_LOCK(:name, :seconds)"), wait)
    except sa.exc.DBAPIError as error:
        if db_errors.code(error) != _FORBIDDEN:
            raise
        return
    if is_locked != 1:
        raise RuntimeError(
            "Another process has been migrating this database for more than "
            f"{_LOCK_TIMEOUT_SECONDS} seconds. Check it, or end its connection, then run "
            "`placement-manage db sync` again."
        )


def _unlock(connection: sa.Connection) -> None:
    """Release the lock; MySQL's connections are closed, and their locks with them."""
    match connection.dialect.name:
        case "mysql" | "mariadb":
            connection.invalidate()
        case "postgresql":
            connection.execute(sa.text("SELECT pg_advisory_unlock(:number)"), _NUMBER)
            connection.execute(sa.text("RESET lock_timeout"))
            connection.commit()


_NUMBER = {"number": _LOCK_NUMBER}
