"""Operations at a steady rate that does not depend on the responses.

A latency counts from the time at which the operation was due. An operation that waits for a
process counts with its whole wait, and so do the operations behind it. Each opens a connection,
as a proxy does.
"""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from bench.client import Connection
from bench.workloads import Operation

# requests that wait at the same time; more would wait in this process, and count as they should
CLIENTS = 200
TIMEOUT_SECONDS = 30


@dataclass(frozen=True, slots=True)
class Sample:
    """One operation: when it was due, after the first one, and its latency, in seconds."""

    due: float
    latency: float
    # "", or why it failed
    error: str


def send_at_rate(
    connect: Callable[[], Connection],
    operations: Iterator[Operation],
    rate: float,
    seconds: float,
    event: Callable[[], None] = lambda: None,
) -> list[Sample]:
    """Send operations and return their samples; ``event`` is called after a fifth of the time."""
    with ThreadPoolExecutor(CLIENTS) as clients:
        began, sent = time.perf_counter(), []
        for i in range(max(1, round(rate * seconds))):
            due = began + i / rate
            time.sleep(max(0.0, due - time.perf_counter()))
            if i == round(rate * seconds / 5):
                happened = clients.submit(event)
            sent.append(clients.submit(send, connect, next(operations), due, began))
        happened.result()
        return [future.result() for future in sent]


def send(
    connect: Callable[[], Connection], operation: Operation, due: float, began: float
) -> Sample:
    """Send an operation due at a time; times are from ``time.perf_counter``."""
    connection, error = connect(), ""
    try:
        status = operation(connection).status
        error = "" if status in (200, 204) else str(status)
    except OSError as raised:
        error = type(raised).__name__
    finally:
        connection.close()
    return Sample(due - began, time.perf_counter() - due, error)
