"""The results of a run as a table and as JSON."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from rich import box
from rich.table import Table

from bench.harness import LABELS, PLACEMENT, UPSTREAM, Measurement, Measurements
from bench.limits import machine
from bench.rows import Row
from bench.targets import ratio

_VERDICTS = {True: "yes", False: "NO", None: ""}


@dataclass
class Report:
    """Measurements and errors by row, in the order of measuring."""

    database: str
    command: str
    version: str = ""
    limits: Mapping[str, float] = field(default_factory=dict)
    results: dict[str, Measurements] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)
    _rows: dict[str, Row] = field(default_factory=dict)

    def add(self, row: Row, measurements: Measurements) -> None:
        """Add the measurements of a row."""
        self._rows[row.name] = row
        self.results[row.name] = measurements

    def fail(self, row: Row, error: Exception) -> None:
        """Add a row with a wrong response."""
        self.errors[row.name] = f"{type(error).__name__}: {error}"

    def lines(self) -> list[list[str]]:
        """The cells of the table as text."""
        return [self._line(name, measurements) for name, measurements in self.results.items()]

    def table(self) -> Table:
        """The table for a terminal."""
        table = Table(
            title=f"This service and openstack-placement, {self.database}", box=box.SIMPLE
        )
        for i, heading in enumerate(HEADINGS[:-1]):
            table.add_column(heading, justify="right" if 0 < i < 6 else "left", no_wrap=i < 6)
        for line in self.lines():
            table.add_row(*line[:-1], style="bold red" if line[7] == "NO" else None)
        return table

    def write_json(self, path: Path) -> None:
        """Write all measurements, the machine and the command."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(self._document(), indent=1) + "\n")

    def merge_into(self, path: Path) -> None:
        """Replace the measured rows in the results of an earlier run, with a note."""
        document = json.loads(path.read_text())
        for name, row in self._document()["rows"].items():
            for service in (PLACEMENT, UPSTREAM):
                if service in row:
                    notes = (row[service]["note"], "measured in a separate run")
                    row[service]["note"] = "; ".join(filter(None, notes))
            document["rows"][name] = row
        path.write_text(json.dumps(document, indent=1) + "\n")

    def line(self, row: Row) -> str:
        """The result of one row as a line of text."""
        if row.name in self.errors:
            return f"{row.name}: WRONG: {self.errors[row.name]}"
        line = self._line(row.name, self.results[row.name])
        target = f", target {line[6]}: {line[7] or '?'}" if line[6] else ""
        p99, note = f" (p99 {line[4]})" if line[4] else "", f" [{line[8]}]" if line[8] else ""
        return (
            f"{row.name}: {line[3]}{p99}, openstack-placement {line[1]}, {line[5]}{target}{note}"
        )

    def _line(self, name: str, measurements: Measurements) -> list[str]:
        target = self._rows[name].target
        return [
            name,
            *cells(measurements),
            str(target or ""),
            _VERDICTS[target.is_met(measurements, self.results) if target else None],
            notes(measurements),
        ]

    def _document(self) -> dict[str, Any]:
        return {
            "command": self.command,
            "database": self.database,
            "version": self.version,
            "machine": machine(),
            "limits": self.limits,
            "rows": {
                name: {
                    service: asdict(measurement) for service, measurement in measurements.items()
                }
                | {"ratio": ratio(measurements), "target": self._line(name, measurements)[6:8]}
                for name, measurements in self.results.items()
            },
            "errors": self.errors,
        }


HEADINGS = [
    "work", "openstack-placement", "p99", "this service", "p99", "times better", "target", "met",
    "notes",
]  # fmt: skip


def cells(measurements: Measurements) -> list[str]:
    """Medians and 99th percentiles, openstack-placement first, and their ratio, as text."""
    placement, upstream = measurements[PLACEMENT], measurements.get(UPSTREAM)
    return [
        describe(upstream) if upstream else "-",
        _p99(upstream),
        describe(placement),
        _p99(placement),
        _ratio(measurements),
    ]


def notes(measurements: Measurements) -> str:
    """The notes of a row; one that both services have stands once."""
    by_service = {name: one.note for name, one in measurements.items() if one.note}
    if len(by_service) == len(measurements) and len(set(by_service.values())) == 1:
        return next(iter(by_service.values()))
    return "; ".join(f"{LABELS[name]}: {note}" for name, note in by_service.items())


def _ratio(measurements: Measurements) -> str:
    measured = ratio(measurements)
    if measured is None:
        return "-"
    least = "> " if measurements[UPSTREAM].cut_off else ""
    return least + (f"{measured:.0f}" if measured >= 10 else f"{measured:.2g}")


def _p99(measurement: Measurement | None) -> str:
    if measurement is None or measurement.p99 is None or measurement.samples < 2:
        return ""
    return describe(Measurement(measurement.p99))


def describe(measurement: Measurement) -> str:
    """A value with its unit, to three digits."""
    if measurement.cut_off:
        return f"> {measurement.value / 1000:.0f} s"
    if measurement.unit == "ms" and abs(measurement.value) >= 10_000:
        return f"{measurement.value / 1000:.1f} s"
    digits = (
        f"{measurement.value:.0f}" if abs(measurement.value) >= 100 else f"{measurement.value:.3g}"
    )
    return f"{digits} {measurement.unit}"
