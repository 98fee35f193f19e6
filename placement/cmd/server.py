"""The HTTP server of ``placement-api``: waitress, with strict limits.

One thread receives all requests; a request takes one of the other threads when it is complete.
Slow clients therefore occupy no threads.
"""

import logging
import re
import resource
import signal
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any
from wsgiref.types import WSGIApplication, WSGIEnvironment

from waitress import wasyncore
from waitress.channel import HTTPChannel
from waitress.parser import HTTPRequestParser, ParsingError
from waitress.server import TcpWSGIServer
from waitress.task import ErrorTask, WSGITask
from waitress.utilities import BadRequest, RequestHeaderFieldsTooLarge

from placement import exception
from placement.http.middleware import AfterResponse
from placement.http.request import Request
from placement.http.request_log import RequestLog, refuse

LOG = logging.getLogger(__name__)

STOP_DEADLINE_SECONDS = 30

_HEAD_LIMIT_BYTES = 64 * 2**10
_CHUNK_LINE_LIMIT_BYTES = 4 * 2**10
_MEMORY_PER_BODY_BYTES = 32 * 2**10  # the rest is stored in a temporary file
_STORED_BODIES = 16  # of the maximum size, in the files of all connections together
_STORED_RESPONSES_BYTES = 2**30  # that clients have not read, in memory and files
_RESPONSE_MEMORY_BYTES = 256 * 2**10  # larger responses are stored in a temporary file
_NO_WATERMARK = 2**62  # a thread never waits for a client that does not read
_CONNECTIONS = 2_000
_FILES_PER_CONNECTION = 3
_OTHER_FILES = 100  # of the database, the log and libraries
_TIMEOUT_SECONDS = 60
_CLEANUP_SECONDS = 5
_STOP_ARRIVAL_SECONDS = 5  # for requests that have begun to arrive when the server stops
_STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)
_TOKENS = frozenset({"X_AUTH_TOKEN", "X_STORAGE_TOKEN"})
_CODINGS = re.compile(rb"(?ims)^transfer-encoding([^\n]*,|.*^transfer-encoding)")


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of a server process."""

    application: WSGIApplication
    listener: socket.socket  # bound, and inherited by all workers
    host: str
    threads: int
    max_body_bytes: int


def bound_socket(host: str, port: int) -> socket.socket:
    """Return a socket that is bound to the address; port 0 is replaced by a free port.

    Raises: OSError if the address is in use or does not belong to this machine.
    """
    family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    bound = socket.socket(family)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if family == socket.AF_INET6:
        bound.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    try:
        bound.bind(address)
    except OSError as error:
        bound.close()
        raise OSError(
            f"Cannot listen on {host}, port {port}: {error.strerror}. Choose another address by "
            "--host, or another port by --port."
        ) from error
    return bound


class Parser(HTTPRequestParser):  # type: ignore[misc]
    """Parses one request as it arrives; sets ``error`` if it is too large or ambiguous.

    An ambiguous request may end elsewhere for a proxy in front of this server; the rest of its
    body would then be the next request of another client.
    """

    body_rcv: Any
    error: Any
    version = "1.1"  # of responses to requests without a version

    def __init__(self, adj: Any) -> None:
        super().__init__(adj)
        self.started_at = time.monotonic()

    def received(self, data: bytes) -> int:
        """Parse the data; return how many bytes belong to this request."""
        consumed: int = super().received(data)
        if isinstance(self.error, RequestHeaderFieldsTooLarge):
            # waitress parsed a placeholder instead of the head
            self.command, self.path, self.version = "-", "", "1.1"
        elif self.chunked and self._has_long_chunk_line():
            self.error = BadRequest("chunk size or trailer too long")
        if self.error:
            self.completed, self.expect_continue = True, False
        return consumed

    def parse_header(self, header_plus: bytes) -> None:
        """Parse the head.  Raises: ParsingError."""
        try:
            super().parse_header(header_plus)
        except ValueError:  # Python limits the digits of an integer
            raise ParsingError("Content-Length has too many digits") from None
        if self.version not in {"1.0", "1.1"}:
            raise ParsingError(f"HTTP/{self.version} is not supported; use HTTP/1.1")
        if self.version == "1.1" and "HOST" not in self.headers:
            raise ParsingError("HTTP/1.1 requires a Host header")
        if _CODINGS.search(header_plus):
            raise ParsingError("more than one transfer coding")
        if "," in self.headers.get("HOST", ""):
            raise ParsingError("more than one Host header")
        if "TRANSFER_ENCODING" in self.headers:  # removed by HTTP/1.1 requests
            raise ParsingError("Transfer-Encoding requires HTTP/1.1")
        if self.chunked and "CONTENT_LENGTH" in self.headers:
            raise ParsingError("both Content-Length and Transfer-Encoding")
        if self.body_rcv is not None and _TOKENS.isdisjoint(self.headers):
            self._skip_body()
        self.expect_continue = self.expect_continue and self.body_rcv is not None

    def _skip_body(self) -> None:
        """Skip the body: the application refuses a request without a token."""
        self.body_rcv, self.content_length, self.chunked = None, 0, False
        self.headers.pop("CONTENT_LENGTH", None)
        self.headers["CONNECTION"] = "close"

    def _has_long_chunk_line(self) -> bool:
        lines = self.body_rcv.control_line, self.body_rcv.trailer
        return max(map(len, lines)) > _CHUNK_LINE_LIMIT_BYTES


class Task(WSGITask):  # type: ignore[misc]
    """Calls the application."""

    def get_environment(self) -> WSGIEnvironment:
        """Return the WSGI environment, with all slashes at the beginning of the path."""
        environ: WSGIEnvironment = super().get_environment()
        environ["PATH_INFO"] = self.request.path
        return environ


def refusal(error: Exception) -> WSGIApplication:
    """Return an application that responds with an error document, and logs the request."""
    return AfterResponse(RequestLog(partial(refuse, error)))


class Refusal(ErrorTask):  # type: ignore[misc]
    """Responds to an invalid request with an error document, and closes the connection."""

    def execute(self) -> None:
        """Write the response, and log it like the responses of the application."""
        environ = {
            "REMOTE_ADDR": self.channel.addr[0],
            "REQUEST_METHOD": getattr(self.request, "command", "-"),
            "PATH_INFO": getattr(self.request, "path", ""),
        }
        response = Request.blank("/", environ).get_response(refusal(self._error()))
        self.set_close_on_finish()
        self.status, self.content_length = response.status, len(response.body)
        self.response_headers.extend(response.headerlist)
        self.write(response.body)

    def _error(self) -> Exception:
        error, limits = self.request.error, self.channel.adj
        match error.code:
            case 413:
                return exception.RequestBodyTooLarge(limits.max_request_body_size - 1)
            case 431:
                return exception.RequestHeadTooLarge(limits.max_request_header_size)
            case 500:
                return RuntimeError(error.body)
        return exception.BadRequest(f"Malformed HTTP request: {error.body}.")


class Channel(HTTPChannel):  # type: ignore[misc]
    """The connection of a client."""

    parser_class = Parser
    task_class = Task
    error_task_class = Refusal

    # waitress sets it to the time of day, which can jump
    @property
    def last_activity(self) -> float:
        """The monotonic time at which data was last received or sent."""
        return self._active_at

    @last_activity.setter
    def last_activity(self, _time_of_day: float) -> None:
        self._active_at = time.monotonic()

    def handle_read(self) -> None:
        """Read from the client; request a check of the stored bodies if its body is large."""
        super().handle_read()
        if self.unfinished_bytes() > _MEMORY_PER_BODY_BYTES:
            self.server.has_large_body = True

    def handle_close(self) -> None:
        """Close the connection, and the file of a body that is arriving."""
        if self.request:
            self.request.close()
        super().handle_close()

    def is_overdue(self, now: float) -> bool:
        """Return whether the client did not complete a request, or read a response, in time."""
        if self.total_outbufs_len:  # whatever the client has requested in addition
            return bool(self.last_activity < now - _TIMEOUT_SECONDS)
        return not self.requests and self.waits_since() < now - _TIMEOUT_SECONDS

    def waits_since(self) -> float:
        """Return when the server began to wait for the client."""
        begin: float = self.request.started_at if self.request else self.last_activity
        return begin

    def unfinished_bytes(self) -> int:
        """Return the size of the body that is arriving."""
        return self.request.body_bytes_received if self.request else 0

    def is_idle(self) -> bool:
        """Return whether no request has begun, and all responses are sent."""
        return not (self.requests or self.request or self.total_outbufs_len)

    def body_bytes(self) -> int:
        """Return the size of the bodies that are stored for this connection."""
        return sum(
            request.body_bytes_received for request in (*self.requests, self.request) if request
        )


class Server(TcpWSGIServer):  # type: ignore[misc]
    """A server that listens from its creation on.  Raises: OSError."""

    channel_class = Channel
    active_channels: dict[int, Channel]

    def __init__(self, settings: Settings) -> None:
        files = _allow_files(_FILES_PER_CONNECTION * _CONNECTIONS + _OTHER_FILES)
        self._max_connections = min(
            _CONNECTIONS, max(1, (files - _OTHER_FILES) // _FILES_PER_CONNECTION)
        )
        self.has_large_body = False
        listener = settings.listener
        self._members: dict[int, Any] = {}
        self._is_stopping = False
        self._cleanup_at = 0.0
        self._max_stored_bytes = _STORED_BODIES * settings.max_body_bytes
        super().__init__(
            settings.application,
            map=self._members,
            _sock=listener,
            sockinfo=(listener.family, listener.type, listener.proto, listener.getsockname()),
            bind_socket=False,
            server_name=settings.host,
            threads=settings.threads,
            max_request_header_size=_HEAD_LIMIT_BYTES,
            max_request_body_size=settings.max_body_bytes + 1,
            recv_bytes=_MEMORY_PER_BODY_BYTES,
            inbuf_overflow=_MEMORY_PER_BODY_BYTES,
            outbuf_overflow=_RESPONSE_MEMORY_BYTES,
            outbuf_high_watermark=_NO_WATERMARK,
            connection_limit=self._max_connections + 3,  # counts the listener and the trigger
            clear_untrusted_proxy_headers=False,
            log_socket_errors=False,
            ident=None,
        )

    def maintenance(self, _time_of_day: float) -> None:
        """Close no connections: see ``_close_overdue``."""

    def serve(self) -> None:
        """Serve until ``stop`` is called, and complete the requests in progress."""
        while not self._is_stopping:
            self._serve_once()
        wasyncore.dispatcher.close(self)
        give_up_at = time.monotonic() + _STOP_ARRIVAL_SECONDS
        while self.active_channels:
            self._close_idle(is_late=time.monotonic() > give_up_at)
            self._serve_once()
        self.task_dispatcher.shutdown()  # requests of closed connections

    def _serve_once(self) -> None:
        wasyncore.loop(timeout=1, use_poll=True, map=self._members, count=1)
        if len(self.active_channels) > self._max_connections:
            self._close_longest_waiting()
        if self.has_large_body:
            self.has_large_body = False
            self._limit_bodies()
        now = time.monotonic()
        if now >= self._cleanup_at:
            self._cleanup_at = now + _CLEANUP_SECONDS
            self._close_overdue(now)
            self._limit_responses()

    def _close_longest_waiting(self) -> None:
        """Close the connection of the client that has sent nothing, or part, for longest."""
        waiting = [channel for channel in self.active_channels.values() if not channel.requests]
        if waiting:
            _refuse(min(waiting, key=Channel.waits_since), "too many connections")

    def _limit_bodies(self) -> None:
        """Close the connection with the largest unfinished body, if too many bodies are stored."""
        channels = self.active_channels.values()
        if sum(map(Channel.body_bytes, channels)) > self._max_stored_bytes:
            _refuse(max(channels, key=Channel.unfinished_bytes), "too many large requests")

    def _limit_responses(self) -> None:
        """Close connections whose clients do not read, if too many responses are stored."""
        channels = sorted(
            self.active_channels.values(), key=lambda channel: int(channel.total_outbufs_len)
        )
        stored = sum(channel.total_outbufs_len for channel in channels)
        while channels and stored > _STORED_RESPONSES_BYTES:
            largest = channels.pop()
            stored -= largest.total_outbufs_len
            _refuse(largest, "too many unread responses")

    def _close_overdue(self, now: float) -> None:
        """Close the connections of slow clients.

        ``maintenance`` of waitress runs before each poll, which could then report the closed
        descriptor as an error of the next connection that gets it.
        """
        for channel in list(self.active_channels.values()):
            if channel.is_overdue(now):
                channel.handle_close()

    def _close_idle(self, *, is_late: bool) -> None:
        """Close idle connections; if ``is_late``, also connections with an incomplete request."""
        for channel in list(self.active_channels.values()):
            if channel.is_idle() or (is_late and not channel.requests):
                channel.handle_close()

    def stop(self) -> None:
        """Make ``serve`` return; may be called in any thread and in signal handlers."""
        self._is_stopping = True
        self.pull_trigger()


def _refuse(channel: Channel, reason: str) -> None:
    LOG.warning("Closed a connection from %s: %s", channel.addr[0], reason)
    channel.handle_close()


def _allow_files(count: int) -> int:
    """Raise the limit of open files, which is often 1,024, as far as allowed; return the limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < count:
        soft = count if hard == resource.RLIM_INFINITY else min(count, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return count if soft == resource.RLIM_INFINITY else soft


def serve(settings: Settings, announce: Callable[[], None] = lambda: None) -> None:
    """Serve in this process until SIGTERM or SIGINT; call ``announce`` when it listens.

    Requests in progress are completed; SIGALRM ends the process after ``STOP_DEADLINE_SECONDS``.
    """
    server = Server(settings)
    announce()
    # Before the handlers are set, a signal ends the process at once.
    for number in _STOP_SIGNALS:
        signal.signal(number, lambda *_: _stop(server))
    server.serve()


def _stop(server: Server) -> None:
    """Stop the server, and ignore further signals to stop."""
    signal.alarm(STOP_DEADLINE_SECONDS)
    for number in _STOP_SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    server.stop()
