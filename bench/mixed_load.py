"""Two kinds of requests at once, both at a steady rate: what schedulers do to a cloud.

The rates do not depend on the responses. A latency counts from the time at which the operation
was due: an operation that waits for a process counts with its whole wait, and so do the
operations behind it. Each opens a connection, as a proxy does. A rate that one service cannot
serve says nothing about its latency, so each has rates of its own.
"""

import random
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

from bench import responses
from bench.client import Connection
from bench.harness import PLACEMENT, UPSTREAM, Harness, Measurement, Measurements
from bench.measures import ACCEPTED, TIMEOUT_SECONDS, milliseconds
from bench.workloads import Operation, Workload

# of the time of a row: the 99th percentile needs many samples, and the first quarter warms workers
_LONGER = 8
# requests that wait at the same time; more would wait in this process, and count as they should
_CLIENTS = 200


@dataclass(frozen=True)
class Stream:
    """Operations at a rate per second, by service."""

    workload: Workload
    rates: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Sample:
    """The latency of one operation in seconds, and "" or why it failed."""

    latency: float
    error: str


@dataclass(frozen=True)
class Mixed:
    """The latency of one stream of operations beside another."""

    measured: Stream
    beside: Stream

    def measure(self, harness: Harness) -> Measurements:
        return {name: self._latency(harness, name) for name in (PLACEMENT, UPSTREAM)}

    def _latency(self, harness: Harness, name: str) -> Measurement:
        with ThreadPoolExecutor(1) as other:
            beside = other.submit(_samples, self.beside, harness, name)
            measured = _samples(self.measured, harness, name)
        failures = [sample.error for sample in (*measured, *beside.result()) if sample.error]
        if failures and name == PLACEMENT:
            raise responses.WrongResponse(f"{len(failures)} failures, such as {failures[0]}")
        rates = f"{self.measured.rates[name]:g} and {self.beside.rates[name]:g} a second"
        return milliseconds([sample.latency for sample in measured[len(measured) // 4 :]], rates)


def _samples(stream: Stream, harness: Harness, name: str) -> list[Sample]:
    operation = stream.workload(harness.loaded_world, random.Random(name))
    connect = partial(harness.connect, name, TIMEOUT_SECONDS)
    return send_at_rate(connect, operation, stream.rates[name], _LONGER * harness.budget.seconds)


def send_at_rate(
    connect: Callable[[], Connection], operation: Operation, rate: float, seconds: float
) -> list[Sample]:
    """Send an operation so often a second, and return the samples."""
    with ThreadPoolExecutor(_CLIENTS) as clients:
        began, sent = time.perf_counter(), []
        for number in range(max(1, round(rate * seconds))):
            due = began + number / rate
            time.sleep(max(0.0, due - time.perf_counter()))
            sent.append(clients.submit(_send, connect, operation, due))
        return [future.result() for future in sent]


def _send(connect: Callable[[], Connection], operation: Operation, due: float) -> Sample:
    """Send an operation that is due at a time of ``time.perf_counter``."""
    connection, error = connect(), ""
    try:
        status = operation(connection).status
        error = "" if status in ACCEPTED else str(status)
    except OSError as raised:
        error = type(raised).__name__
    finally:
        connection.close()
    return Sample(time.perf_counter() - due, error)
