"""``placement-api --development`` for the dashboard, and Chromium's arguments."""

import json
import re
import shutil
import time
import urllib.request
from pathlib import Path

from placement.tests.support.preloaded import Process, start_api
from placement.tests.support.processes import environment
from placement.tests.support.servers import free_port
from placement.tests.support.waiting import SECONDS_TO_WAIT, wait_until

CHROMIUM = shutil.which("chromium")
# Without these, Chromium looks for hosts of its vendor.
LISTENING = re.compile(r"^Placement listens on (\S+)$", re.MULTILINE)
ARGUMENTS = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update"),
]
SECONDS_TO_START = 60


class Service:
    """``placement-api --development`` in a process of its own.

    The folder and the port outlive the process: no client gets the port meanwhile.
    """

    def __init__(self, folder: Path, **variables: str) -> None:
        self.folder = folder
        self._variables = variables
        self.url = ""
        self.port = str(free_port())
        self._process: Process | None = None

    def start(self) -> None:
        log = self.folder / "log"
        with log.open("wb") as output:
            self._process = start_api(
                ["--development", str(self.folder / "data"), "--port", self.port],
                folder=self.folder,
                environ=environment(**self._variables),
                output=output,
            )
        deadline = time.monotonic() + SECONDS_TO_START
        while not (listening := LISTENING.search(log.read_text())):
            assert time.monotonic() < deadline, log.read_text()
            assert self._process.poll() is None, log.read_text()
            time.sleep(0.05)
        self.url = listening[1]

    def stop(self) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait(SECONDS_TO_WAIT)
            self._process = None

    def send(self, method: str, path: str, body: object = None) -> object:
        request = urllib.request.Request(
            self.url + path,
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={
                "X-Auth-Token": "admin",
                "Content-Type": "application/json",
                "OpenStack-API-Version": "placement latest",
            },
        )
        with urllib.request.urlopen(request, timeout=60) as response:
            text = response.read()
            return json.loads(text) if text else None

    def wait_for_records(self, count: int) -> list[dict[str, object]]:
        """Wait until so many requests are recorded, which responses do not wait for; return them.

        A page that was opened before shows them later, and as new ones.
        """

        def recorded() -> list[dict[str, object]]:
            document = self.send("GET", "/insight/requests")
            assert isinstance(document, dict)
            requests: list[dict[str, object]] = document["requests"]
            return requests

        wait_until(lambda: len(recorded()) >= count)
        return recorded()
