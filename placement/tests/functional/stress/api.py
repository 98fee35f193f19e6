"""Run ``placement-api``, and send requests to it."""

import http.client
import json
import os
import random
import re
import signal
import subprocess
import time
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from placement.tests.support.preloaded import Process, start_api
from placement.tests.support.processes import environment

SECONDS_TO_START = 60
TIMEOUT_SECONDS = 60
REQUESTS_PER_CONNECTION = 20  # the next connection may reach another process
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
        self.port = 0
        self._process: Process | None = None

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
            self._process = start_api(
                ["--port", "0", "--workers", str(self.workers)],
                folder=self.folder,
                environ=environment(**options),
                output=log,
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
            match = re.search(
                r"^Placement listens on \S+:(\d+)$", self.log.read_text(), re.MULTILINE
            )
            self.port = int(match[1]) if match else 0
            with suppress(OSError, http.client.HTTPException), closing(Client([self.port])) as one:
                if self.port and len(self.pids()) == self.workers:
                    one.send("GET", "/")
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
    """Sends one request at a time to one of several services; changes connections."""

    def __init__(self, ports: list[int], seed: int = 0) -> None:
        self._ports = ports
        self._choose = random.Random(seed)
        self._connection: http.client.HTTPConnection | None = None
        self._remaining = 0

    def send(self, method: str, path: str, body: object = None) -> Response:
        """Return the response.  Raises: OSError, HTTPException."""
        if self._remaining <= 0:
            self.close()
        self._remaining -= 1
        try:
            return self._exchange(method, path, body)
        except BaseException:
            self.close()
            raise

    def _exchange(self, method: str, path: str, body: object) -> Response:
        if self._connection is None:
            port = self._choose.choice(self._ports)
            self._connection = http.client.HTTPConnection("127.0.0.1", port, TIMEOUT_SECONDS)
            self._remaining = self._choose.randrange(REQUESTS_PER_CONNECTION)
        text = None if body is None else json.dumps(body)
        headers = HEADERS if body is None else HEADERS | {"Content-Type": "application/json"}
        self._connection.request(method, path, text, headers)
        response = self._connection.getresponse()
        text = response.read()
        is_json = "json" in response.headers.get("Content-Type", "")
        content = json.loads(text) if text and is_json else {}
        return Response(response.status, content, response.headers.get("Retry-After"))

    def close(self) -> None:
        """Close the connection; the next request opens another."""
        if self._connection is not None:
            self._connection.close()
        self._connection, self._remaining = None, 0
