"""Two kinds of requests at once, both at a steady rate: what schedulers do to a cloud.

A rate that one service cannot serve says nothing about its latency, so each has rates of its own.
"""

import random
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import repeat

from bench import responses
from bench.harness import PLACEMENT, UPSTREAM, Harness, Measurement, Measurements
from bench.measures import TIMEOUT_SECONDS, milliseconds
from bench.open_loop import Sample, send_at_rate
from bench.workloads import Workload

# of the time of a row: the 99th percentile needs many samples
_LONGER = 6


@dataclass(frozen=True)
class Stream:
    """Operations at a rate per second, by service."""

    workload: Workload
    rates: Mapping[str, float]


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
        return milliseconds([sample.latency for sample in measured], rates)


def _samples(stream: Stream, harness: Harness, name: str) -> list[Sample]:
    operation = stream.workload(harness.loaded_world, random.Random(name))
    connect = partial(harness.connect, name, TIMEOUT_SECONDS)
    seconds = _LONGER * harness.budget.seconds
    return send_at_rate(connect, repeat(operation), stream.rates[name], seconds)
