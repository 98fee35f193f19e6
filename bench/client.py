"""A keep-alive HTTP client that costs little beside the services it measures.

The machine's cores are shared with the servers, so requests are bytes made
beforehand, and of an answer only the status and the length are looked at.
"""

import json
import re
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

_LENGTH = re.compile(rb"\r\ncontent-length:\s*(\d+)", re.IGNORECASE)
_CLOSES = re.compile(rb"\r\nconnection:\s*close", re.IGNORECASE)
_HEADERS = (
    "host: bench\r\nx-auth-token: admin\r\naccept: application/json\r\n"
    "openstack-api-version: placement {version}\r\n"
)
_LATEST = "1.39"


# by resource class; and what a consumer holds, by provider
Amounts = Mapping[str, int]
Holding = Mapping[str, Amounts]


@dataclass(frozen=True, slots=True)
class Request:
    """One request, ready to be sent."""

    line: str
    wire: bytes
    # what consumers hold once a write is accepted
    holdings: Mapping[str, Holding] = field(default_factory=dict)


# told of each request that was sent, and the status of its answer; 0 is none
Told = Callable[[Request, int], None]


def nobody(request: Request, status: int) -> None:
    """Be told of nothing."""


def Get(path: str, version: str = _LATEST) -> Request:  # noqa: N802  reads as what it makes
    """A GET of the path."""
    line, headers = f"GET {path}", _HEADERS.format(version=version)
    return Request(line, f"{line} HTTP/1.1\r\n{headers}\r\n".encode())


def Send(  # noqa: N802
    method: str, path: str, body: Any, holdings: Mapping[str, Holding]
) -> Request:
    """A write with a JSON body, after which consumers hold something."""
    content = json.dumps(body).encode()
    line = f"{method} {path}"
    head = (
        f"{line} HTTP/1.1\r\n{_HEADERS.format(version=_LATEST)}content-type: application/json\r\n"
        f"content-length: {len(content)}\r\n\r\n"
    )
    return Request(line, head.encode() + content, holdings)


@dataclass(frozen=True, slots=True)
class Answer:
    """Status and body of a response."""

    status: int
    body: bytes

    def json(self) -> Any:
        """The decoded body."""
        return json.loads(self.body)


class Connection:
    """A connection that sends one request at a time and opens itself again when closed."""

    def __init__(self, port: int, timeout_seconds: float, told: Told = nobody) -> None:
        self._address = ("127.0.0.1", port)
        self._timeout_seconds = timeout_seconds
        self._told = told
        self._socket: socket.socket | None = None

    def send(self, request: Request) -> Answer:
        """Send and read the whole answer. Raises: OSError, TimeoutError among them."""
        status = 0
        try:
            answer = self._exchange(request.wire)
            status = answer.status
        finally:
            self._told(request, status)
            if not status:
                self.close()
        return answer

    def local_port(self) -> int:
        """Our end of the connection, by which the worker at the other end is found."""
        port: int = self._open().getsockname()[1]
        return port

    def close(self) -> None:
        """Close; the next request opens a new connection."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _open(self) -> socket.socket:
        if self._socket is None:
            self._socket = socket.create_connection(self._address, self._timeout_seconds)
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return self._socket

    def _exchange(self, wire: bytes) -> Answer:
        connection = self._open()
        connection.sendall(wire)
        head, body = self._read_head(connection)
        status = int(head[9:12])
        length = _LENGTH.search(head)
        wanted = int(length[1]) if length else 0
        answer = Answer(status, body + _read(connection, wanted - len(body)))
        if _CLOSES.search(head):
            self.close()
        return answer

    @staticmethod
    def _read_head(connection: socket.socket) -> tuple[bytes, bytes]:
        """The header, and what came with it of the body."""
        received = b""
        while (end := received.find(b"\r\n\r\n")) < 0:
            part = connection.recv(65536)
            if not part:
                raise ConnectionResetError("closed before an answer")
            received += part
        return received[: end + 2], received[end + 4 :]


def _read(connection: socket.socket, length: int) -> bytes:
    """Exactly so many bytes."""
    content = memoryview(bytearray(max(length, 0)))
    filled = 0
    while filled < length:
        received = connection.recv_into(content[filled:])
        if not received:
            raise ConnectionResetError("closed within an answer")
        filled += received
    return bytes(content)
