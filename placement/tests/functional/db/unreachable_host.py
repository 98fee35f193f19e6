"""A database host that can become unresponsive, like a host without power.

The host is a network namespace with a proxy that forwards connections to the Unix socket of a
server on this machine:
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
# a link is removed with a delay: each test uses another name and other addresses
_numbers = itertools.count(os.getpid())
NOT_PERMITTED = "network namespaces require root, and are not available everywhere"


class UnreachableHost:
    """A network namespace, connected by a pair of virtual interfaces."""

    def __init__(self) -> None:
        number = next(_numbers)
        self.name, network = f"far{number}", f"169.254.{number % 250 + 1}"
        self.address, self._here = f"{network}.2", f"{network}.1"
        self.is_responding = True

    def connect(self) -> None:
        """Create the namespace and the link. Skips the test where this is not permitted."""
        near, far = f"near{self.name}", self.name
        if os.getuid() != 0 or _ip("netns", "add", self.name, check=False):
            pytest.skip(NOT_PERMITTED)
        if _ip("link", "add", near, "type", "veth", "peer", far, "netns", self.name, check=False):
            self.disconnect()
            pytest.skip(NOT_PERMITTED)
        _ip("address", "add", f"{self._here}/30", "dev", near)
        self._ip("address", "add", f"{self.address}/30", "dev", far)
        _ip("link", "set", near, "up")
        self._ip("link", "set", far, "up")

    def disconnect(self) -> None:
        """Delete the namespace, and the link with it."""
        _ip("netns", "delete", self.name)

    def stop_responding(self) -> None:
        """Drop all packets of the host, including acknowledgments and resets."""
        self.is_responding = False
        self._ip("route", "replace", "blackhole", f"{self._here}/32")

    def resume_responding(self) -> None:
        """Deliver the packets of the host again."""
        self._ip("route", "delete", "blackhole", f"{self._here}/32")
        self.is_responding = True

    def _ip(self, *words: str) -> None:
        _ip("-netns", self.name, *words)

    @contextmanager
    def forwarding_to(self, socket: Path) -> Iterator[None]:
        """Forward connections on ``PORT`` to a Unix socket."""
        command = ["ip", "netns", "exec", self.name, sys.executable, "-m", __name__, str(socket)]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
            try:
                process.stdout.readline()
                yield
            finally:  # Popen waits for its end
                process.terminate()


def _ip(*words: str, check: bool = True) -> int:
    return subprocess.run(["ip", *words], check=check, capture_output=True).returncode


@contextmanager
def unreachable_host(socket: Path) -> Iterator[UnreachableHost]:
    """A host that forwards ``PORT`` to a Unix socket of this machine."""
    host = UnreachableHost()
    host.connect()
    try:
        with host.forwarding_to(socket):
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
