"""Install, configure, start and stop both services under uWSGI."""

import compileall
import contextlib
import os
import resource
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import psutil

import placement
from bench.client import Connection, Get, Response, ResponseCallback, ignore_response
from placement.tests.support.servers import free_port

UPSTREAM_PACKAGES = ["openstack-placement==16.0.0", "PyMySQL", "psycopg2-binary"]
# mysqlclient is built from source: only runs that use it install it
MYSQLCLIENT = "mysqlclient"
PROCESSES, THREADS = 2, 10
# address space of a process: a service fails before the machine runs out of memory
MEMORY_LIMIT_BYTES = 8 * 2**30
START_SECONDS = 120
PLACEMENT_FOLDER = Path(placement.__file__).parent

CONFIGURATION = """\
[api]
auth_strategy = noauth2
[placement_database]
connection = {url}
"""


def install_upstream(folder: Path, *more_packages: str) -> Path:
    """Return an environment with openstack-placement, created at the first call.

    It is used as a black box: by its commands and its WSGI callable.
    """
    folder.mkdir(exist_ok=True)
    environment = folder / "openstack-placement"
    packages = [*UPSTREAM_PACKAGES, *more_packages]
    installed = environment / ".installed"
    if not installed.exists() or not set(packages) <= set(installed.read_text().split()):
        subprocess.run([sys.executable, "-m", "venv", "--clear", environment], check=True)
        with (folder / "openstack-placement.log").open("wb") as log:
            subprocess.run(
                [environment / "bin/python", "-m", "pip", "install", *packages],
                check=True,
                stdout=log,
                stderr=log,
            )
        installed.write_text(" ".join(packages))
    return environment


def compile_placement() -> None:
    """Write the bytecode of this project, as pip does when it installs a package.

    Python does so at the first start, but not if PYTHONDONTWRITEBYTECODE is set: then each start
    compiles the sources, which takes 0.1 s.
    """
    compileall.compile_dir(PLACEMENT_FOLDER, quiet=1)


@dataclass
class Service:
    """One service: an environment, a configuration and, while it runs, a uWSGI process."""

    name: str
    environment: Path
    folder: Path
    url: str
    port: int = field(default_factory=free_port)
    _process: subprocess.Popen[bytes] | None = None

    def __post_init__(self) -> None:
        compile_placement()
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        (self.folder / "placement.conf").write_text(CONFIGURATION.format(url=self.url))

    def manage(self, *arguments: str) -> None:
        """Run placement-manage; its output goes to a log in the service's folder."""
        configuration = self.folder / "placement.conf"
        manage = self.environment / "bin/placement-manage"
        command = [str(manage), f"--config-file={configuration}", *arguments]
        with (self.folder / "manage.log").open("ab") as log:
            subprocess.run(command, check=True, stdout=log, stderr=log, cwd=self.folder)

    def start(self, processes: int = PROCESSES) -> float:
        """Start, and return the seconds until the version document is returned."""
        began = time.perf_counter()
        with (self.folder / "uwsgi.log").open("ab") as log:
            self._process = subprocess.Popen(
                self._command(processes),
                env=os.environ | {"OS_PLACEMENT_CONFIG_DIR": str(self.folder)},
                cwd=self.folder,
                stdout=log,
                stderr=log,
                preexec_fn=_limit_memory,  # noqa: PLW1509  no other thread runs
            )
        response = self._first_response(began + START_SECONDS)
        if response.status != 200:
            raise RuntimeError(
                f"{self.name} answered {response.status}: see {self.folder}/uwsgi.log"
            )
        return time.perf_counter() - began

    def stop(self, *, graceful: bool = True) -> None:
        """Stop uWSGI and its workers; kill them unless graceful."""
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(20 if graceful else 0)
        except subprocess.TimeoutExpired:
            self._kill(self._process)
        self._process = None

    def _kill(self, master: subprocess.Popen[bytes]) -> None:
        """Kill the master first, because it replaces workers."""
        workers = self.workers()
        master.kill()
        master.wait()
        for worker in workers:
            with contextlib.suppress(psutil.NoSuchProcess):
                worker.kill()
        psutil.wait_procs(workers, timeout=20)

    def workers(self) -> list[psutil.Process]:
        """The processes that serve requests."""
        assert self._process is not None
        workers: list[psutil.Process] = psutil.Process(self._process.pid).children(recursive=True)
        return workers

    def connect(
        self, timeout_seconds: float, on_response: ResponseCallback = ignore_response
    ) -> Connection:
        """A new keep-alive connection; the kernel chooses the worker."""
        return Connection(self.port, timeout_seconds, on_response)

    def _first_response(self, deadline: float) -> Response:
        """The response to the first request.  Raises: RuntimeError if none arrives in time."""
        assert self._process is not None
        while time.perf_counter() < deadline and self._process.poll() is None:
            try:
                return self.connect(deadline - time.perf_counter()).send(Get("/"))
            except OSError:
                time.sleep(0.02)
        raise RuntimeError(f"{self.name} did not start: see {self.folder}/uwsgi.log")

    def _command(self, processes: int) -> list[str | Path]:
        uwsgi = shutil.which("uwsgi", path=os.path.dirname(sys.executable)) or "uwsgi"
        return [
            uwsgi,
            f"--http11-socket=127.0.0.1:{self.port}",
            f"--virtualenv={self.environment}",
            "--module=placement.wsgi.api",
            "--callable=application",
            f"--processes={processes}",
            f"--threads={THREADS}",
            "--master",
            "--lazy-apps",
            "--need-app",
            "--die-on-term",
            "--thunder-lock",
            # header and body are two writes: without it the second waits 40 ms for an ACK
            "--tcp-nodelay",
            "--disable-logging",
            "--buffer-size=65535",
            "--listen=100",
            # keep idle connections while the other service is measured
            "--socket-timeout=300",
        ]


def _limit_memory() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_LIMIT_BYTES, MEMORY_LIMIT_BYTES))
