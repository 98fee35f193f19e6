"""Upgrades the schema of a database to its newest revision.

Every Placement database has the first five revisions. The revision of this service follows them,
and only adds to the schema, so that another implementation still works on the database.

One process at a time upgrades a database; the others wait for it. The nodes of a Galera cluster
do not share locks: if processes on two nodes upgrade at once, all nodes execute the DDL statements
in the same order, and the second of two equal statements fails. Its process ends with an
error message.

MySQL commits each DDL statement by itself: an interrupted revision has applied some of its steps,
and its number is not recorded. A step that was already applied does nothing, so the next run
completes the revision.
"""

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from alembic import command, op
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from alembic.util import CommandError

from placement.db import clocks, errors, tables
from placement.db.connections import session_settings
from placement.db.maintenance.reconcile import (
    Report,
    advance_sequences,
    convert_uuids,
    reconcile,
)
from placement.db.schema import revisions, seed
from placement.db.schema.revisions import BASE, REVISIONS
from placement.db.store import Store, ignore

LOG = logging.getLogger(__name__)

_SCRIPTS = Path(__file__).parent / "alembic"
_LOCK_NAME = "placement-migration"
_LOCK_NUMBER = 7_034_150_918  # PostgreSQL identifies a lock by number
_LOCK_TIMEOUT_SECONDS = 3600
_FORBIDDEN = 1105

HEAD, COMMON_HEAD = revisions.HEAD, revisions.COMMON_HEAD


class UpgradeInterrupted(RuntimeError):  # noqa: N818
    """The schema was not upgraded completely; the next run completes it."""

    def __init__(self, reason: str) -> None:
        super().__init__(
            f"The upgrade of the schema was interrupted: {reason.rstrip('.')}. If another process "
            "upgrades the database, for example on another node of a Galera cluster, wait for it. "
            "Then run `placement-manage db sync` again: it completes the upgrade."
        )


def sync(store: Store, report: Report = ignore) -> None:
    """Bring the schema to its newest revision, and all derived data up to date.

    Safe to run in several processes at once, and while others write. Another implementation may
    have written to the database: usage counters are reconciled with the allocations, and every
    running process loads everything again.  Raises: as ``upgrade``.
    """
    prepare(store, report)
    store.write(lambda tx: seed.insert_clocks(tx.connection))
    store.write(lambda tx: clocks.start_epoch(tx.connection))


def prepare(store: Store, report: Report = ignore) -> None:
    """Do the same as ``sync`` for a process that starts, but without a new epoch."""
    upgrade(store)
    convert_uuids(store)
    reconcile(store, report)


def upgrade(store: Store, revision: str = "head") -> None:
    """Apply the missing revisions up to this one; an interrupted revision is completed.

    Raises: RuntimeError if the data is not ready for a revision, IncompatibleSchema,
    UpgradeInterrupted.
    """
    try:
        with _exclusive(store) as connection:
            if _is_upgradable(connection):
                command.upgrade(_config(connection), revision)
            if revision == "head":
                advance_sequences(connection)
    except (sa.exc.DBAPIError, CommandError) as error:
        raise UpgradeInterrupted(errors.first_line(error)) from error


@contextmanager
def _exclusive(store: Store) -> Iterator[sa.Connection]:
    """A connection with a transaction, while no other process migrates on this server."""
    engines = store.engines()
    with store.exclusive, engines.writer.connect() as connection:
        try:
            _lock(connection, engines.begin_write)
            yield connection
            connection.commit()
        finally:
            if store.settings.backend == "mysql":
                connection.invalidate()  # the lock and the settings of the session end with it


def _lock(connection: sa.Connection, begin_write: str | None) -> None:
    """Wait for other processes that migrate, and let later statements wait for tables in use.

    On PostgreSQL and SQLite the lock ends with the transaction.
    """
    match connection.dialect.name:
        case "mysql" | "mariadb":
            connection.exec_driver_sql(
                f"SET SESSION lock_wait_timeout = {_LOCK_TIMEOUT_SECONDS}, "
                f"SESSION innodb_lock_wait_timeout = {session_settings.LOCK_TIMEOUT_SECONDS}"
            )
            _get_lock(connection)
        case "postgresql":
            connection.exec_driver_sql("SET LOCAL lock_timeout = 0")
            connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_LOCK_NUMBER)))
        case _:
            connection.exec_driver_sql(str(begin_write))


def _get_lock(connection: sa.Connection) -> None:
    """Take the lock of MySQL, which Percona XtraDB Cluster forbids in strict mode."""
    lock = sa.select(sa.func.GET_LOCK(_LOCK_NAME, _LOCK_TIMEOUT_SECONDS))
    try:
        is_locked = connection.scalar(lock)
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


