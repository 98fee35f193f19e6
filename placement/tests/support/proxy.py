"""A TCP proxy between the service and its database that delays data or breaks connections."""

import socket
import threading
import time
from contextlib import suppress

CHUNK = 1 << 16


class Proxy:
    """Listens on ``port`` and forwards data; a thread for each direction."""

    def __init__(self, target_port: int) -> None:
        self.delay_seconds = 0.0
        self.loses_responses = False  # breaks a connection instead of forwarding a response
        self._target_port = target_port
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port = self._listener.getsockname()[1]
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()
        self._accepting = threading.Thread(target=self._accept, daemon=True)

    def __enter__(self):
        self._accepting.start()
        return self

    def __exit__(self, *error):
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._accepting.join()
        self.drop()

    def drop(self) -> int:
        """Break all connections; return their number."""
        with self._lock:
            broken = list(self._open)
        for each in broken:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        return len(broken) // 2

    def switch(self, port: int) -> None:
        """Forward new connections to another server; existing ones stay where they are."""
        self._target_port = port

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                self._connect(client)

    def _connect(self, client: socket.socket) -> None:
        try:
            server = socket.create_connection(("127.0.0.1", self._target_port), 5)
        except OSError:
            client.close()
            return
        server.settimeout(None)
        for each in (client, server):
            each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with self._lock:
            self._open |= {client, server}
        rest = threading.Semaphore(1)
        for source, target in ((client, server), (server, client)):
            threading.Thread(target=self._forward, args=(source, target, rest)).start()

    def _forward(self, source: socket.socket, target: socket.socket, rest) -> None:
        with suppress(OSError):
            while data := source.recv(CHUNK):
                if self.loses_responses and source.getpeername()[1] == self._target_port:
                    break
                if self.delay_seconds:
                    time.sleep(self.delay_seconds)
                target.sendall(data)
        for each in (source, target):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        if not rest.acquire(blocking=False):  # the other direction has ended, too
            self._close(source, target)

    def _close(self, *ends: socket.socket) -> None:
        with self._lock:
            self._open -= set(ends)
        for each in ends:
            each.close()
