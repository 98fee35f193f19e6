"""The HTTP server of ``placement-api``: an event loop receives requests, threads handle them.

A request takes a thread when it is complete, and releases it when its response is complete: slow
clients occupy no threads. A connection handles one request at a time. The next one stays in the
kernel until the client has the response, so a connection stores one request or one response.
"""

import asyncio
import itertools
import logging
import math
import re
import resource
import signal
import socket
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from tempfile import SpooledTemporaryFile
from typing import IO, cast
from wsgiref.types import WSGIApplication, WSGIEnvironment

import h11

from placement import exception
from placement.cmd.wsgi_call import Response, call, environment, refusal, refused_environment

LOG = logging.getLogger(__name__)

STOP_DEADLINE_SECONDS = 30

_HEAD_LIMIT_BYTES = 64 * 2**10
_CHUNK_LINE_LIMIT_BYTES = 4 * 2**10
_MEMORY_PER_BODY_BYTES = 32 * 2**10  # the rest is stored in a temporary file
_STORED_BYTES = 2**30  # of all connections together, in memory and files
_RECEIVED_BYTES = 32 * 2**10
_SENT_BYTES = 64 * 2**10
_CONNECTIONS = 2_000
_BACKLOG = 1024
_FILES_PER_CONNECTION = 3
_OTHER_FILES = 100  # of the database, the log and libraries
_TIMEOUT_SECONDS = 60
_CLEANUP_SECONDS = 1
_CLEANUPS_PER_REPORT = 10
_LINGER_SECONDS = 5
_MAX_REASON_LENGTH = 200
_STOP_ARRIVAL_SECONDS = 5  # for requests that have begun to arrive when the server stops
_STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)
_TOKENS = frozenset({"HTTP_X_AUTH_TOKEN", "HTTP_X_STORAGE_TOKEN"})
_END = b"\r\n\r\n"
# Proxies differ in whether a line feed alone ends a line, and a space continues the previous one.
_AMBIGUOUS_LINES = re.compile(rb"(?<!\r)\n|\n[ \t]")


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


