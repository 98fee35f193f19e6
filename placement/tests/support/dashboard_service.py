"""``placement-api --development`` for the dashboard, and Chromium's arguments."""

import json
import os
import re
import shutil
import time
import urllib.request
from pathlib import Path

from placement.tests.support.preloaded import Process, start_api
from placement.tests.support.waiting import SECONDS_TO_WAIT

CHROMIUM = shutil.which("chromium")
# Without these, Chromium looks for hosts of its vendor.
LISTENING = re.compile(r"^Placement listens on (\S+)$", re.MULTILINE)
ARGUMENTS = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update"),
]
SECONDS_TO_START = 60


class Service:
    """``placement-api --development`` in a process of its own, on a folder that outlives it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.url = ""
        self._process: Process | None = None

    def start(self, port: str = "0") -> None:
        log = self.folder / "log"
        with log.open("wb") as output:
            self._process = start_api(
                ["--development", str(self.folder / "data"), "--port", port],
                folder=self.folder,
                environ={k: v for k, v in os.environ.items() if not k.startswith("OS_")},
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

    @property
    def port(self) -> str:
        return self.url.rpartition(":")[2]

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
        with urllib.request.urlopen(request, timeout=30) as response:
            text = response.read()
            return json.loads(text) if text else None
