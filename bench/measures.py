"""Ways of measuring: what is done on both services in turn, and what comes of it.

Requests alternate between the services, so whatever else the machine does
falls on both. Each measure returns one Figure per service.
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

from bench import answers
from bench.client import Answer, Connection
from bench.harness import MORE, OURS, REFERENCE, Budget, Figure, Figures, Stage
from bench.services import PROCESSES
from bench.workloads import Step, Work
from bench.worlds import LoadedWorld

# several clients at once wait for each other, however short the cut-off of one is
PATIENCE_SECONDS = 60
ACCEPTED = (200, 204)


class Measure(Protocol):
    """One way of measuring."""

    def measure(self, stage: Stage) -> Figures:
        """Measure both services. Raises: answers.WrongAnswer."""


def milliseconds(seconds: list[float], note: str = "") -> Figure:
    """Median and 99th percentile of latencies."""
    ordered = sorted(seconds)
    p99 = ordered[min(len(ordered) - 1, round(0.99 * len(ordered)))]
    return Figure(statistics.median(ordered) * 1000, "ms", p99 * 1000, len(ordered), note)


def said(statuses: Iterable[int]) -> str:
    """The refusals among the statuses, in words."""
    refused = Counter(status for status in statuses if status not in ACCEPTED)
    return ", ".join(f"{number} times {status}" for status, number in sorted(refused.items()))


@dataclass
class _Side:
    """One service's part in a Timed row."""

    name: str
    connection: Connection
    step: Step
    seconds: list[float] = field(default_factory=list)
    statuses: list[int] = field(default_factory=list)
    first: Answer | None = None
    # why there was no answer, which ends the measuring of this side
    ended: str = ""

    def once(self) -> None:
        """Take one sample."""
        answer, began = None, time.perf_counter()
        try:
            answer = self.step(self.connection)
            self.statuses.append(answer.status)
        except TimeoutError:
            self.ended = "cut off"
        except OSError:
            self.ended = "lost the connection"
        took = time.perf_counter() - began
        # the first answer is looked at, and its time counts only where there will be few
        if self.first is not None or self.ended or took > 0.5:
            self.seconds.append(took)
        self.first = self.first or answer

    def done(self, budget: Budget) -> bool:
        """Whether enough was measured: samples, time with three of them, or far too much time."""
        spent = sum(self.seconds)
        few = len(self.seconds) < 3
        return (
            bool(self.ended)
            or len(self.seconds) >= budget.samples
            or (spent > budget.seconds and not few)
            or spent > 2 * budget.seconds
        )

    def figure(self) -> Figure:
        if self.ended:
            return Figure(self.seconds[-1] * 1000, note=self.ended, cut_off=True)
        length = len(self.first.body) if self.first else 0
        return replace(milliseconds(self.seconds, said(self.statuses)), bytes=length)


@dataclass(frozen=True)
class Timed:
    """One client doing the same again and again, on each service in turn."""

    work: Work
    # how many candidates or providers are right; None compares with the reference alone
    expected: Callable[[LoadedWorld], int] | None = None
    limited: bool = True
    # whether a 503 is right, too: nothing fits, and to show it would take for ever
    may_give_up: bool = False

    def measure(self, stage: Stage) -> Figures:
        sides = [self._side(stage, name) for name in (OURS, REFERENCE)]
        while waiting := [side for side in sides if not side.done(stage.budget)]:
            for side in waiting:
                side.once()
        for side in sides:
            side.connection.close()
            if side.ended:
                stage.restart(side.name, kindly=False)
        self._check(sides, stage.place)
        return {side.name: side.figure() for side in sides}

    def _side(self, stage: Stage, name: str) -> _Side:
        step = self.work(stage.place, random.Random(name))
        return _Side(name, stage.connect(name), step)

    def _check(self, sides: list[_Side], place: LoadedWorld) -> None:
        """Raise WrongAnswer if an answer is not as it should be; of a GET, the first is read."""
        given = {side.name: side.first for side in sides if side.first and not side.ended}
        if OURS not in given:
            raise answers.WrongAnswer(f"ours: {sides[0].ended}")
        if self.may_give_up and given[OURS].status == 503:
            return
        if refused := said(sides[0].statuses):
            raise answers.WrongAnswer(f"ours answered {refused}")
        if given[OURS].status == 204:
            return
        wanted = self.expected(place) if self.expected else None
        answers.check(given[OURS], wanted, OURS)
        # what the reference refuses is a note of its figure
        if REFERENCE in given and not said(sides[1].statuses):
            answers.check(given[REFERENCE], wanted, REFERENCE)
            answers.compare(given[OURS], given[REFERENCE], limited=self.limited)


