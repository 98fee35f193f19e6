"""Ways of measuring both services.

Requests alternate between the services, so other load on the machine affects both. Each
measure returns one Measurement per service.
"""

import random
import statistics
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Protocol

import psutil

from bench import responses
from bench.client import Connection, Response
from bench.harness import MORE, PLACEMENT, UPSTREAM, Budget, Harness, Measurement, Measurements
from bench.services import PROCESSES
from bench.workloads import Operation, Workload
from bench.worlds import LoadedWorld

# concurrent clients wait for each other, so the cut-off of one client is too short
TIMEOUT_SECONDS = 60
ACCEPTED = (200, 204)


class Measure(Protocol):
    """One way of measuring."""

    def measure(self, harness: Harness) -> Measurements:
        """Measure both services. Raises: WrongResponse."""


def milliseconds(seconds: list[float], note: str = "") -> Measurement:
    """Return the median and the 99th percentile of latencies."""
    ordered = sorted(seconds)
    p99 = ordered[min(len(ordered) - 1, round(0.99 * len(ordered)))]
    return Measurement(statistics.median(ordered) * 1000, "ms", p99 * 1000, len(ordered), note)


def refusals(statuses: Iterable[int]) -> str:
    """Describe the statuses that are not successful."""
    refused = Counter(status for status in statuses if status not in ACCEPTED)
    return ", ".join(f"{number} times {status}" for status, number in sorted(refused.items()))


@dataclass
class _Sampler:
    """The samples of one service for a Timed row."""

    name: str
    connection: Connection
    operation: Operation
    seconds: list[float] = field(default_factory=list)
    statuses: list[int] = field(default_factory=list)
    first: Response | None = None
    # why there was no response, which ends the measurement of this service
    failure: str = ""

    def sample(self) -> None:
        """Take one sample."""
        response, began = None, time.perf_counter()
        try:
            response = self.operation(self.connection)
            self.statuses.append(response.status)
        except TimeoutError:
            self.failure = "cut off"
        except OSError:
            self.failure = "lost the connection"
        took = time.perf_counter() - began
        # the first response is checked; its time counts only if there will be few samples
        if self.first is not None or self.failure or took > 0.5:
            self.seconds.append(took)
        self.first = self.first or response

    def is_complete(self, budget: Budget) -> bool:
        """Whether the budget is spent: samples, time with three samples, or twice the time."""
        spent = sum(self.seconds)
        few = len(self.seconds) < 3
        return (
            bool(self.failure)
            or len(self.seconds) >= budget.samples
            or (spent > budget.seconds and not few)
            or spent > 2 * budget.seconds
        )

    def measurement(self) -> Measurement:
        if self.failure:
            return Measurement(self.seconds[-1] * 1000, note=self.failure, cut_off=True)
        length = len(self.first.body) if self.first else 0
        return replace(milliseconds(self.seconds, refusals(self.statuses)), bytes=length)


@dataclass(frozen=True)
class Timed:
    """One client that repeats an operation, alternating between the services."""

    workload: Workload
    # the correct number of candidates or providers; None only compares the services
    expected: Callable[[LoadedWorld], int] | None = None
    limited: bool = True
    # openstack-placement would take minutes for each request
    only_placement: bool = False

    def measure(self, harness: Harness) -> Measurements:
        names = (PLACEMENT,) if self.only_placement else (PLACEMENT, UPSTREAM)
        samplers = [self._sampler(harness, name) for name in names]
        while incomplete := [
            sampler for sampler in samplers if not sampler.is_complete(harness.budget)
        ]:
            for sampler in incomplete:
                sampler.sample()
        for sampler in samplers:
            sampler.connection.close()
            if sampler.failure:
                harness.restart(sampler.name, graceful=False)
        self._check(samplers, harness.loaded_world)
        return {sampler.name: sampler.measurement() for sampler in samplers}

    def _sampler(self, harness: Harness, name: str) -> _Sampler:
        operation = self.workload(harness.loaded_world, random.Random(name))
        return _Sampler(name, harness.connect(name), operation)

    def _check(self, samplers: list[_Sampler], loaded_world: LoadedWorld) -> None:
        """Raise WrongResponse if a response is incorrect; of a GET, the first is checked."""
        first = {
            sampler.name: sampler.first
            for sampler in samplers
            if sampler.first and not sampler.failure
        }
        if PLACEMENT not in first:
            raise responses.WrongResponse(f"placement: {samplers[0].failure}")
        if refused := refusals(samplers[0].statuses):
            raise responses.WrongResponse(f"placement answered {refused}")
        if first[PLACEMENT].status == 204:
            return
        expected = self.expected(loaded_world) if self.expected else None
        responses.check(first[PLACEMENT], expected, PLACEMENT)
        # errors of openstack-placement are noted with its measurement
        if UPSTREAM in first and not refusals(samplers[1].statuses):
            responses.check(first[UPSTREAM], expected, UPSTREAM)
            responses.compare(first[PLACEMENT], first[UPSTREAM], limited=self.limited)


