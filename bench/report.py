"""What a run found, for people and for programs."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from rich import box
from rich.table import Table

from bench.harness import OURS, REFERENCE, Figure, Figures
from bench.limits import machine
from bench.rows import Row
from bench.targets import ratio

_VERDICTS = {True: "yes", False: "NO", None: ""}


@dataclass
class Report:
    """Figures and mistakes by row, in the order of measuring."""

    database: str
    command: str
    version: str = ""
    limits: Mapping[str, float] = field(default_factory=dict)
    results: dict[str, Figures] = field(default_factory=dict)
    mistakes: dict[str, str] = field(default_factory=dict)
    _rows: dict[str, Row] = field(default_factory=dict)

    def add(self, row: Row, figures: Figures) -> None:
        """Take in the figures of a row."""
        self._rows[row.name] = row
        self.results[row.name] = figures

    def fail(self, row: Row, mistake: Exception) -> None:
        """Take in a row whose answers were wrong."""
        self.mistakes[row.name] = f"{type(mistake).__name__}: {mistake}"

    def lines(self) -> list[list[str]]:
        """The table's cells, in words."""
        return [self._line(name, figures) for name, figures in self.results.items()]

    def table(self) -> Table:
        """The table for a terminal."""
        table = Table(title=f"This service beside the reference, {self.database}", box=box.SIMPLE)
        for i, heading in enumerate(HEADINGS[:-1]):
            table.add_column(heading, justify="right" if 0 < i < 6 else "left", no_wrap=i < 6)
        for line in self.lines():
            table.add_row(*line[:-1], style="bold red" if line[7] == "NO" else None)
        return table

    def write_json(self, path: Path) -> None:
        """All figures, with what they were measured on."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(self._document(), indent=1) + "\n")

    def line(self, row: Row) -> str:
        """One row's outcome in a line, for who watches."""
        if row.name in self.mistakes:
            return f"{row.name}: WRONG: {self.mistakes[row.name]}"
        line = self._line(row.name, self.results[row.name])
        wanted = f", wanted {line[6]}: {line[7] or '?'}" if line[6] else ""
        p99, noted = f" (p99 {line[4]})" if line[4] else "", f" [{line[8]}]" if line[8] else ""
        return f"{row.name}: {line[3]}{p99}, reference {line[1]}, {line[5]}{wanted}{noted}"

    def _line(self, name: str, figures: Figures) -> list[str]:
        wanted = self._rows[name].wanted
        return [
            name,
            *cells(figures),
            str(wanted or ""),
            _VERDICTS[wanted.met(figures, self.results) if wanted else None],
            notes(figures),
        ]

    def _document(self) -> dict[str, Any]:
        return {
            "command": self.command,
            "database": self.database,
            "version": self.version,
            "machine": machine(),
            "limits": self.limits,
            "rows": {
                name: {who: asdict(figure) for who, figure in figures.items()}
                | {"ratio": ratio(figures), "wanted": self._line(name, figures)[6:8]}
                for name, figures in self.results.items()
            },
            "mistakes": self.mistakes,
        }


HEADINGS = [
    "work", "reference", "p99", "this service", "p99", "times better", "wanted", "met", "notes",
]  # fmt: skip


def cells(figures: Figures) -> list[str]:
    """Both medians and 99th percentiles, the reference's first, and their ratio, in words."""
    ours, reference = figures[OURS], figures.get(REFERENCE)
    return [
        describe(reference) if reference else "-",
        _p99(reference),
        describe(ours),
        _p99(ours),
        _ratio(figures),
    ]


def notes(figures: Figures) -> str:
    """What else is to be known of a row."""
    return "; ".join(f"{who}: {figure.note}" for who, figure in figures.items() if figure.note)


def _ratio(figures: Figures) -> str:
    measured = ratio(figures)
    if measured is None:
        return "-"
    least = "> " if figures[REFERENCE].cut_off else ""
    return least + (f"{measured:.0f}" if measured >= 10 else f"{measured:.2g}")


def _p99(figure: Figure | None) -> str:
    if figure is None or figure.p99 is None or figure.samples < 2:
        return ""
    return describe(Figure(figure.p99))


def describe(figure: Figure) -> str:
    """A figure with its unit, to three digits."""
    if figure.cut_off:
        return f"> {figure.value / 1000:.0f} s"
    if figure.unit == "ms" and abs(figure.value) >= 10_000:
        return f"{figure.value / 1000:.1f} s"
    digits = f"{figure.value:.0f}" if abs(figure.value) >= 100 else f"{figure.value:.3g}"
    return f"{digits} {figure.unit}"