def check_recorded_once(ctx: MigrationContext, **_: Any) -> None:
    """Check, in the transaction that records a revision, that it is the only one recorded.

    A process inserts the first revision after it has found none. In the meantime, a process on
    another node of a Galera cluster may have recorded a later one.  Raises: UpgradeInterrupted.
    """
    query = sa.text("SELECT COUNT(*) FROM alembic_version")
    if ctx.connection is not None and ctx.connection.scalar(query) > 1:
        raise UpgradeInterrupted("another process has recorded a revision")


def _is_upgradable(connection: sa.Connection) -> bool:
    """Return whether revisions can be applied.  Raises: IncompatibleSchema, RevisionNotApplied.

    At an unknown revision that only adds to the schema, the revision of this service is applied
    if its tables or columns are missing; otherwise the database is not changed.
    """
    comparison = revisions.compare(connection)
    recorded, unknown = comparison.revision, comparison.unknown_revision()
    if unknown is None:
        comparison.check_is_applied()
        return True
    if not comparison.missing:
        LOG.warning(unknown)
        return False
    LOG.warning(
        "The database is at revision %s, which this release does not know and which only adds "
        "to the schema. To return to the release that knows it, run "
        "`placement-manage db stamp %s` with that release",
        recorded,
        recorded,
    )
    command.stamp(_config(connection), COMMON_HEAD, purge=True)
    return True


def stamp(store: Store, revision: str) -> None:
    """Record a revision in the database, which has its tables and columns, without applying it.

    Raises: alembic's CommandError if the revision does not exist, RevisionNotApplied.
    """
    script = ScriptDirectory.from_config(_config()).get_revision(revision)
    with _exclusive(store) as connection:
        revisions.compare(connection).check_can_stamp(script.revision if script else BASE)
        # also if the database records a revision that has no script
        command.stamp(_config(connection), revision, purge=True)


def _config(connection: sa.Connection | None = None) -> Config:
    config = Config()
    config.set_main_option("script_location", str(_SCRIPTS).replace("%", "%%"))
    config.attributes["connection"] = connection
    return config


# --- steps of revisions ---------------------------------------------------------------------


def apply(revision: str) -> None:
    """Create the tables and columns of a revision, and the indexes on them, unless they exist."""
    for table in tables.metadata.sorted_tables:
        is_new = table.info.get("revision", REVISIONS[0]) == revision
        columns = [
            column
            for column in table.columns
            if column.info.get("revision", revision if is_new else None) == revision
        ]
        if is_new and not _inspector().has_table(table.name):
            op.create_table(table.name, *map(_copy, columns), *_unique_keys(table))
        present = _names(_inspector().get_columns(table.name)) if columns else set()
        for column in columns:
            if column.name not in present:
                with op.batch_alter_table(table.name) as altered:
                    altered.add_column(_copy(column))
        for index in sorted(table.indexes, key=lambda index: str(index.name)):
            if set(columns).intersection(index.columns):
                index.create(op.get_bind(), checkfirst=True)


def _copy(column: sa.Column[Any]) -> sa.Column[Any]:
    """Return a column with its foreign key: it must not belong to a table yet."""
    keys = (sa.ForeignKey(key.target_fullname, name=key.name) for key in column.foreign_keys)
    return sa.Column(
        column.name,
        column.type,
        *keys,
        primary_key=column.primary_key,
        autoincrement=column.autoincrement,
        nullable=column.nullable,
        server_default=column.server_default,
    )


def _unique_keys(table: sa.Table) -> list[sa.UniqueConstraint]:
    """Return unique constraints in the order of their columns."""
    keys = [key for key in table.constraints if isinstance(key, sa.UniqueConstraint)]
    order = table.columns.keys()
    return sorted(keys, key=lambda key: order.index(key.columns.keys()[0]))


def has_foreign_key(table: str, name: str) -> bool:
    """Return whether a table has a foreign key."""
    return name in _names(_inspector().get_foreign_keys(table))


def create_index(name: str, table: str, columns: Sequence[str]) -> None:
    """Create an index unless it exists."""
    if name not in _names(_inspector().get_indexes(table)):
        op.create_index(name, table, columns)


def drop_index(name: str, table: str) -> None:
    """Drop an index if it exists."""
    if name in _names(_inspector().get_indexes(table)):
        op.drop_index(name, table)


def _names(reflected: Iterable[Mapping[str, Any]]) -> set[str]:
    return {element["name"] for element in reflected}


def _inspector() -> sa.Inspector:
    return sa.inspect(op.get_bind())
