"""A database host that can become unresponsive, like a host without power.

The host is a network namespace with a proxy that forwards connections to the Unix socket of a
server on this machine:
``ip netns exec HOST python -m placement.tests.support.unreachable_host SOCKET``.
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
# A link is removed with a delay, so each host has a number of its own, which determines its name
# and its network.
_NETWORKS = 2**14
_numbers = itertools.count(os.getpid())
_NUMBER_IS_USED = "exists"
NOT_PERMITTED = "network namespaces require root, and are not available everywhere"


class UnreachableHost:
    """A network namespace, connected by a pair of virtual interfaces."""

    def __init__(self, number: int) -> None:
        first, rest = divmod(number % _NETWORKS, 64)
        self.name, network = f"far{number % _NETWORKS}", f"169.254.{first}"
        self.address, self._here = f"{network}.{4 * rest + 2}", f"{network}.{4 * rest + 1}"
        self.is_responding = True

    def connect(self) -> None:
        """Create the namespace and the link.

        Raises: CalledProcessError if this is not permitted, or the number is used; also by a host
        that a killed test run has left.
        """
        near, far = f"near{self.name}", self.name
        _ip("netns", "add", far)
        try:
            _ip("link", "add", near, "type", "veth", "peer", far, "netns", far)
        except subprocess.CalledProcessError:
            self.disconnect()
            raise
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


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True, text=True)


def _connected() -> UnreachableHost:
    """Return a connected host with a number that is free. Skips the test if not permitted."""
    if os.getuid() != 0:
        pytest.skip(NOT_PERMITTED)
    for number in itertools.islice(_numbers, _NETWORKS):
        host = UnreachableHost(number)
        try:
            host.connect()
        except subprocess.CalledProcessError as error:
            if _NUMBER_IS_USED not in error.stderr:
                pytest.skip(f"{NOT_PERMITTED}: {error.stderr.strip()}")
        else:
            return host
    raise RuntimeError("all networks are used")


@contextmanager
def unreachable_host(socket: Path) -> Iterator[UnreachableHost]:
    """A host that forwards ``PORT`` to a Unix socket of this machine."""
    host = _connected()
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