class Connection:
    """The connection of a client, and the task that handles its requests."""

    def __init__(self, server: "Server", client: socket.socket, peer: tuple[str, int]) -> None:
        self._server, self._socket, self._peer = server, client, peer
        self._loop = asyncio.get_running_loop()
        self._received = b""  # of this request, or of the next one
        self._refusal: Exception | None = None
        self._is_last = False
        self._stop_seconds = self.deadline = math.inf
        self.stored_bytes = 0
        self.task = self._loop.create_task(self._serve())

    def _wait(self, seconds: float, *, stop_seconds: float = math.inf) -> None:
        """Wait for the client for so long, or so long after the server stops."""
        self._stop_seconds = stop_seconds
        self.deadline = self._loop.time() + seconds
        if self._server.is_stopping:
            self.stop()

    def stop(self) -> None:
        """End the wait: at once if no request has begun, soon if it has not arrived."""
        self.deadline = min(self.deadline, self._loop.time() + self._stop_seconds)

    def evict(self, refusal: Exception | None = None) -> None:
        """Close the connection; send the refusal if a body is arriving."""
        self._wait(math.inf)
        self._store(-self.stored_bytes)
        self._refusal = refusal
        self.task.cancel()

    def _store(self, size: int) -> None:
        """Count bytes that are stored; a negative size is released."""
        self.stored_bytes += size
        self._server.count_stored(self, size)

    async def _serve(self) -> None:
        """Handle requests until the client ends the connection, or is too slow."""
        with self._socket, suppress(EOFError, OSError, asyncio.CancelledError):
            while await self._handle_request():
                pass
            # Unread data would make the kernel reset the connection: the response is lost.
            self._socket.shutdown(socket.SHUT_WR)
            self._wait(_LINGER_SECONDS, stop_seconds=0)
            while await self._receive():
                await asyncio.sleep(0)

    async def _handle_request(self) -> bool:
        """Handle a request; return whether the connection can have another one."""
        protocol = h11.Connection(h11.SERVER, _CHUNK_LINE_LIMIT_BYTES)
        application = self._server.settings.application
        with SpooledTemporaryFile(_MEMORY_PER_BODY_BYTES) as body:
            try:
                environ = await self._receive_request(protocol, body)
            except exception.PlacementException as error:
                application = refusal(error)
                environ = refused_environment(self._received, self._peer)
            self._wait(math.inf)
            keeps = await self._respond(protocol, application, environ)
        self._store(-self.stored_bytes)
        return keeps

    async def _receive_request(self, protocol: h11.Connection, body: IO[bytes]) -> WSGIEnvironment:
        """Return the environment of the next request.

        Raises: EOFError, OSError, CancelledError; BadRequest, RequestHeadTooLarge,
        RequestBodyTooLarge, BodyNotStored.
        """
        if not self._received:
            self._wait(_TIMEOUT_SECONDS, stop_seconds=0)
            self._received = await self._receive()
        self._wait(_TIMEOUT_SECONDS, stop_seconds=_STOP_ARRIVAL_SECONDS)
        try:
            await self._receive_head()
            protocol.receive_data(self._received)
            environ = self._environment(protocol, body)
            await self._receive_body(protocol, environ, body)
        except h11.RemoteProtocolError as error:
            raise _malformed(str(error)) from None
        except asyncio.CancelledError:
            if self._refusal is None:
                raise
            raise self._refusal from None
        return environ

    async def _receive(self) -> bytes:
        """Return what the client sends.  Raises: EOFError if the client ended the connection."""
        if received := await self._loop.sock_recv(self._socket, _RECEIVED_BYTES):
            return received
        raise EOFError

    async def _receive_head(self) -> None:
        """Receive the request line and the headers.  Raises: RequestHeadTooLarge, BadRequest."""
        self._received = self._received.lstrip(b"\r\n")
        while (end := self._received.find(_END)) < 0 and len(self._received) <= _HEAD_LIMIT_BYTES:
            self._received = (self._received + await self._receive()).lstrip(b"\r\n")
        if not 0 <= end <= _HEAD_LIMIT_BYTES:
            raise exception.RequestHeadTooLarge(_HEAD_LIMIT_BYTES)
        if _AMBIGUOUS_LINES.search(self._received, 0, end):
            raise _malformed("a line ends without CR, or begins with a space")

    def _environment(self, protocol: h11.Connection, body: IO[bytes]) -> WSGIEnvironment:
        """Return the environment of a request whose head has arrived.

        A request that a proxy could interpret in another way is refused: the rest of its body
        would then be the next request of another client.

        Raises: BadRequest; h11.RemoteProtocolError.
        """
        request = cast("h11.Request", protocol.next_event())  # the head is complete
        environ = environment(request, self._peer, self._server.address, body)
        version, is_chunked = environ["SERVER_PROTOCOL"], "HTTP_TRANSFER_ENCODING" in environ
        if version not in {"HTTP/1.0", "HTTP/1.1"}:
            raise _malformed(f"{version} is not supported; use HTTP/1.1")
        if is_chunked and (version == "HTTP/1.0" or "CONTENT_LENGTH" in environ):
            raise _malformed("Transfer-Encoding requires HTTP/1.1, and excludes Content-Length")
        return environ

    async def _receive_body(
        self, protocol: h11.Connection, environ: WSGIEnvironment, body: IO[bytes]
    ) -> None:
        """Receive the body; its size is then in the environment.

        The application refuses a request without a token: its body is not received.

        Raises: RequestBodyTooLarge, BodyNotStored; h11.RemoteProtocolError.
        """
        length, limit = int(environ.get("CONTENT_LENGTH", 0)), self._server.settings.max_body_bytes
        is_chunked = environ.pop("HTTP_TRANSFER_ENCODING", None) is not None
        self._is_last = is_chunked  # h11 and proxies differ in where trailers end
        if (length or is_chunked) and _TOKENS.isdisjoint(environ):
            environ.pop("CONTENT_LENGTH", None)
            return
        if length > limit:
            raise exception.RequestBodyTooLarge(limit)
        while not isinstance(event := protocol.next_event(), h11.EndOfMessage):
            if isinstance(event, h11.Data):
                self._store_data(event.data, body)
                await asyncio.sleep(0)  # other connections are handled between many small chunks
                continue
            if protocol.they_are_waiting_for_100_continue:
                go_on = h11.InformationalResponse(status_code=100, headers=[])
                await self._loop.sock_sendall(self._socket, protocol.send(go_on))
            protocol.receive_data(await self._receive())
        if is_chunked:
            environ["CONTENT_LENGTH"] = str(body.tell())
        body.seek(0)
        self._received, _ = protocol.trailing_data

    def _store_data(self, data: bytes, body: IO[bytes]) -> None:
        if body.tell() + len(data) > self._server.settings.max_body_bytes:
            raise exception.RequestBodyTooLarge(self._server.settings.max_body_bytes)
        try:
            body.write(data)
        except OSError as error:
            self._server.count_event(f"Cannot store a body: {error.strerror}")
            raise exception.BodyNotStored(str(error)) from None
        self._store(len(data))

    async def _respond(
        self, protocol: h11.Connection, application: WSGIApplication, environ: WSGIEnvironment
    ) -> bool:
        """Send the response of the application; return whether the connection is kept."""
        begun: asyncio.Future[tuple[Response, bytes, bool]] = self._loop.create_future()

        def begin(response: Response) -> None:
            """Send in the thread what the kernel takes: the loop may wait for the interpreter."""
            keeps = protocol.their_state is h11.DONE
            keeps = keeps and not (self._is_last or self._server.is_stopping)
            data = response.head(keeps=keeps) + response.body.read(_SENT_BYTES)
            with suppress(OSError):
                data = data[self._socket.send(data) :]
            self._loop.call_soon_threadsafe(begun.set_result, (response, data, keeps))

        self._server.threads.submit(call, application, environ, begin)
        response, data, keeps = await begun
        with response.body:
            self._store(response.size - self.stored_bytes)
            while data or (data := response.body.read(_SENT_BYTES)):
                self._wait(_TIMEOUT_SECONDS)
                await self._loop.sock_sendall(self._socket, data)
                await asyncio.sleep(0)
                data = b""
        return keeps


