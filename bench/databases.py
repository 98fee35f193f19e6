"""Private database servers for a run, with durable commits.

A server has three databases: ``seed`` (the schema of openstack-placement after its first
start), ``upstream`` (seed and a world) and ``placement`` (a copy of upstream, migrated).
``copy`` makes one from another, so each world starts from the same state.
"""

import contextlib
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Protocol

import psutil
import sqlalchemy as sa

from placement.tests.support.servers import MariaDb, PostgreSql, Server

MARIADB_SETTINGS = ("--innodb-buffer-pool-size=1G", "--innodb-log-file-size=512M")
POSTGRESQL_SETTINGS = ("-c", "shared_buffers=512MB")


class Database(Protocol):
    """The databases of a run on one server."""

    def url(self, schema: str, driver: str = "") -> str:
        """The SQLAlchemy URL of one schema, with the server's default driver or another."""

    def copy(self, source: str, target: str) -> None:
        """Replace the target by a copy of the source; neither may have connections."""

    def create(self, schema: str) -> None:
        """Create an empty schema, and drop an existing one."""

    def processes(self) -> Sequence[psutil.Process]:
        """The processes of the server; none if it has none of its own."""


class _Schemas:
    """Schemas of a server."""

    def __init__(self, server: Server) -> None:
        self._server = server

    def processes(self) -> Sequence[psutil.Process]:
        assert self._server.process is not None
        process = psutil.Process(self._server.process.pid)
        return [process, *process.children(recursive=True)]


class MariaDBSchemas(_Schemas):
    """Schemas of a MariaDB server.

    Connections use its Unix socket: over loopback TCP some larger results of
    openstack-placement wait 40 ms for a delayed ACK, which neither service causes.
    """

    def __init__(self, server: Server, driver: str) -> None:
        super().__init__(server)
        self._driver = driver

    def url(self, schema: str, driver: str = "") -> str:
        # both services use the same driver: that of the run
        return f"{self._server.url(schema, self._driver)}&charset=utf8mb4"

    def create(self, schema: str) -> None:
        self._server.drop(schema)
        self._server.execute(f"CREATE DATABASE {schema} CHARACTER SET utf8mb4")

    def copy(self, source: str, target: str) -> None:
        self.create(target)
        tables = self._copy_tables(source, target)
        with self._connect(target) as connection:
            for setting in ("foreign_key_checks = 0", "unique_checks = 0"):
                connection.exec_driver_sql(f"SET {setting}")
            connection.exec_driver_sql("SET sql_mode = 'NO_AUTO_VALUE_ON_ZERO'")
            for table in tables:
                connection.exec_driver_sql(f"INSERT INTO {table} SELECT * FROM {source}.{table}")

    def _copy_tables(self, source: str, target: str) -> list[str]:
        """Create the tables with their foreign keys, which CREATE TABLE LIKE leaves out."""
        with self._connect(source) as connection:
            names = [row[0] for row in connection.exec_driver_sql("SHOW TABLES")]
            statements = [
                connection.exec_driver_sql(f"SHOW CREATE TABLE {name}").one()[1] for name in names
            ]
        with self._connect(target) as connection:
            connection.exec_driver_sql("SET foreign_key_checks = 0")
            for statement in statements:
                connection.exec_driver_sql(statement)
        return names

    @contextlib.contextmanager
    def _connect(self, schema: str) -> Iterator[sa.Connection]:
        engine = sa.create_engine(self.url(schema), poolclass=sa.NullPool)
        with engine.begin() as connection:
            yield connection


@contextlib.contextmanager
def mariadb(folder: Path, driver: str = "pymysql") -> Iterator[MariaDBSchemas]:
    """Run MariaDB with its data in the folder."""
    with _running(MariaDb(_created(folder), durable=True, settings=MARIADB_SETTINGS)) as server:
        yield MariaDBSchemas(server, driver)


class PostgreSQLSchemas(_Schemas):
    """Databases of a PostgreSQL server."""

    def url(self, schema: str, driver: str = "psycopg") -> str:
        return self._server.tcp_url(schema, driver)

    def create(self, schema: str) -> None:
        self._server.drop(schema)
        self._server.create(schema)

    def copy(self, source: str, target: str) -> None:
        self._server.drop(target)
        self._server.execute(f"CREATE DATABASE {target} TEMPLATE {source}")


@contextlib.contextmanager
def postgresql(folder: Path) -> Iterator[PostgreSQLSchemas]:
    """Run PostgreSQL with its data in the folder."""
    server = PostgreSql(_created(folder), durable=True, settings=POSTGRESQL_SETTINGS)
    with _running(server):
        yield PostgreSQLSchemas(server)


def _created(folder: Path) -> Path:
    """A folder for the server, which may run as another user, in that of the run."""
    folder.chmod(0o711)
    (folder / "server").mkdir()
    return folder / "server"


@contextlib.contextmanager
def _running(server: Server) -> Iterator[Server]:
    try:
        server.start()
        yield server
    finally:
        server.stop()


class SQLiteFiles:
    """A file for each schema."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def url(self, schema: str, driver: str = "") -> str:
        return f"sqlite:///{self._file(schema)}"

    def create(self, schema: str) -> None:
        for suffix in ("", "-wal", "-shm", "-journal"):
            self._file(schema + suffix).unlink(missing_ok=True)

    def processes(self) -> Sequence[psutil.Process]:
        return ()

    def copy(self, source: str, target: str) -> None:
        self.create(target)
        shutil.copyfile(self._file(source), self._file(target))

    def _file(self, schema: str) -> Path:
        name, _, suffix = schema.partition("-")
        return self._folder / (f"{name}.sqlite" + (f"-{suffix}" if suffix else ""))


@contextlib.contextmanager
def sqlite(folder: Path) -> Iterator[SQLiteFiles]:
    """Keep the schemas as files in the folder."""
    yield SQLiteFiles(folder)


SERVERS: Mapping[str, Callable[[Path], contextlib.AbstractContextManager[Database]]] = {
    "mariadb": mariadb,
    "mariadb-mysqlclient": partial(mariadb, driver="mysqldb"),
    "postgresql": postgresql,
    "sqlite": sqlite,
}
