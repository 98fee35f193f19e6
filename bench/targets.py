"""Targets of rows: compared with openstack-placement, another row, or a fixed value."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from bench.harness import MORE, PLACEMENT, UPSTREAM, Measurements

Results = Mapping[str, Measurements]
ROW_A = "candidates, 1,000 flat hosts, limit=1000"


class Target(Protocol):
    """A condition on the measurements of a row."""

    def is_met(self, measurements: Measurements, results: Results) -> bool | None:
        """Whether the target is met; None if the other value was not measured."""


def ratio(measurements: Measurements) -> float | None:
    """How many times better this service is; a lower bound if openstack-placement was cut off."""
    placement, upstream = measurements.get(PLACEMENT), measurements.get(UPSTREAM)
    if (
        not placement
        or not upstream
        or min(placement.value, upstream.value) <= 0
        or placement.unit == MORE
    ):
        return None
    if placement.unit == "/s":
        return placement.value / upstream.value
    return upstream.value / placement.value


@dataclass(frozen=True)
class Faster:
    """At least ``times`` times as fast as openstack-placement."""

    times: float

    def is_met(self, measurements: Measurements, results: Results) -> bool | None:
        measured = ratio(measurements)
        if measured is not None and measured < self.times and measurements[UPSTREAM].cut_off:
            return None
        return None if measured is None else measured >= self.times

    def __str__(self) -> str:
        return f"{self.times:g}x"


@dataclass(frozen=True)
class AtMost:
    """At most ``times`` times another row of this service; of p99 if ``of_p99``."""

    times: float
    row: str = ROW_A
    of_p99: bool = False

    def is_met(self, measurements: Measurements, results: Results) -> bool | None:
        if self.row not in results:
            return None
        mine, other = (
            one.p99 if self.of_p99 else one.value
            for one in (measurements[PLACEMENT], results[self.row][PLACEMENT])
        )
        return mine is not None and other is not None and mine <= self.times * other

    def __str__(self) -> str:
        other = "A" if self.row == ROW_A else f"of {self.row}"
        return f"{'p99 ' * self.of_p99}<= {self.times:g} {other}"


@dataclass(frozen=True)
class Below:
    """At most a fixed value."""

    value: float
    unit: str

    def is_met(self, measurements: Measurements, results: Results) -> bool | None:
        return measurements[PLACEMENT].value <= self.value

    def __str__(self) -> str:
        return f"<= {self.value:g} {self.unit}"
