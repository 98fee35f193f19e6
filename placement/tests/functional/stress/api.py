"""Run the service under uWSGI, and send requests to it."""

import http.client
import json
import os
import random
import signal
import subprocess
import time
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from placement.tests.support.processes import environment, uwsgi_workers
from placement.tests.support.servers import free_port

SECONDS_TO_START = 60
TIMEOUT_SECONDS = 60
HEADERS = {
    "X-Auth-Token": "admin",
    "X-Roles": "admin,service",
    "Accept": "application/json",
    "OpenStack-API-Version": "placement latest",
}


class Api:
    """The service with several worker processes on one database."""

    def __init__(
        self, folder: Path, url: str, workers: int = 4, *, sync_on_startup: bool = False
    ) -> None:
        self.folder, self.url, self.workers = folder, url, workers
        self.sync_on_startup = sync_on_startup
        self.port = free_port()
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self):
        self.folder.mkdir(parents=True, exist_ok=True)
        options = {
            "OS_PLACEMENT_DATABASE__CONNECTION": self.url,
            "OS_PLACEMENT_DATABASE__SQLITE_SYNCHRONOUS": "false",
            "OS_PLACEMENT_DATABASE__SYNC_ON_STARTUP": str(self.sync_on_startup).lower(),
            "OS_API__AUTH_STRATEGY": "noauth2",
            "OS_PLACEMENT_CONFIG_DIR": str(self.folder),
        }
        (self.folder / "placement.conf").touch()
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(
                uwsgi_workers(self.port, self.workers),
                cwd=self.folder,
                env=environment(**options),
                stdout=log,
                stderr=log,
            )
        self._wait_until_ready()
        return self

    def __exit__(self, *error):
        self._process.terminate()
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            for process in (*psutil.Process(self._process.pid).children(), self._process):
                process.kill()
            self._process.wait()

    @property
    def log(self) -> Path:
        return self.folder / "api.log"

    def _wait_until_ready(self) -> None:
        deadline = time.monotonic() + SECONDS_TO_START
        while time.monotonic() < deadline and self._process.poll() is None:
            with suppress(OSError, http.client.HTTPException):
                if len(self.pids()) == self.workers:
                    Client([self.port]).send("GET", "/")
                    return
            time.sleep(0.05)
        raise AssertionError(self.log.read_text())

    def pids(self) -> list[int]:
        """Return the worker processes."""
        return [child.pid for child in psutil.Process(self._process.pid).children()]

    def kill_a_worker(self) -> None:
        """Kill one worker, and wait until the service has replaced it."""
        killed = random.choice(self.pids())
        os.kill(killed, signal.SIGKILL)
        deadline = time.monotonic() + SECONDS_TO_START
        while killed in self.pids() or len(self.pids()) < self.workers:
            assert time.monotonic() < deadline, "a worker is not replaced"
            time.sleep(0.01)


@dataclass(frozen=True)
class Response:
    """The response to one request."""

    status: int
    body: dict
    retry_after: str | None

    @property
    def code(self) -> str:
        """The error code."""
        return self.body["errors"][0]["code"] if "errors" in self.body else ""


class Client:
    """Sends one request at a time to one of several services, each on a new connection."""

    def __init__(self, ports: list[int], seed: int = 0) -> None:
        self._ports = ports
        self._choose = random.Random(seed)

    def send(self, method: str, path: str, body: object = None) -> Response:
        """Return the response.  Raises: OSError, HTTPException."""
        port = self._choose.choice(self._ports)
        text = None if body is None else json.dumps(body)
        headers = HEADERS if body is None else HEADERS | {"Content-Type": "application/json"}
        with closing(http.client.HTTPConnection("127.0.0.1", port, TIMEOUT_SECONDS)) as connection:
            connection.request(method, path, text, headers)
            response = connection.getresponse()
            text = response.read()
        is_json = "json" in response.headers.get("Content-Type", "")
        content = json.loads(text) if text and is_json else {}
        return Response(response.status, content, response.headers.get("Retry-After"))
