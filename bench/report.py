"""The results of a run as lines of text and as JSON."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

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
        measurements = self.results[row.name]
        upstream, _, placement, p99, times = cells(measurements)
        text, is_met = self._target(row.name)
        parts = [
            f"{row.name}: {placement}",
            f" (p99 {p99})" if p99 else "",
            f", openstack-placement {upstream}, {times} times better" if times != "-" else "",
            f", target {text}: {is_met or '?'}" if text else "",
            f" [{note}]" if (note := notes(measurements)) else "",
        ]
        return "".join(parts)

    def _target(self, name: str) -> tuple[str, str]:
        """The target of a row, and whether it is met."""
        target = self._rows[name].target
        is_met = target.is_met(self.results[name], self.results) if target else None
        return str(target or ""), _VERDICTS[is_met]

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
                | {"ratio": ratio(measurements), "target": self._target(name)}
                for name, measurements in self.results.items()
            },
            "errors": self.errors,
        }


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
