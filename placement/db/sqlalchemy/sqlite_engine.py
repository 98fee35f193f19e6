"""The pool of connections to a SQLite database: a file, or the memory of one connection."""

import os
import sqlite3
import time
from typing import Any

import sqlalchemy as sa
from sqlalchemy import event, pool

from placement.db.lineage import Lineage
from placement.db.sqlalchemy import server_checks
from placement.db.sqlalchemy.database_settings import DatabaseSettings
from placement.db.sqlalchemy.new_engine import new_engine

LOCK_TIMEOUT_SECONDS = 30
RETRY_SECONDS = 0.005


def sqlite_engine(settings: DatabaseSettings, lineage: Lineage) -> sa.Engine:
    """Return the one pool of a database; opening a connection reads the whole schema."""
    connect_args: dict[str, Any] = {"check_same_thread": False}
    if settings.is_private:
        engine = new_engine(settings, poolclass=pool.StaticPool, connect_args=connect_args)
    else:
        connect_args["timeout"] = LOCK_TIMEOUT_SECONDS
        engine = new_engine(settings, poolclass=pool.QueuePool, connect_args=connect_args)

    @event.listens_for(engine, "connect")
    def set_up(connection: Any, _record: object) -> None:
        connection.isolation_level = None  # the store sends BEGIN itself
        if not settings.sqlite_synchronous:
            connection.execute("PRAGMA synchronous = OFF").close()
        _enable_write_ahead_log(connection)

    if not settings.is_private:
        _watch_file(engine, lineage, str(settings.url.database))
    return engine


def _watch_file(engine: sa.Engine, lineage: Lineage, path: str) -> None:
    """End the lineage when another file has this path, or a backup was restored into the file.

    An open connection stays with the file that it opened: it is replaced when it is next used.
    SQLite increases the version of the schema when a backup is restored; it is read once a second.
    """

    def check(connection: Any, record: Any) -> None:
        version = connection.execute("PRAGMA schema_version").fetchone()[0]
        lineage.reach((record.info["file"], version))
        record.info["checked_at"] = time.monotonic()

    @event.listens_for(engine, "connect")
    def note_file(connection: Any, record: Any) -> None:
        record.info["file"] = _identity(path)
        check(connection, record)
        record.info["lineage"] = lineage.number

    @event.listens_for(engine, "checkout")
    def check_file(connection: Any, record: Any, _proxy: object) -> None:
        if record.info["file"] != _identity(path):
            lineage.end()
            raise sa.exc.DisconnectionError(f"The file {path} was replaced.")
        if time.monotonic() - record.info["checked_at"] >= server_checks.INTERVAL_SECONDS:
            check(connection, record)
        record.info["lineage"] = lineage.number


def _identity(path: str) -> tuple[int, int] | None:
    """Return the device and the number of the file, None if there is no file or path is a URI."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _enable_write_ahead_log(connection: Any) -> None:
    """Let readers go on while one connection writes; the file keeps this mode.

    The first connection to a new file changes it. SQLite refuses others that do the same at that
    moment, without the wait for a lock that it has elsewhere: they wait here.
    """
    deadline = time.monotonic() + LOCK_TIMEOUT_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL").close()
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(RETRY_SECONDS)
        else:
            return
