"""The HTTP server of ``placement-api``: cheroot, with a pool of threads."""

import logging
import signal
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cheroot import wsgi

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIApplication

LOG = logging.getLogger(__name__)

_BODY_LIMIT_BYTES = 256 * 2**20
_HEAD_LIMIT_BYTES = 4 * 2**20
_BACKLOG = 256
_STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)

STOP_DEADLINE_SECONDS = 30


@dataclass(frozen=True, slots=True)
class Address:
    """The host and port that a server listens on."""

    host: str
    port: int

    @property
    def url(self) -> str:
        """The URL of the server."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}"


class ReservedAddress:
    """An address that is reserved for the workers as long as the command runs.

    Each worker listens with its own socket (SO_REUSEPORT), and the kernel distributes connections
    among them. A second command could then use the same port unnoticed, so the address must be
    free at start. Port 0 is replaced by a free port, which all workers use.

    Raises: OSError if the address is in use or does not belong to this machine.
    """

    def __init__(self, address: Address) -> None:
        addresses = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
        family, *_, name = addresses[0]
        with socket.socket(family) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            _bind(probe, name, address)
            name = probe.getsockname()
        self._socket = socket.socket(family)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        self._socket.bind(name)
        self.address = Address(address.host, name[1])

    def close(self) -> None:
        """Release the address."""
        self._socket.close()


def _bind(probe: socket.socket, name: tuple[Any, ...], address: Address) -> None:
    try:
        probe.bind(name)
    except OSError as error:
        raise OSError(
            f"Cannot listen on {address.host}, port {address.port}: {error.strerror}. Choose "
            "another address by --host, or another port by --port."
        ) from error


class _Gateway(wsgi.Gateway_10):
    """Cheroot's WSGI gateway, with two changes to the handling of requests."""

    def get_environ(self) -> dict[str, Any]:  # type: ignore[override]  # its stub says None
        """Return the environment of the request, with ``%2F`` in the path decoded, too."""
        environ: dict[str, Any] = super().get_environ()  # type: ignore[no-untyped-call]
        environ["PATH_INFO"] = environ["PATH_INFO"].replace("%2F", "/")
        return environ

    def respond(self) -> None:
        """Send the response; close the connection after a chunked request.

        Otherwise the unread rest of the body would be parsed as the next request.
        """
        if self.req.chunked_read:
            self.req.close_connection = True
        super().respond()


class Server(wsgi.Server):
    """Cheroot, logging by the logger of this module."""

    max_request_body_size = _BODY_LIMIT_BYTES
    max_request_header_size = _HEAD_LIMIT_BYTES

    def __init__(self, application: "WSGIApplication", address: Address, *, threads: int) -> None:
        super().__init__(
            (address.host, address.port),
            application,
            numthreads=threads,
            request_queue_size=_BACKLOG,
            reuse_port=True,
        )
        self.gateway = _Gateway

    def error_log(self, msg: str = "", level: int = logging.INFO, traceback: bool = False) -> None:
        """Log an error of a connection, for example that the client closed it."""
        LOG.log(level, msg, exc_info=traceback)


def serve(
    application: "WSGIApplication",
    address: Address,
    *,
    threads: int,
    announce: Callable[[], None] = lambda: None,
) -> None:
    """Serve in this process until SIGTERM or SIGINT; call ``announce`` when it listens.

    Requests in progress are completed; SIGALRM ends the process after ``STOP_DEADLINE_SECONDS``.
    """
    server = Server(application, address, threads=threads)
    server.prepare()
    announce()
    # Until here a signal ends the process at once. From here on another thread stops the server:
    # an exception raised within Cheroot's bookkeeping could leave it unable to stop.
    for number in _STOP_SIGNALS:
        signal.signal(number, lambda *_: _stop(server))
    server.serve()


def _stop(server: Server) -> None:
    """Stop the server, and ignore further signals to stop."""
    signal.alarm(STOP_DEADLINE_SECONDS)
    for number in _STOP_SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    threading.Thread(target=server.stop, name="stop").start()
