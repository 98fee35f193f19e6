"""Connections to the database, set up so that a transaction costs few round trips.

There are two pools. Connections for writes begin transactions at READ COMMITTED: they read rows
under locks, and see what was committed last. Connections for reads commit by themselves, so that
one statement is one round trip; a read that needs several statements on one state sends BEGIN
itself. Changing a connection between the two roles would cost up to four round trips each time
with the MySQL drivers, and SQLAlchemy's ping before and rollback after each use two more.

SQLite has one pool: its transactions set their mode themselves.
"""

import logging
from dataclasses import dataclass

import sqlalchemy as sa

from placement.db.lineage import Lineage
from placement.db.sqlalchemy import server_engines
from placement.db.sqlalchemy.connection_watch import ConnectionWatch
from placement.db.sqlalchemy.database_settings import DatabaseSettings
from placement.db.sqlalchemy.sqlite_engine import sqlite_engine


@dataclass(frozen=True, slots=True)
class Engines:
    """The two pools, and the statements that begin a transaction on their connections."""

    writer: sa.Engine
    reader: sa.Engine
    begin_write: str | None
    begin_read: str
    lineage: Lineage

    def dispose(self) -> None:
        """Close every connection that is not in use, and others when they are returned."""
        self.writer.dispose()
        if self.reader is not self.writer:
            self.reader.dispose()


_BEGIN_READ = {
    "sqlite": "BEGIN",
    "mysql": "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY",
    "postgresql": "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
}


def connect(settings: DatabaseSettings) -> Engines:
    """Return the pools for a database; no connection is opened yet."""
    _set_log_level(settings.connection_debug)
    begin_read = _BEGIN_READ.get(settings.backend)
    if begin_read is None:
        raise sa.exc.ArgumentError(
            f"{settings.backend} is none of mysql, mariadb, postgresql and sqlite"
        )
    lineage = Lineage()
    if settings.backend == "sqlite":
        engine = sqlite_engine(settings, lineage)
        return Engines(engine, engine, "BEGIN IMMEDIATE", begin_read, lineage)
    writer, reader = server_engines.writer(settings), server_engines.reader(settings)
    watch = ConnectionWatch(lineage, settings)
    watch.listen(writer)
    watch.listen(reader, is_reader=True)
    return Engines(writer, reader, None, begin_read, lineage)


def _set_log_level(connection_debug: int) -> None:
    level = logging.WARNING
    if connection_debug >= 50:
        level = logging.DEBUG if connection_debug >= 100 else logging.INFO
    logging.getLogger("sqlalchemy.engine").setLevel(level)
