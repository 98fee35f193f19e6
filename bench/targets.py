"""What is wanted of a row, beside the reference or beside another row of ours."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from bench.harness import MORE, OURS, REFERENCE, Figures

ROW_A = "candidates, 1,000 flat hosts, limit=1000"


class Wanted(Protocol):
    """A condition that a row's figures meet, or not."""

    def met(self, figures: Figures, results: Mapping[str, Figures]) -> bool | None:
        """Whether it is so; None if what it is compared with was not measured."""


def ratio(figures: Figures) -> float | None:
    """How many times better ours is; at least so many where the reference was cut off."""
    ours, reference = figures.get(OURS), figures.get(REFERENCE)
    if not ours or not reference or min(ours.value, reference.value) <= 0 or ours.unit == MORE:
        return None
    if ours.unit == "/s":
        return ours.value / reference.value
    return reference.value / ours.value


@dataclass(frozen=True)
class Faster:
    """So many times faster than the reference."""

    times: float

    def met(self, figures: Figures, results: Mapping[str, Figures]) -> bool | None:
        measured = ratio(figures)
        if measured is not None and measured < self.times and figures[REFERENCE].cut_off:
            return None
        return None if measured is None else measured >= self.times

    def __str__(self) -> str:
        return f"{self.times:g}x"


@dataclass(frozen=True)
class AtMost:
    """So many times what another row of ours takes."""

    times: float
    row: str = ROW_A

    def met(self, figures: Figures, results: Mapping[str, Figures]) -> bool | None:
        if self.row not in results:
            return None
        return figures[OURS].value <= self.times * results[self.row][OURS].value

    def __str__(self) -> str:
        return f"<= {self.times:g} {'A' if self.row == ROW_A else 'of ' + self.row}"


@dataclass(frozen=True)
class AtLeast:
    """So many times the rate of another row of ours."""

    times: float
    row: str

    def met(self, figures: Figures, results: Mapping[str, Figures]) -> bool | None:
        if self.row not in results:
            return None
        return figures[OURS].value >= self.times * results[self.row][OURS].value

    def __str__(self) -> str:
        return f">= {self.times:g} of {self.row}"


@dataclass(frozen=True)
class Below:
    """No more than a fixed figure."""

    value: float
    unit: str

    def met(self, figures: Figures, results: Mapping[str, Figures]) -> bool | None:
        return figures[OURS].value <= self.value

    def __str__(self) -> str:
        return f"<= {self.value:g} {self.unit}"
