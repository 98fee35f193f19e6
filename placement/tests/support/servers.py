"""Private database servers for tests and the benchmark, each in a folder of its own.

``MariaDb`` and ``PostgreSql`` can be started, killed and started again. A test run has one of
each, shared by all its processes: the first that needs it starts a supervising process
(``python -m placement.tests.support.servers``), which stops the server at the end of the run,
even if the run is killed.
"""

import atexit
import fcntl
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

import psutil
import psycopg
import pymysql

START_TIMEOUT_SECONDS = 240
USER = "placement"
PORTS = (10_000, 32_768)  # Linux assigns larger ones to clients and to port 0
# pytest seeds the random module alike in all processes of a run
_random = random.SystemRandom()


class Missing(Exception):  # noqa: N818
    """A program is not installed."""


def find(program: str, *folders: str) -> str:
    """Return the path of a program.  Raises: Missing, with the package to install."""
    path = os.pathsep.join([*folders, os.environ.get("PATH", ""), "/usr/sbin", "/usr/local/sbin"])
    installed = shutil.which(program, path=path)
    if installed is None:
        package = "postgresql" if folders else "mariadb-server"
        raise Missing(f"{program} is not installed: apt-get install {package}")
    return installed


def free_port() -> int:
    """Return a free TCP port, outside of the range that Linux assigns, and each one once.

    So no other process gets it before its server starts, or while its server is killed: processes
    of tests reserve it on this machine until they end.
    """
    while True:
        port = _random.randrange(*PORTS)
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            _reserve(port)
            return port


