"""Private database servers: started by a run, stopped at its end.

A database holds three schemas: ``seed`` (the reference's, as new), ``reference``
(seed plus a world) and ``ours`` (a copy of reference, migrated forward).
``copy`` makes one from another, so each world starts clean.
"""

import contextlib
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import IO, Protocol

import sqlalchemy as sa

READY_SECONDS = 60


class Database(Protocol):
    """What a run needs of a kind of database."""

    def url(self, schema: str, driver: str = "") -> str:
        """The SQLAlchemy URL of one schema; the driver is chosen by who connects."""

    def copy(self, source: str, target: str) -> None:
        """Make the target anew as a copy of the source; nobody may be connected to either."""

    def create(self, schema: str) -> None:
        """Make an empty schema."""


def free_port() -> int:
    """A TCP port of the loopback address that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def wait_until(ready: Callable[[], bool], what: str) -> None:
    """Return once ready() holds. Raises: TimeoutError after a minute."""
    deadline = time.monotonic() + READY_SECONDS
    while not ready():
        if time.monotonic() > deadline:
            raise TimeoutError(f"{what} was not ready within {READY_SECONDS} s")
        time.sleep(0.05)


def accepts(port: int) -> bool:
    """Whether a server listens on the port."""
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False


@contextlib.contextmanager
def running(
    command: list[str], log: IO[bytes], *, patience_seconds: float = 20
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a server for the length of the block, then end it, kindly first."""
    process = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(patience_seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


class MariaDB:
    """MariaDB with commits as durable as its defaults make them.

    Reached by its socket file: over loopback TCP some of the reference's larger
    results wait 40 ms for a delayed ACK, which is no matter of either service.
    """

    def __init__(self, socket_file: Path) -> None:
        self._socket_file = socket_file

    def url(self, schema: str, driver: str = "") -> str:
        where = f"localhost/{schema}?unix_socket={self._socket_file}"
        return f"mysql+pymysql://bench:bench@{where}&charset=utf8mb4"

    def create(self, schema: str) -> None:
        self._execute(
            f"DROP DATABASE IF EXISTS {schema}", f"CREATE DATABASE {schema} CHARACTER SET utf8mb4"
        )

    def copy(self, source: str, target: str) -> None:
        self.create(target)
        tables = self._copy_tables(source, target)
        self._execute(
            "SET foreign_key_checks = 0, unique_checks = 0, sql_mode = 'NO_AUTO_VALUE_ON_ZERO'",
            *[f"INSERT INTO {target}.{table} SELECT * FROM {source}.{table}" for table in tables],
        )

    def _copy_tables(self, source: str, target: str) -> list[str]:
        """Make the tables, with their foreign keys, which CREATE TABLE LIKE leaves out."""
        with self._connect(source) as connection:
            names = [row[0] for row in connection.exec_driver_sql("SHOW TABLES")]
            made = [
                connection.exec_driver_sql(f"SHOW CREATE TABLE {name}").one()[1] for name in names
            ]
        with self._connect(target) as connection:
            connection.exec_driver_sql("SET foreign_key_checks = 0")
            for statement in made:
                connection.exec_driver_sql(statement)
        return names

    def _execute(self, *statements: str) -> None:
        with self._connect("") as connection:
            for statement in statements:
                connection.exec_driver_sql(statement)

    @contextlib.contextmanager
    def _connect(self, schema: str) -> Iterator[sa.Connection]:
        engine = sa.create_engine(self.url(schema), poolclass=sa.NullPool)
        with engine.begin() as connection:
            yield connection


@contextlib.contextmanager
def mariadb(folder: Path) -> Iterator[MariaDB]:
    """Start MariaDB with its data, and its socket file, in the folder."""
    data, user = folder / "mariadb", _unprivileged("mysql")
    data.mkdir()
    _own(data, user)
    where = [f"--datadir={data}", f"--user={user}"]
    start = [_program("mariadbd", "/usr/sbin"), "--no-defaults", *where, "--skip-networking"]
    with (folder / "mariadb.log").open("wb") as log:
        subprocess.run(
            ["mariadb-install-db", "--no-defaults", *where,
             "--auth-root-authentication-method=normal"],
            check=True, stdout=log, stderr=log,
        )  # fmt: skip
        start += [
            f"--socket={data}/s",
            f"--pid-file={data}/pid",
            "--innodb-flush-log-at-trx-commit=1",
            "--innodb-buffer-pool-size=1G",
            "--innodb-log-file-size=512M",
            "--max-connections=400",
        ]
        with running(start, log):
            wait_until((data / "s").exists, "MariaDB")
            subprocess.run(
                ["mariadb", f"--socket={data}/s", "--user=root", "--execute",
                 "CREATE USER bench@localhost IDENTIFIED BY 'bench';"
                 "GRANT ALL ON *.* TO bench@localhost"],
                check=True,
            )  # fmt: skip
            yield MariaDB(data / "s")


class PostgreSQL:
    """PostgreSQL with its defaults, which are durable."""

    def __init__(self, port: int) -> None:
        self._port = port

    def url(self, schema: str, driver: str = "psycopg") -> str:
        return f"postgresql+{driver}://postgres@127.0.0.1:{self._port}/{schema}"

    def create(self, schema: str) -> None:
        self._execute(f"DROP DATABASE IF EXISTS {schema}", f"CREATE DATABASE {schema}")

    def copy(self, source: str, target: str) -> None:
        self._execute(
            f"DROP DATABASE IF EXISTS {target}", f"CREATE DATABASE {target} TEMPLATE {source}"
        )

    def _execute(self, *statements: str) -> None:
        engine = sa.create_engine(
            self.url("postgres"), poolclass=sa.NullPool, isolation_level="AUTOCOMMIT"
        )
        with engine.connect() as connection:
            for statement in statements:
                connection.exec_driver_sql(statement)


@contextlib.contextmanager
def postgresql(folder: Path) -> Iterator[PostgreSQL]:
    """Start PostgreSQL on a free port with its data in the folder."""
    data, port, user = folder / "postgresql", free_port(), _unprivileged("postgres")
    data.mkdir()
    _own(data, user)
    # as root, PostgreSQL must be started as somebody else
    change_user = ["runuser", "-u", user, "--"] if os.geteuid() == 0 else []
    with (folder / "postgresql.log").open("wb") as log:
        subprocess.run(
            [*change_user, _postgresql_program("initdb"), "--pgdata", str(data),
             "--auth=trust", "--username=postgres", "--encoding=UTF8", "--locale=C"],
            check=True, stdout=log, stderr=log,
        )  # fmt: skip
        start = [
            *change_user, _postgresql_program("postgres"), "-D", str(data), "-p", str(port),
            "-c", "listen_addresses=127.0.0.1", "-c", f"unix_socket_directories={data}",
            "-c", "max_connections=400", "-c", "shared_buffers=512MB",
        ]  # fmt: skip
        with running(start, log):
            wait_until(lambda: accepts(port), "PostgreSQL")
            yield PostgreSQL(port)


class SQLite:
    """A file for each schema."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def url(self, schema: str, driver: str = "") -> str:
        return f"sqlite:///{self._file(schema)}"

    def create(self, schema: str) -> None:
        for suffix in ("", "-wal", "-shm", "-journal"):
            self._file(schema + suffix).unlink(missing_ok=True)

    def copy(self, source: str, target: str) -> None:
        self.create(target)
        shutil.copyfile(self._file(source), self._file(target))

    def _file(self, schema: str) -> Path:
        name, _, suffix = schema.partition("-")
        return self._folder / (f"{name}.sqlite" + (f"-{suffix}" if suffix else ""))


@contextlib.contextmanager
def sqlite(folder: Path) -> Iterator[SQLite]:
    """Keep the schemas as files in the folder."""
    yield SQLite(folder)


SERVERS: Mapping[str, Callable[[Path], contextlib.AbstractContextManager[Database]]] = {
    "mariadb": mariadb,
    "postgresql": postgresql,
    "sqlite": sqlite,
}


def _unprivileged(name: str) -> str:
    """The user to run a server as: ourselves, unless that is root."""
    return name if os.geteuid() == 0 else str(os.environ["USER"])


def _own(folder: Path, user: str) -> None:
    if os.geteuid() == 0:
        folder.parent.chmod(0o711)
        shutil.chown(folder, user)


def _program(name: str, folder: str) -> str:
    found = shutil.which(name, path=os.pathsep.join([os.environ["PATH"], folder]))
    if not found:
        raise FileNotFoundError(f"{name} is needed: install Debian's mariadb-server or postgresql")
    return found


def _postgresql_program(name: str) -> str:
    newest = max(Path("/usr/lib/postgresql").glob("*/bin"), default=Path("/usr/bin"))
    return _program(name, str(newest))
