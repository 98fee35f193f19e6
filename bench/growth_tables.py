"""The tables of the documentation from the results of ``bench.growth``."""

import csv
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.gpu_requests import GPU_REQUESTS

Row = Mapping[str, Any]

AFTER_CLAIMS = ("refresh after a claim", "refresh after 2,000 claims")
AFTER_PROVIDER = "refresh after a new provider"
REFRESHES = (*AFTER_CLAIMS, AFTER_PROVIDER)


def write_tables(rows: Sequence[Row], docs: Path) -> None:
    """Write load and memory, and the times of refreshes and requests, by number of providers."""
    for name, lines in (("memory", _memory(rows)), ("requests", _requests(rows))):
        with (docs / f"performance-growth-{name}.csv").open("w", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows(lines)


def _memory(rows: Sequence[Row]) -> Iterator[Sequence[str]]:
    yield "providers", "load", "private", "shared", "together", "after requests", "load average"
    for row in rows:
        yield (
            f"{row['providers']:,.0f}",
            _seconds(row, "load"),
            f"{row['private']:.0f} MB",
            f"{row['shared']:.0f} MB",
            f"{row['private'] + row['shared']:.0f} MB",
            f"{row['memory after requests']:.0f} MB",
            f"{row['load average before']:.0f}",
        )


def _requests(rows: Sequence[Row]) -> Iterator[Sequence[str]]:
    yield "providers", *REFRESHES, *GPU_REQUESTS
    for row in rows:
        times = [_milliseconds(row, name) for name in (*REFRESHES, *GPU_REQUESTS)]
        yield f"{row['providers']:,.0f}", *times


def _seconds(row: Row, name: str) -> str:
    """Wall clock time, and CPU time in parentheses."""
    return f"{row[name]:.1f} s ({row[f'{name}, CPU']:.1f} s)"


def _milliseconds(row: Row, name: str) -> str:
    wall, cpu = row[name] * 1000, row[f"{name}, CPU"] * 1000
    digits = 1 if wall < 100 else 0
    return f"{wall:.{digits}f} ms ({cpu:.{digits}f} ms)"