@dataclass(frozen=True)
class Concurrent:
    """Concurrent clients, alternating between the services every few seconds: a rate."""

    workload: Workload
    clients: int = 8

    def measure(self, harness: Harness) -> Measurements:
        tallies = {PLACEMENT: _Tally(), UPSTREAM: _Tally()}
        for round_ in range(harness.budget.rounds):
            for name, tally in tallies.items():
                self._round(harness, name, tally, f"{name} {round_}")
        if refused := refusals(tallies[PLACEMENT].statuses):
            raise responses.WrongResponse(f"placement answered {refused}")
        return {name: tally.measurement() for name, tally in tallies.items()}

    def _round(self, harness: Harness, name: str, tally: "_Tally", seed: str) -> None:
        """Run all clients for a while, and wait for the last."""
        began = time.perf_counter()
        until = began + harness.budget.seconds / harness.budget.rounds
        clients = [
            threading.Thread(
                target=_client,
                args=(
                    harness.connect(name, TIMEOUT_SECONDS),
                    self.workload(harness.loaded_world, random.Random(f"{seed} {i}")),
                    until,
                    tally,
                ),
            )
            for i in range(self.clients)
        ]
        for client in clients:
            client.start()
        for client in clients:
            client.join()
        tally.elapsed += time.perf_counter() - began


@dataclass
class _Tally:
    """The results of the clients of one service."""

    seconds: list[float] = field(default_factory=list)
    statuses: list[int] = field(default_factory=list)
    elapsed: float = 0

    def add(self, seconds: float, status: int) -> None:
        self.statuses.append(status)
        if status in ACCEPTED:
            self.seconds.append(seconds)

    def measurement(self) -> Measurement:
        p99 = milliseconds(self.seconds or [0.0]).p99
        rate = len(self.seconds) / self.elapsed
        return Measurement(rate, "/s", p99, len(self.seconds), refusals(self.statuses))


def _client(connection: Connection, operation: Operation, until: float, tally: _Tally) -> None:
    """Repeat the operation until a time, at least once.

    Status 0 means no response, or an unusable one.
    """
    ended = 0.0
    while ended < until:
        began = time.perf_counter()
        try:
            status = operation(connection).status
        except (OSError, ValueError):
            status = 0
        ended = time.perf_counter()
        tally.add(ended - began, status)
    connection.close()


@dataclass(frozen=True)
class ReadAfterWrite:
    """How much longer a read takes after a write in another process than without one."""

    read: Workload
    write: Workload

    def measure(self, harness: Harness) -> Measurements:
        return {name: self._added(harness, name) for name in (PLACEMENT, UPSTREAM)}

    def _added(self, harness: Harness, name: str) -> Measurement:
        writer, reader = list(harness.warm(name).values())[:PROCESSES]
        numbers = random.Random(name)
        read = self.read(harness.loaded_world, numbers)
        write = self.write(harness.loaded_world, numbers)
        before, after = [], []
        for _ in _until(harness.budget):
            before.append(_seconds(read, reader))
            _seconds(write, writer)
            after.append(_seconds(read, reader))
        without, with_ = milliseconds(before), milliseconds(after)
        note = f"{with_.value:.1f} ms after a write, {without.value:.1f} ms without"
        return Measurement(with_.value - without.value, MORE, samples=len(after), note=note)


@dataclass(frozen=True)
class StartUp:
    """Time from the command until the version document is returned."""

    def measure(self, harness: Harness) -> Measurements:
        return {name: self._start(harness, name) for name in (PLACEMENT, UPSTREAM)}

    @staticmethod
    def _start(harness: Harness, name: str) -> Measurement:
        seconds = []
        for _ in range(harness.budget.restarts):
            harness.services[name].stop()
            seconds.append(harness.services[name].start())
        harness.warm(name)
        return milliseconds(seconds)


@dataclass(frozen=True)
class FirstRequest:
    """The first request of a process that has just started."""

    workload: Workload

    def measure(self, harness: Harness) -> Measurements:
        return {name: self._first(harness, name) for name in (PLACEMENT, UPSTREAM)}

    def _first(self, harness: Harness, name: str) -> Measurement:
        operation, seconds = self.workload(harness.loaded_world, random.Random(name)), []
        for _ in range(harness.budget.restarts):
            harness.services[name].stop()
            harness.services[name].start(processes=1)
            seconds.append(_seconds(operation, harness.connect(name)))
        harness.restart(name)
        return milliseconds(seconds)


@dataclass(frozen=True)
class Memory:
    """Resident memory of the larger of the processes, after each served a request."""

    def measure(self, harness: Harness) -> Measurements:
        return {name: self._memory(harness, name) for name in (PLACEMENT, UPSTREAM)}

    @staticmethod
    def _memory(harness: Harness, name: str) -> Measurement:
        harness.warm(name)
        largest = max(_resident(worker) for worker in harness.services[name].workers())
        return Measurement(largest / 2**20, "MB")


def _resident(process: psutil.Process) -> int:
    resident: int = process.memory_info().rss
    return resident


def _seconds(operation: Operation, connection: Connection) -> float:
    """Return how long one operation takes."""
    began = time.perf_counter()
    response = operation(connection)
    if response.status not in ACCEPTED:
        raise responses.WrongResponse(f"status {response.status}: {response.body[:300]!r}")
    return time.perf_counter() - began


def _until(budget: Budget) -> Iterator[None]:
    """Repeat until the time or the samples of the budget are spent, at least three times."""
    deadline = time.perf_counter() + budget.seconds
    for number in range(budget.samples):
        if number >= 3 and time.perf_counter() > deadline:
            return
        yield
