"""A database on a host of its own, behind a cable, which may fall silent as without power.

The host is a network namespace; what listens there passes connections on to the Unix socket of
a server that runs here:
``ip netns exec HOST python -m placement.tests.functional.db.unreachable_host SOCKET``.
"""

import asyncio
import itertools
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

PORT = 3306
# a cable is gone some time after its end: the next test takes another name and other addresses
_numbers = itertools.count(os.getpid())
NOT_HERE = "only root can make a network namespace, and not everywhere"


class UnreachableHost:
    """The other end of the cable."""

    def __init__(self) -> None:
        number = next(_numbers)
        self.name, network = f"far{number}", f"169.254.{number % 250 + 1}"
        self.address, self._here = f"{network}.2", f"{network}.1"

    def connect(self) -> None:
        """Lay the cable.  Skips the test where that is not allowed."""
        near, far = f"near{self.name}", self.name
        if os.getuid() != 0 or _ip("netns", "add", self.name, check=False):
            pytest.skip(NOT_HERE)
        if _ip("link", "add", near, "type", "veth", "peer", far, "netns", self.name, check=False):
            self.disconnect()
            pytest.skip(NOT_HERE)
        _ip("address", "add", f"{self._here}/30", "dev", near)
        self._ip("address", "add", f"{self.address}/30", "dev", far)
        _ip("link", "set", near, "up")
        self._ip("link", "set", far, "up")

    def disconnect(self) -> None:
        """Take it away, and the cable with it."""
        _ip("netns", "delete", self.name)

    def fall_silent(self) -> None:
        """Have nothing of what it says arrive, not even that a packet came or was refused."""
        self._ip("route", "add", "blackhole", f"{self._here}/32")

    def speak(self) -> None:
        """Let it be heard again."""
        self._ip("route", "delete", "blackhole", f"{self._here}/32")

    def _ip(self, *words: str) -> None:
        _ip("-netns", self.name, *words)

    @contextmanager
    def passing_on(self, socket: Path) -> Iterator[None]:
        """Have connections to it reach a Unix socket."""
        command = ["ip", "netns", "exec", self.name, sys.executable, "-m", __name__, str(socket)]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
            process.stdout.readline()
            yield
            process.terminate()


def _ip(*words: str, check: bool = True) -> int:
    return subprocess.run(["ip", *words], check=check, capture_output=True).returncode


@contextmanager
def unreachable_host(socket: Path) -> Iterator[UnreachableHost]:
    """A host on which ``PORT`` leads to a Unix socket of this one."""
    host = UnreachableHost()
    host.connect()
    try:
        with host.passing_on(socket):
            yield host
    finally:
        host.disconnect()


async def _pass_on(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError):
        while data := await source.read(65536):
            target.write(data)
    target.close()


async def _serve(socket: str) -> None:
    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there = await asyncio.open_unix_connection(socket)
        await asyncio.gather(_pass_on(reader, there[1]), _pass_on(there[0], writer))

    server = await asyncio.start_server(connected, "0.0.0.0", PORT)
    print("listening", flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(_serve(sys.argv[1]))
