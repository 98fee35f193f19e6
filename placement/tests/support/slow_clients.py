"""Clients that occupy connections, and another client that measures how long it is not served."""

import socket
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from types import TracebackType
from typing import Self

import requests
import sqlalchemy as sa

from placement.tests.support.processes import LATEST
from placement.tests.support.waiting import Stalls

ALLOWED = "X-Auth-Token: admin\r\nContent-Type: application/json\r\n"
SLOW = {
    "head": "GET / HTTP/1.1\r\nHost: localhost\r\nX-Slow: ",
    "body": "POST /resource_providers HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n",
}
SLOW_ALLOWED = SLOW["body"].replace("9\r\n", f"9000\r\n{ALLOWED}")
UNREAD = (
    f"GET /traits HTTP/1.1\r\nHost: a\r\nOpenStack-API-Version: placement 1.6\r\n{ALLOWED}\r\n"
)
MANY_TRAITS = """
INSERT INTO traits (name) WITH RECURSIVE numbers(number) AS (
    SELECT 1 UNION ALL SELECT number + 1 FROM numbers WHERE number < {count}
) SELECT printf('CUSTOM_%0200d', number) FROM numbers
"""
SECONDS_BETWEEN_REQUESTS = 0.1
TIMEOUT_SECONDS = 60


def add_many_traits(database_url: str, count: int = 100_000) -> None:
    """Add traits, so that the list of all is a response of ``count * 200`` bytes."""
    with sa.create_engine(database_url).begin() as connection:
        connection.exec_driver_sql(MANY_TRAITS.format(count=count))


@contextmanager
def sent(texts: Sequence[str], port: int) -> Iterator[list[socket.socket]]:
    """Send each of the texts on a connection of its own, and yield the open connections."""
    connections = []
    with ExitStack() as stack:
        for text in texts:
            connection = socket.create_connection(("127.0.0.1", port), TIMEOUT_SECONDS)
            connections.append(stack.enter_context(connection))
            connection.sendall(text.encode())  # nginx closes silent connections for new ones
        yield connections


@contextmanager
def continuous_bytes(
    connections: Sequence[socket.socket], part: bytes = b"x", *, pause_seconds: float = 1
) -> Iterator[None]:
    """Send the bytes on each connection every second until the end of the block."""
    is_over = threading.Event()

    def repeat() -> None:
        while not is_over.wait(pause_seconds):
            for connection in connections:
                with suppress(OSError):  # a request without a token is refused at once
                    connection.sendall(part)

    thread = threading.Thread(target=repeat)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


class OtherClient:
    """Sends requests, each on a new connection, and measures how long it is not served."""

    def __init__(self, url: str) -> None:
        self.tried = self.served = 0
        self.longest_seconds = 0.0
        self._url = url
        self._stalls = Stalls()
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Self:
        self._stalls.__enter__()
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._is_over.set()
        self._thread.join()
        self._stalls.__exit__(kind, error, traceback)

    def _run(self) -> None:
        due = time.monotonic()
        while not self._is_over.wait(SECONDS_BETWEEN_REQUESTS):
            self.tried += 1
            is_served = self._is_served()
            self.served += is_served
            now = time.monotonic()
            waited = now - due - self._stalls.seconds(due, now) - SECONDS_BETWEEN_REQUESTS
            self.longest_seconds = max(self.longest_seconds, waited)
            if is_served:
                due = now

    def _is_served(self) -> bool:
        with suppress(requests.RequestException):
            response = requests.get(self._url, headers=LATEST, timeout=TIMEOUT_SECONDS)
            return response.status_code == 200
        return False