class Server:
    """A server that listens from its creation on.  Raises: OSError."""

    def __init__(self, settings: Settings) -> None:
        files = _allow_files(_FILES_PER_CONNECTION * _CONNECTIONS + _OTHER_FILES)
        self._max_connections = min(
            _CONNECTIONS, max(1, (files - _OTHER_FILES) // _FILES_PER_CONNECTION)
        )
        self.settings, self._listener = settings, settings.listener
        name = f"[{settings.host}]" if ":" in settings.host else settings.host
        self.address = name, self._listener.getsockname()[1]
        self.threads = ThreadPoolExecutor(settings.threads)
        self.is_stopping = False
        self._connections: set[Connection] = set()
        self._stored_bytes = 0
        self._events: Counter[str] = Counter()
        self._listener.listen(_BACKLOG)
        self._listener.setblocking(False)
        self._loop = asyncio.new_event_loop()
        self._accepting = self._loop.create_task(self._accept())

    def serve(self) -> None:
        """Serve until ``stop`` is called, and complete the requests in progress."""
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._serve())

    def stop(self) -> None:
        """Make ``serve`` return; may be called in any thread and in signal handlers."""
        self._loop.call_soon_threadsafe(self._accepting.cancel)

    async def _serve(self) -> None:
        cleanup = self._loop.create_task(self._clean_up())
        with self.threads:
            with suppress(asyncio.CancelledError), self._listener:
                await self._accepting
            self.is_stopping = True
            for connection in self._connections:
                connection.stop()
            self._close_overdue()
            while self._connections:
                await asyncio.wait([connection.task for connection in self._connections])
        cleanup.cancel()
        self._report()

    async def _accept(self) -> None:
        """Accept connections; beyond the limit, close the one that has waited for longest."""
        while True:
            try:
                client, peer = await self._loop.sock_accept(self._listener)
            except OSError as error:  # too many open files
                self.count_event(f"Cannot accept connections: {error.strerror}")
                await asyncio.sleep(_CLEANUP_SECONDS)
                continue
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection = Connection(self, client, peer[:2])
            self._connections.add(connection)
            connection.task.add_done_callback(partial(self._forget, connection))
            if len(self._connections) > self._max_connections:
                self._evict(self._connections, lambda each: -each.deadline, "too many connections")
            await asyncio.sleep(0)  # other connections are handled between many new ones

    def _forget(self, connection: Connection, _task: object) -> None:
        self._connections.discard(connection)
        self._stored_bytes -= connection.stored_bytes

    def count_event(self, event: str) -> None:
        """Count an event; the number is logged later."""
        self._events[event] += 1

    def count_stored(self, holder: Connection, size: int) -> None:
        """Count bytes that a connection stores; if too many, close another one with the most."""
        self._stored_bytes += size
        if self._stored_bytes > _STORED_BYTES and size > 0:
            no_room = exception.BodyNotStored("other clients use the space")
            others = {each for each in self._connections if each.stored_bytes} - {holder}
            self._evict(others, lambda each: each.stored_bytes, "too much data", no_room)

    def _evict(
        self,
        connections: Iterable[Connection],
        key: Callable[[Connection], float],
        reason: str,
        refusal: exception.PlacementException | None = None,
    ) -> None:
        """Close the waiting connection with the largest value."""
        waiting = [each for each in connections if each.deadline < math.inf]
        if waiting:
            max(waiting, key=key).evict(refusal)
            self.count_event(f"Closed a connection: {reason}")

    async def _clean_up(self) -> None:
        """Close the connections of slow clients, and log events, repeatedly."""
        for count in itertools.count(1):
            await asyncio.sleep(_CLEANUP_SECONDS)
            self._close_overdue()
            if count % _CLEANUPS_PER_REPORT == 0:
                self._report()

    def _close_overdue(self) -> None:
        now = self._loop.time()
        for connection in self._connections:
            if connection.deadline <= now:
                connection.evict()

    def _report(self) -> None:
        for event, count in self._events.items():
            LOG.warning("%s (%d times)", event, count)
        self._events.clear()


def _malformed(reason: str) -> exception.BadRequest:
    return exception.BadRequest(f"Malformed HTTP request: {reason[:_MAX_REASON_LENGTH]}.")


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
