"""The two services under uwsgi: installed, configured, started and stopped alike."""

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

from bench.client import Answer, Connection, Get, Told, nobody
from bench.databases import free_port

REFERENCE = ["openstack-placement==16.0.0", "PyMySQL", "psycopg2-binary"]
PROCESSES, THREADS = 2, 10
# what a service may take before it is ended rather than the machine
MEMORY_LIMIT_BYTES = 8 * 2**30
START_SECONDS = 120

CONFIGURATION = """\
[api]
auth_strategy = noauth2
[placement_database]
connection = {url}
"""


def install_reference(folder: Path) -> Path:
    """Return an environment with the reference in it, made at the first call.

    It is run by its commands and its WSGI callable; nothing here reads its files.
    """
    folder.mkdir(exist_ok=True)
    environment = folder / "reference"
    mark = environment / ".installed"
    if not mark.exists() or mark.read_text() != " ".join(REFERENCE):
        subprocess.run([sys.executable, "-m", "venv", "--clear", environment], check=True)
        with (folder / "reference.log").open("wb") as log:
            subprocess.run(
                [environment / "bin/python", "-m", "pip", "install", *REFERENCE],
                check=True,
                stdout=log,
                stderr=log,
            )
        mark.write_text(" ".join(REFERENCE))
    return environment


@dataclass
class Service:
    """One of the two: an environment, a configuration and, while it runs, a uwsgi."""

    name: str
    environment: Path
    folder: Path
    url: str
    application: str = "--module=placement.wsgi.api"
    port: int = field(default_factory=free_port)
    _process: subprocess.Popen[bytes] | None = None

    def __post_init__(self) -> None:
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
        """Start and return the seconds until the version document was answered."""
        began = time.perf_counter()
        with (self.folder / "uwsgi.log").open("ab") as log:
            self._process = subprocess.Popen(
                self._command(processes),
                env=os.environ | {"OS_PLACEMENT_CONFIG_DIR": str(self.folder)},
                cwd=self.folder,
                stdout=log,
                stderr=log,
                preexec_fn=_limit_memory,  # noqa: PLW1509  a single-threaded moment of the run
            )
        answer = self._first_answer(began + START_SECONDS)
        if answer.status != 200:
            raise RuntimeError(f"{self.name} answers {answer.status}: see {self.folder}/uwsgi.log")
        return time.perf_counter() - began

    def stop(self, *, kindly: bool = True) -> None:
        """End uwsgi and its workers; unkindly when a request would not end."""
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(20 if kindly else 0)
        except subprocess.TimeoutExpired:
            self._kill(self._process)
        self._process = None

    def _kill(self, master: subprocess.Popen[bytes]) -> None:
        """Kill the master first: it would replace its workers."""
        workers = self.workers()
        master.kill()
        master.wait()
        for worker in workers:
            with contextlib.suppress(psutil.NoSuchProcess):
                worker.kill()
        psutil.wait_procs(workers, timeout=20)

    def workers(self) -> list[psutil.Process]:
        """The processes that answer requests."""
        assert self._process is not None
        found: list[psutil.Process] = psutil.Process(self._process.pid).children(recursive=True)
        return found

    def connect(self, timeout_seconds: float, told: Told = nobody) -> Connection:
        """A new keep-alive connection; which worker takes it is up to the kernel."""
        return Connection(self.port, timeout_seconds, told)

    def _first_answer(self, deadline: float) -> Answer:
        """The answer to the first request. Raises: RuntimeError if none came in time."""
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
            self.application,
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
            # idle connections are kept while the other service takes its time
            "--socket-timeout=300",
        ]


def _limit_memory() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_LIMIT_BYTES, MEMORY_LIMIT_BYTES))
