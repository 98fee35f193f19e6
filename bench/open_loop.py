"""Requests at a steady rate that does not depend on the responses.

A latency counts from the time at which the request was due, so a request that waits for a process
counts with its whole wait, and so do those behind it. Each request opens a connection, as a proxy
does.
"""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from bench.client import Connection, Request

# requests that wait at the same time; more would wait in this process, and count as they should
CLIENTS = 200
TIMEOUT_SECONDS = 30


@dataclass(frozen=True, slots=True)
class Sample:
    """One request: when it was due, after the first one, and its latency, in seconds."""

    due: float
    latency: float
    # "", or why it failed
    error: str


def send_at_rate(
    port: int, requests: Iterator[Request], rate: float, seconds: float, event: Callable[[], None]
) -> list[Sample]:
    """Send requests and return their samples; ``event`` is called after a fifth of the time."""
    with ThreadPoolExecutor(CLIENTS) as clients:
        began, sent = time.perf_counter(), []
        for i in range(round(rate * seconds)):
            due = began + i / rate
            time.sleep(max(0.0, due - time.perf_counter()))
            if i == round(rate * seconds / 5):
                happened = clients.submit(event)
            sent.append(clients.submit(send, next(requests), port, due, began))
        happened.result()
        return [future.result() for future in sent]


def send(request: Request, port: int, due: float, began: float) -> Sample:
    """Send a request that was due at a time; times are those of ``time.perf_counter``."""
    connection, error = Connection(port, TIMEOUT_SECONDS), ""
    try:
        status = connection.send(request).status
        error = "" if status in (200, 204) else str(status)
    except OSError as raised:
        error = type(raised).__name__
    finally:
        connection.close()
    return Sample(due - began, time.perf_counter() - due, error)
