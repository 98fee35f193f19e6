"""The HTTP server that ``placement-api`` embeds: cheroot, with threads."""

import logging
import signal
import socket
from contextlib import suppress
from dataclasses import dataclass
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Any, NoReturn, Self

from cheroot import wsgi

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIApplication

LOG = logging.getLogger(__name__)

_BODY_LIMIT_BYTES = 256 * 2**20
_HEAD_LIMIT_BYTES = 4 * 2**20
_BACKLOG = 256
_STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)


@dataclass(frozen=True, slots=True)
class Address:
    """Where a server listens."""

    host: str
    port: int

    @property
    def url(self) -> str:
        """The address as clients write it."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}"


class Listening:
    """An address that is ours, from the start of the command to its end.

    Workers listen on it themselves, each with a socket of its own (SO_REUSEPORT), among which the
    kernel shares out the connections. That would also let a second command in unnoticed, so the
    address must be free when it is taken. Port 0 becomes one that all workers use.

    Raises: OSError if the address is taken, or is not of this machine.
    """

    def __init__(self, address: Address) -> None:
        found = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
        family, *_, name = found[0]
        with socket.socket(family) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(name)
            name = probe.getsockname()
        self._socket = socket.socket(family)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        self._socket.bind(name)
        self.address = Address(address.host, name[1])

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._socket.close()


class _Gateway(wsgi.Gateway_10):
    """Cheroot's bridge to WSGI, but for two things that it does in its own way."""

    def get_environ(self) -> dict[str, Any]:  # type: ignore[override]  # its stub says None
        """Return the environment of the request, its path decoded wholly, as other servers do."""
        environ: dict[str, Any] = super().get_environ()  # type: ignore[no-untyped-call]
        environ["PATH_INFO"] = environ["PATH_INFO"].replace("%2F", "/")
        return environ

    def respond(self) -> None:
        """Answer the request; if it is chunked, end the connection with it.

        What is not read of such a body would be taken for the next request.
        """
        if self.req.chunked_read:
            self.req.close_connection = True
        super().respond()


class _Server(wsgi.Server):
    """Cheroot, with its complaints in the log."""

    max_request_body_size = _BODY_LIMIT_BYTES
    max_request_header_size = _HEAD_LIMIT_BYTES

    def error_log(self, msg: str = "", level: int = logging.INFO, traceback: bool = False) -> None:
        """Log a complaint; a client that goes away is one."""
        LOG.log(level, msg, exc_info=traceback)


def serve(application: "WSGIApplication", address: Address, *, threads: int) -> None:
    """Answer requests in this process until SIGTERM or SIGINT; requests under way are finished."""
    server = _Server(
        (address.host, address.port),
        application,
        numthreads=threads,
        request_queue_size=_BACKLOG,
        reuse_port=True,
    )
    server.gateway = _Gateway
    for number in _STOP_SIGNALS:
        signal.signal(number, _stop)
    try:
        with suppress(SystemExit):
            server.prepare()
            server.serve()
    finally:
        server.stop()


def _stop(_number: int, _frame: FrameType | None) -> NoReturn:
    """Leave the serving loop; a terminal may send the same signal again through the supervisor."""
    for number in _STOP_SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    raise SystemExit