@dataclass(frozen=True)
class Crowd:
    """Several clients at once, in turns of a few seconds on each service: a rate."""

    work: Work
    clients: int = 8

    def measure(self, stage: Stage) -> Figures:
        tallies = {OURS: _Tally(), REFERENCE: _Tally()}
        for turn in range(stage.budget.turns):
            for name, tally in tallies.items():
                self._turn(stage, name, tally, f"{name} {turn}")
        if refused := said(tallies[OURS].statuses):
            raise answers.WrongAnswer(f"ours answered {refused}")
        return {name: tally.figure() for name, tally in tallies.items()}

    def _turn(self, stage: Stage, name: str, tally: "_Tally", seed: str) -> None:
        """Let all clients work for a while, then wait for the last of them."""
        began = time.perf_counter()
        until = began + stage.budget.seconds / stage.budget.turns
        clients = [
            threading.Thread(
                target=_client,
                args=(
                    stage.connect(name, PATIENCE_SECONDS),
                    self.work(stage.place, random.Random(f"{seed} {i}")),
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
    """What the clients of one service got."""

    seconds: list[float] = field(default_factory=list)
    statuses: list[int] = field(default_factory=list)
    elapsed: float = 0

    def add(self, seconds: float, status: int) -> None:
        self.statuses.append(status)
        if status in ACCEPTED:
            self.seconds.append(seconds)

    def figure(self) -> Figure:
        p99 = milliseconds(self.seconds or [0.0]).p99
        rate = len(self.seconds) / self.elapsed
        return Figure(rate, "/s", p99, len(self.seconds), said(self.statuses))


def _client(connection: Connection, step: Step, until: float, tally: _Tally) -> None:
    """Do the step until the time is over; status 0: no answer, or one that is of no use."""
    while (began := time.perf_counter()) < until:
        try:
            status = step(connection).status
        except (OSError, ValueError):
            status = 0
        tally.add(time.perf_counter() - began, status)
    connection.close()


@dataclass(frozen=True)
class ReadAfterClaim:
    """How much longer a read takes after a claim in another process than without one."""

    read: Work
    claim: Work

    def measure(self, stage: Stage) -> Figures:
        return {name: self._added(stage, name) for name in (OURS, REFERENCE)}

    def _added(self, stage: Stage, name: str) -> Figure:
        writer, reader = list(stage.warm(name).values())[:PROCESSES]
        numbers = random.Random(name)
        read, claim = self.read(stage.place, numbers), self.claim(stage.place, numbers)
        still, after = [], []
        for _ in _until(stage.budget):
            still.append(_seconds(read, reader))
            _seconds(claim, writer)
            after.append(_seconds(read, reader))
        without, with_ = milliseconds(still), milliseconds(after)
        note = f"{with_.value:.2g} ms after a claim, {without.value:.2g} ms without"
        return Figure(with_.value - without.value, MORE, samples=len(after), note=note)


@dataclass(frozen=True)
class StartUp:
    """Seconds from the command until the version document is answered."""

    def measure(self, stage: Stage) -> Figures:
        return {name: self._start(stage, name) for name in (OURS, REFERENCE)}

    @staticmethod
    def _start(stage: Stage, name: str) -> Figure:
        seconds = []
        for _ in range(stage.budget.restarts):
            stage.services[name].stop()
            seconds.append(stage.services[name].start())
        stage.warm(name)
        return milliseconds(seconds)


@dataclass(frozen=True)
class FirstRequest:
    """The first request of a process that has just started."""

    work: Work

    def measure(self, stage: Stage) -> Figures:
        return {name: self._first(stage, name) for name in (OURS, REFERENCE)}

    def _first(self, stage: Stage, name: str) -> Figure:
        step, seconds = self.work(stage.place, random.Random(name)), []
        for _ in range(stage.budget.restarts):
            stage.services[name].stop()
            stage.services[name].start(processes=1)
            seconds.append(_seconds(step, stage.connect(name)))
        stage.restart(name)
        return milliseconds(seconds)


@dataclass(frozen=True)
class Memory:
    """Resident memory of the larger of the processes, after each answered a request."""

    def measure(self, stage: Stage) -> Figures:
        return {name: self._memory(stage, name) for name in (OURS, REFERENCE)}

    @staticmethod
    def _memory(stage: Stage, name: str) -> Figure:
        stage.warm(name)
        largest = max(_resident(worker) for worker in stage.services[name].workers())
        return Figure(largest / 2**20, "MB")


def _resident(process: psutil.Process) -> int:
    resident: int = process.memory_info().rss
    return resident


def _seconds(step: Step, connection: Connection) -> float:
    """How long one step takes."""
    began = time.perf_counter()
    answer = step(connection)
    if answer.status not in ACCEPTED:
        raise answers.WrongAnswer(f"status {answer.status}: {answer.body[:300]!r}")
    return time.perf_counter() - began


def _until(budget: Budget) -> Iterator[None]:
    """Go on until the time or the samples of the budget are used up, three times at least."""
    deadline = time.perf_counter() + budget.seconds
    for taken in range(budget.samples):
        if taken >= 3 and time.perf_counter() > deadline:
            return
        yield
