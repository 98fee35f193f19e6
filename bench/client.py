"""A keep-alive HTTP client that costs little beside the services it measures.

The client shares the cores with the servers, so requests are encoded beforehand, and of a
response only the status and the length are parsed.
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
    "host: bench\r\nx-auth-token: admin\r\nx-roles: admin,service\r\naccept: application/json\r\n"
    "openstack-api-version: placement {version}\r\n"
)
_LATEST = "1.39"


# amounts by resource class; and the allocations of a consumer by provider
Amounts = Mapping[str, int]
Allocations = Mapping[str, Amounts]


@dataclass(frozen=True, slots=True)
class Request:
    """One encoded request."""

    line: str
    wire: bytes
    # the allocations of each consumer once the write is accepted
    allocations: Mapping[str, Allocations] = field(default_factory=dict)


# called with each request that was sent and the status of its response; 0 means none
ResponseCallback = Callable[[Request, int], None]


def ignore_response(request: Request, status: int) -> None:
    """Do nothing."""


def Get(path: str, version: str = _LATEST) -> Request:  # noqa: N802  named by the method
    """A GET of the path."""
    line, headers = f"GET {path}", _HEADERS.format(version=version)
    return Request(line, f"{line} HTTP/1.1\r\n{headers}\r\n".encode())


def Delete(path: str, allocations: Mapping[str, Allocations]) -> Request:  # noqa: N802
    """A DELETE of the path, and the allocations that remain of each consumer."""
    line, headers = f"DELETE {path}", _HEADERS.format(version=_LATEST)
    return Request(line, f"{line} HTTP/1.1\r\n{headers}\r\n".encode(), allocations)


def Send(  # noqa: N802
    method: str,
    path: str,
    body: Any,
    allocations: Mapping[str, Allocations],
    version: str = _LATEST,
) -> Request:
    """A write with a JSON body, and the allocations that it makes."""
    content = json.dumps(body).encode()
    line = f"{method} {path}"
    head = (
        f"{line} HTTP/1.1\r\n{_HEADERS.format(version=version)}content-type: application/json\r\n"
        f"content-length: {len(content)}\r\n\r\n"
    )
    return Request(line, head.encode() + content, allocations)


@dataclass(frozen=True, slots=True)
class Response:
    """Status and body of a response."""

    status: int
    body: bytes

    def json(self) -> Any:
        """The decoded body."""
        return json.loads(self.body)


class Connection:
    """A connection that sends one request at a time and reconnects when it was closed."""

    def __init__(
        self, port: int, timeout_seconds: float, on_response: ResponseCallback = ignore_response
    ) -> None:
        self._address = ("127.0.0.1", port)
        self._timeout_seconds = timeout_seconds
        self._on_response = on_response
        self._socket: socket.socket | None = None

    def send(self, request: Request) -> Response:
        """Send a request and read the whole response. Raises: OSError, TimeoutError among them."""
        status = 0
        try:
            response = self._exchange(request.wire)
            status = response.status
        finally:
            self._on_response(request, status)
            if not status:
                self.close()
        return response

    def local_port(self) -> int:
        """The local port, which identifies the worker at the other end."""
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

    def _exchange(self, wire: bytes) -> Response:
        connection = self._open()
        connection.sendall(wire)
        head, body = self._read_head(connection)
        status = int(head[9:12])
        length = _LENGTH.search(head)
        body_length = int(length[1]) if length else 0
        response = Response(status, body + _read(connection, body_length - len(body)))
        if _CLOSES.search(head):
            self.close()
        return response

    @staticmethod
    def _read_head(connection: socket.socket) -> tuple[bytes, bytes]:
        """The header, and the part of the body received with it."""
        received = b""
        while (end := received.find(b"\r\n\r\n")) < 0:
            part = connection.recv(65536)
            if not part:
                raise ConnectionResetError("closed before the response")
            received += part
        return received[: end + 2], received[end + 4 :]


def _read(connection: socket.socket, length: int) -> bytes:
    """Read exactly ``length`` bytes."""
    content = memoryview(bytearray(max(length, 0)))
    filled = 0
    while filled < length:
        received = connection.recv_into(content[filled:])
        if not received:
            raise ConnectionResetError("closed within the response")
        filled += received
    return bytes(content)