def _reserve(port: int) -> None:
    """Reserve a port until this process ends.  Raises: OSError if it is reserved."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as reservation:
        reservation.bind(f"\0placement-tests-port-{port}")
        reservation.detach()  # it stays open


def run(command: list[str], folder: Path | None = None) -> None:
    """Run a command.  Raises: RuntimeError with its output if it fails."""
    result = subprocess.run(command, check=False, capture_output=True, text=True, cwd=folder)
    if result.returncode:
        raise RuntimeError(f"{command[0]}: {result.stdout[-1000:]}{result.stderr[-1000:]}")


class Server:
    """A database server in a folder: the interface of both kinds."""

    name: str
    drivers: tuple[str, ...]

    def __init__(
        self,
        folder: Path,
        port: int | None = None,
        *,
        durable: bool = False,
        settings: Sequence[str] = (),
    ) -> None:
        self.folder = folder
        self.log = folder / "log"
        self.port = port or free_port()
        self.durable = durable
        self.settings = settings
        self.process: subprocess.Popen[bytes] | None = None

    def initialise(self) -> None:
        """Copy the data directory of the template, which the first server creates."""
        shutil.copytree(_template(self.name) / "data", self.folder / "data")

    def create_data(self) -> None:
        """Create a data directory with the programs of the server."""
        raise NotImplementedError

    def command(self) -> list[str]:
        """Return the command line of the server in the foreground."""
        raise NotImplementedError

    def execute(self, statement: str, database: str | None = None) -> list[tuple[Any, ...]]:
        """Run one statement as the administrator, outside of any transaction."""
        raise NotImplementedError

    def url(self, database: str, driver: str | None = None) -> str:
        """Return the SQLAlchemy URL of a database, over a Unix socket."""
        raise NotImplementedError

    def tcp_url(self, database: str, driver: str | None = None, port: int | None = None) -> str:
        """Return the SQLAlchemy URL of a database over TCP, through another port if specified."""
        raise NotImplementedError

    def create(self, database: str) -> None:
        """Create an empty database."""
        raise NotImplementedError

    def drop(self, database: str) -> None:
        """Drop a database and its connections."""
        raise NotImplementedError

    def disconnect(self, database: str) -> None:
        """End all connections to a database."""
        raise NotImplementedError

    @property
    def socket(self) -> Path:
        """The Unix socket of the server."""
        raise NotImplementedError

    def start(self) -> None:
        """Start the server and wait until it accepts queries; existing data is kept."""
        if not (self.folder / "data").exists():
            self.initialise()
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(self.command(), stdout=log, stderr=log)
        self._wait_until_ready(self.process)

    def _wait_until_ready(self, process: subprocess.Popen[bytes]) -> None:
        deadline = time.monotonic() + START_TIMEOUT_SECONDS
        while True:
            try:
                self.execute("SELECT 1")
            except (pymysql.Error, psycopg.Error):
                if time.monotonic() > deadline or process.poll() is not None:
                    raise RuntimeError(self.log.read_text()[-2000:]) from None
                time.sleep(0.05)
            else:
                return

    def kill(self) -> None:
        """Kill all processes of the server."""
        assert self.process is not None
        server = psutil.Process(self.process.pid)
        children = server.children(recursive=True)
        for process in (server, *children):
            with suppress(psutil.NoSuchProcess):
                process.kill()
        psutil.wait_procs(children)
        self.process.wait()

    def stop(self) -> None:
        """Shut the server down."""
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(self._stop_signal)
            try:
                self.process.wait(60)
            except subprocess.TimeoutExpired:
                self.kill()

    _stop_signal = signal.SIGTERM


class MariaDb(Server):
    """A MariaDB server."""

    name = "mariadb"
    drivers = ("pymysql", "mysqldb")
    NOT_DURABLE = (
        "--innodb-flush-log-at-trx-commit=0",
        "--innodb-flush-method=nosync",
        "--innodb-doublewrite=0",
        "--sync-frm=0",
    )

    @property
    def socket(self) -> Path:
        return self.folder / "socket"

    def create_data(self) -> None:
        install = [
            find("mariadb-install-db"),
            "--no-defaults",
            *self._folders(),
            "--auth-root-authentication-method=normal",
            "--skip-test-db",
            *self._as_root(),
            "--debug-no-sync",  # else it waits for the disk 1,300 times
        ]
        run(install)

    def _folders(self) -> list[str]:
        """Folders of this server alone: MariaDB removes all temporary files at its start."""
        return [f"--datadir={self.folder / 'data'}", f"--tmpdir={self.folder}"]

    def _as_root(self) -> list[str]:
        return ["--user=root"] if os.getuid() == 0 else []

    def command(self) -> list[str]:
        return [
            find("mariadbd"),
            "--no-defaults",
            *self._as_root(),
            *self._folders(),
            f"--socket={self.socket}",
            f"--pid-file={self.folder / 'pid'}",
            f"--port={self.port}",
            "--bind-address=127.0.0.1",
            "--skip-name-resolve",
            "--max-connections=500",
            "--innodb-buffer-pool-size=128M",
            "--character-set-server=utf8mb3",
            *([] if self.durable else self.NOT_DURABLE),
            *self.settings,
        ]

    def execute(self, statement: str, database: str | None = None) -> list[tuple[Any, ...]]:
        # not over the Unix socket: PyMySQL does not close it when the connection is refused
        with (
            pymysql.connect(
                host="127.0.0.1",
                port=self.port,
                user="root",
                database=database,
                autocommit=True,
                ssl_disabled=True,  # to offer TLS costs 20 ms
            ) as connection,
            connection.cursor() as cursor,
        ):
            cursor.execute(statement)
            return list(cursor.fetchall())

    def url(self, database: str, driver: str | None = None) -> str:
        driver = driver or self.drivers[0]
        return f"mysql+{driver}://root@localhost/{database}?unix_socket={self.socket}"

    def tcp_url(self, database: str, driver: str | None = None, port: int | None = None) -> str:
        driver = driver or self.drivers[0]
        return f"mysql+{driver}://root@127.0.0.1:{port or self.port}/{database}"

    def create(self, database: str) -> None:
        self.execute(f"CREATE DATABASE {database}")

    def drop(self, database: str) -> None:
        self.disconnect(database)
        self.execute(f"DROP DATABASE IF EXISTS {database}")

    def disconnect(self, database: str) -> None:
        connected = self.execute(
            f"SELECT id FROM information_schema.processlist WHERE db = '{database}'"
        )
        for (connection,) in connected:
            with suppress(pymysql.Error):
                self.execute(f"KILL {connection}")


class PostgreSql(Server):
    """A PostgreSQL server; it refuses to run as root, so root runs it as user ``postgres``."""

    name = "postgresql"
    drivers = ("psycopg", "psycopg2")
    _stop_signal = signal.SIGINT  # a fast shutdown, not one that waits for clients

    @property
    def socket(self) -> Path:
        return self.folder / f".s.PGSQL.{self.port}"

    @staticmethod
    def _program(name: str) -> list[str]:
        debian = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
        path = find(name, *map(str, debian), "/usr/pgsql/bin")
        if os.getuid() != 0:
            return [path]
        return [find("setpriv"), "--reuid=postgres", "--regid=postgres", "--init-groups", path]

    def initialise(self) -> None:
        super().initialise()
        if os.getuid() == 0:
            run(["chown", "-R", "postgres:postgres", str(self.folder)])

    def create_data(self) -> None:
        program = self._program("initdb")
        if os.getuid() == 0:
            shutil.chown(self.folder, "postgres", "postgres")
        data = str(self.folder / "data")
        options = ["--auth=trust", f"--username={USER}", "--encoding=UTF8", "--no-locale"]
        run([*program, "-D", data, "--no-sync", *options], self.folder)

    def command(self) -> list[str]:
        durable = "on" if self.durable else "off"
        settings = {
            "unix_socket_directories": self.folder,
            "listen_addresses": "127.0.0.1",
            "port": self.port,
            "max_connections": 300,
            "fsync": durable,
            "synchronous_commit": durable,
            "full_page_writes": durable,
        }
        options = [part for key, value in settings.items() for part in ("-c", f"{key}={value}")]
        return [
            *self._program("postgres"),
            "-D",
            str(self.folder / "data"),
            *options,
            *self.settings,
        ]

    def execute(self, statement: str, database: str | None = None) -> list[tuple[Any, ...]]:
        with psycopg.connect(
            host=str(self.folder),
            port=self.port,
            user=USER,
            dbname=database or "postgres",
            autocommit=True,
        ) as connection:
            cursor = connection.execute(statement)
            return cursor.fetchall() if cursor.description else []

    def url(self, database: str, driver: str | None = None) -> str:
        place = f"host={self.folder}&port={self.port}"
        return f"postgresql+{driver or self.drivers[0]}://{USER}@/{database}?{place}"

    def tcp_url(self, database: str, driver: str | None = None, port: int | None = None) -> str:
        driver = driver or self.drivers[0]
        return f"postgresql+{driver}://{USER}@127.0.0.1:{port or self.port}/{database}"

    def create(self, database: str) -> None:
        self.execute(f"CREATE DATABASE {database}")

    def drop(self, database: str) -> None:
        self.execute(f"DROP DATABASE IF EXISTS {database} WITH (FORCE)")

    def disconnect(self, database: str) -> None:
        self.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            f"WHERE datname = '{database}' AND pid <> pg_backend_pid()"
        )


_run_folder: Path | None = None


def share_templates(run_folder: Path) -> None:
    """Create each template once for all processes of a run, in a folder that the run removes."""
    global _run_folder  # noqa: PLW0603
    _run_folder = run_folder


@cache
def _template(kind: str) -> Path:
    """Return a folder with a new data directory."""
    if _run_folder is None:
        folder = _new_template(kind)
        atexit.register(_remove_template, folder, os.getpid())
        return folder
    shared = _run_folder / f"{kind}-template"
    with shared.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not shared.exists():
            shutil.move(_new_template(kind), shared)
    return shared


def _new_template(kind: str) -> Path:
    """Create a data directory, in a folder that the user of the server can enter."""
    folder = Path(tempfile.mkdtemp(prefix=f"placement-{kind}-template-"))
    KINDS[kind](folder).create_data()
    return folder


def _remove_template(folder: Path, owner: int) -> None:
    if os.getpid() == owner:  # not in a forked child
        shutil.rmtree(folder, ignore_errors=True)


KINDS: dict[str, type[Server]] = {"mariadb": MariaDb, "postgresql": PostgreSql}
# the kind of server of each driver
DRIVERS = {driver: kind for kind, server in KINDS.items() for driver in server.drivers}


def _folder(*, durable: bool) -> str | None:
    """The folder for data: in memory, if it need not be durable and there is enough."""
    memory = Path("/dev/shm")
    is_roomy = memory.is_dir() and shutil.disk_usage(memory).free > 4 << 30
    return str(memory) if is_roomy and not durable and os.access(memory, os.W_OK) else None


def _remove_abandoned_folders() -> None:
    """Remove folders in memory whose process was killed: their names have its id."""
    for kind in KINDS:
        for folder in Path("/dev/shm").glob(f"placement-{kind}-[0-9]*-*"):
            if not psutil.pid_exists(int(folder.name.split("-")[2])):
                shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def private(kind: str, *, durable: bool = True) -> Iterator[Server]:
    """A server for one test, which may kill it."""
    _remove_abandoned_folders()
    prefix = f"placement-{kind}-{os.getpid()}-"
    folder = Path(tempfile.mkdtemp(prefix=prefix, dir=_folder(durable=durable)))
    server = KINDS[kind](folder, durable=durable)
    try:
        server.start()
        yield server
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)


# --- one server for a whole run, whatever the number of its processes ------------------


def shared(kind: str, folder: Path, run_pid: int) -> Server:
    """Return the run's server of this kind, started if this is the first to need it.

    ``folder`` is common to the processes of the run; the server lives as long as the process
    ``run_pid``.  Raises: Missing.
    """
    KINDS[kind](folder, 1).command()  # raises before anything is started
    note = folder / f"{kind}.started"
    with (folder / f"{kind}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not note.exists():
            _start_supervisor(kind, note, run_pid)
    server_folder, port = note.read_text().split("\n")
    return KINDS[kind](Path(server_folder), int(port))


def _start_supervisor(kind: str, note: Path, run_pid: int) -> None:
    """Start a process that runs the server, and wait until it has written folder and port."""
    command = [sys.executable, "-m", __name__, kind, str(note), str(run_pid)]
    with note.with_suffix(".log").open("wb") as log:
        supervisor = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
    while not note.exists():
        if supervisor.poll() is not None:
            raise RuntimeError(note.with_suffix(".log").read_text())
        time.sleep(0.02)
    supervisor.returncode = 0  # it outlives this process on purpose


def supervise(kind: str, note: Path, run_pid: int) -> None:
    """Run a server until a process ends, then stop it and remove its data."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C ends the run; then the server is stopped
    share_templates(note.parent)
    with private(kind, durable=False) as server:
        written = note.with_suffix(".new")
        written.write_text(f"{server.folder}\n{server.port}")
        written.rename(note)
        with suppress(psutil.NoSuchProcess):
            psutil.Process(run_pid).wait()


if __name__ == "__main__":
    supervise(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))
