"""Migrations of one database by several processes at once, also on different nodes of Galera.

On one server a lock lets one process migrate at a time. On Galera the lock is known to one node
only, and no other kind of lock is known to all nodes across DDL statements, which commit. There
several processes apply the same revision, which is correct for three reasons:

* Each step of a revision does nothing if it is done already (``revision_steps``).
* DDL statements are executed in the same order on all nodes, so of two equal ones the second one
  fails. They abort transactions and connections that are in their way.
* A revision is recorded by one process: the others write the same row, or see another one.

A process that fails for one of these reasons starts again, and finds the work done.

The schema of a database: reads its revision, and upgrades it to the newest one.

The first five revisions are those of every Placement database. Ours come after
them and only add, so that another implementation still works on the database.

Steps of revisions that do nothing if they are done already.

MySQL commits each DDL statement by itself: an interrupted revision leaves some of its steps done,
and its number not recorded. The next run then begins with the first step and completes it. In
a Galera cluster another node may run the same revision at the same time.
"""

import logging
import random
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import sqlalchemy as sa
from alembic import op

from placement import exception
from placement.db import clocks, errors
from placement.db.maintenance import canonical_uuids
from placement.db.maintenance.reconcile import Report, ignore, reconcile
from placement.db.schema import compatibility
from placement.db.store import Store

if TYPE_CHECKING:
    from alembic.runtime.migration import MigrationContext

T = TypeVar("T")

_LOCK_NAME = "placement-migration"
_LOCK_NUMBER = 7_034_150_918  # what PostgreSQL has for a name
_NUMBER = {"number": _LOCK_NUMBER}
_LOCK_TIMEOUT_SECONDS = 3600
# Each conflict is the progress of another process; a revision has about thirty steps.
_ATTEMPTS = 30
# MySQL: table, column, index, row or foreign key exists already, index does not exist, deadlock,
# lock timeout, a row or table changed since it was read, a table is being changed, statement
# interrupted
_CONCURRENT = frozenset(
    {1005, 1020, 1022, 1050, 1060, 1061, 1062, 1091, 1205, 1213, 1317, 1412, 1684, 1826}
)
_FORBIDDEN = 1105


class RecordedByAnother(Exception):  # noqa: N818
    """Another process has recorded a later revision meanwhile."""


def repeated(work: Callable[[], T]) -> T:
    """Return the result of the work, repeated if another process or a lost connection ends it.

    Raises: the last error after 30 attempts.
    """
    for _ in range(_ATTEMPTS - 1):
        try:
            return work()
        except Exception as error:
            if not _is_concurrent(error):
                raise
            time.sleep(random.uniform(0.1, 1.0))  # noqa: S311
    return work()


def _is_concurrent(error: Exception) -> bool:
    from alembic.util import CommandError

    if isinstance(error, CommandError):
        return "expected to match" in str(error)
    if isinstance(error, exception.DatabaseUnavailable):
        return not errors.is_access_denied(error)
    if isinstance(error, sa.exc.DBAPIError):
        return error.connection_invalidated or errors.code(error) in _CONCURRENT
    return isinstance(
        error,
        RecordedByAnother
        | exception.Conflict
        | exception.CommitLost
        | errors.ConnectionLost
        | errors.WriteConflict
        | sa.exc.InvalidatePoolError,
    )


def check_recorded_once(ctx: "MigrationContext", **_: Any) -> None:
    """Check, in the transaction that records a revision, that it is the only one recorded.

    A process inserts the first revision after it has found none. If another node has recorded a
    later one meanwhile, it ends here, instead of going through the same revisions until the
    unique key of the later one refuses it.  Raises: RecordedByAnother.
    """
    query = sa.text("SELECT COUNT(*) FROM alembic_version")
    if ctx.connection is not None and ctx.connection.scalar(query) > 1:
        raise RecordedByAnother


@contextmanager
def exclusive(store: Store) -> Iterator[sa.Connection]:
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
            _unlock(connection)


def _lock(connection: sa.Connection) -> None:
    """Wait for other processes that migrate; on SQLite the transaction is the lock."""
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

    Percona XtraDB Cluster forbids it in strict mode (1105): processes of one node then run
    without a lock, like those of several nodes.
    """
    wait = {"name": _LOCK_NAME, "seconds": _LOCK_TIMEOUT_SECONDS}
    try:
        is_locked = connection.scalar(sa.text("SELECT GET_LOCK(:name, :seconds)"), wait)
    except sa.exc.DBAPIError as error:
        if errors.code(error) != _FORBIDDEN:
            raise
        return
    if is_locked != 1:
        raise RuntimeError(
            "Another process has been migrating this database for more than "
            f"{_LOCK_TIMEOUT_SECONDS} seconds. Check it, or end its connection, then run "
            "`placement-manage db sync` again."
        )


def _unlock(connection: sa.Connection) -> None:
    """Roll back what is left, and release the lock.

    MySQL's connections are closed, and their locks with them. A connection that was lost has no
    lock; the error to raise is the one that reported the loss.
    """
    match connection.dialect.name:
        case "mysql" | "mariadb":
            with suppress(sa.exc.SQLAlchemyError):
                connection.invalidate()
        case "postgresql":
            connection.rollback()
            connection.execute(sa.text("SELECT pg_advisory_unlock(:number)"), _NUMBER)
            connection.execute(sa.text("RESET lock_timeout"))
            connection.commit()
        case _:
            connection.rollback()


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
    from placement.db.schema import compatibility

    schema = compatibility.of(connection)
    if revision != HEAD or not compatibility.is_newest(schema):
        compatibility.check_is_applied(schema, revision, compatibility.by_revision(_scripts()))


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

    from placement.db.schema import compatibility

    scripts = _scripts()
    script = scripts.get_revision(revision)
    target = script.revision if script else compatibility.BASE
    with exclusive(store) as connection:
        compatibility.check_can_stamp(
            compatibility.of(connection), target, compatibility.by_revision(scripts)
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


def _inspector() -> sa.Inspector:
    return sa.inspect(op.get_bind())


def has_column(table: str, column: str) -> bool:
    """Return whether a table has a column."""
    return column in {each["name"] for each in _inspector().get_columns(table)}


def has_foreign_key(table: str, name: str) -> bool:
    """Return whether a table has a foreign key."""
    return name in {each["name"] for each in _inspector().get_foreign_keys(table)}


def has_index(table: str, name: str) -> bool:
    """Return whether a table has an index."""
    return name in {each["name"] for each in _inspector().get_indexes(table)}


def create_table(name: str, *columns: sa.schema.SchemaItem) -> None:
    """Create a table unless it exists."""
    if not _inspector().has_table(name):
        op.create_table(name, *columns)


def add_column(table: str, column: sa.Column[Any]) -> None:
    """Add a column unless the table has it."""
    if not has_column(table, column.name):
        op.add_column(table, column)


def create_index(name: str, table: str, columns: Sequence[str]) -> None:
    """Create an index unless it exists."""
    if not has_index(table, name):
        op.create_index(name, table, list(columns))


def drop_index(name: str, table: str) -> None:
    """Drop an index if it exists."""
    if has_index(table, name):
        op.drop_index(name, table)
