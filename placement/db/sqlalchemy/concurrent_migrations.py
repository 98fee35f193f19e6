"""Migrations of one database by several processes at once, also on different nodes of Galera.

On one server a lock lets one process migrate at a time. On Galera the lock is known to one node
only, and no other kind of lock is known to all nodes across DDL statements, which commit. There
several processes apply the same revision, which is correct for three reasons:

* Each step of a revision does nothing if it is done already (``revision_steps``).
* DDL statements are executed in the same order on all nodes, so of two equal ones the second one
  fails. They abort transactions and connections that are in their way.
* A revision is recorded by one process: the others write the same row, or see another one.

A process that fails for one of these reasons starts again, and finds the work done.
"""

import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, TypeVar

import sqlalchemy as sa

from placement import exception
from placement.db.sqlalchemy import db_errors
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
    from alembic.util import CommandError  # noqa: PLC0415  as in migration

    if isinstance(error, CommandError):
        return "expected to match" in str(error)
    if isinstance(error, exception.DatabaseUnavailable):
        return not db_errors.is_access_denied(error)
    if isinstance(error, sa.exc.DBAPIError):
        return error.connection_invalidated or db_errors.code(error) in _CONCURRENT
    return isinstance(
        error,
        RecordedByAnother
        | exception.Conflict
        | exception.CommitLost
        | db_errors.ConnectionLost
        | db_errors.WriteConflict
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
