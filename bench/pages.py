"""Write the tables of the documentation from the results of runs.

A full run does it; ``python -m bench.pages`` repeats it from ``bench/results``.
"""

import csv
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.gpu_requests import GPU_REQUESTS
from bench.harness import PLACEMENT, UPSTREAM, Measurement, Measurements
from bench.report import cells, describe, notes
from bench.services import UPSTREAM_PACKAGES

RESULTS = Path(__file__).parent / "results"
DOCS = Path(__file__).parents[1] / "doc/source/contributor"
TITLES = {
    "mariadb": "MariaDB",
    "mariadb-mysqlclient": "MariaDB, mysqlclient",
    "postgresql": "PostgreSQL",
    "sqlite": "SQLite",
}
# the rows of the table that compares databases
COMPARED = (
    "nova's minute, 10,000 computes of 20 servers",
    "candidates, 10,000 flat hosts, limit=1000",
    "GET inventories of a provider",
    "claim, 1 client, many hosts",
    "claims, 8 clients, many hosts",
    "claims, 8 clients, one host",
    "candidates, then claim, 8 clients, 10,000 hosts",
    "swap of two consumers by POST",
    "first request of a process, 10,000 hosts",
)
# the refreshes that ``bench.growth`` measures
AFTER_CLAIMS = ("refresh after a claim", "refresh after 2,000 claims")
AFTER_PROVIDER = "refresh after a new provider"
REFRESHES = (*AFTER_CLAIMS, AFTER_PROVIDER)

Document = Mapping[str, Any]


def write(results: Path, docs: Path) -> None:
    """Write the tables of all databases."""
    documents = {
        kind: json.loads((results / f"{kind}.json").read_text())
        for kind in TITLES
        if (results / f"{kind}.json").exists()
    }
    _write_csv(docs / "performance-databases.csv", _databases(documents))
    if "mariadb" in documents:
        _write_csv(docs / "performance.csv", _rows(_measurements(documents["mariadb"])))
        _write_csv(docs / "performance-machine.csv", _machine(documents["mariadb"]))
    if (results / "growth.json").exists():
        sizes = json.loads((results / "growth.json").read_text())["rows"]
        _write_csv(docs / "performance-growth-memory.csv", _growth_of_memory(sizes))
        _write_csv(docs / "performance-growth-requests.csv", _growth_of_times(sizes))


def _write_csv(path: Path, lines: Iterable[Sequence[str]]) -> None:
    with path.open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(lines)


def _measurements(document: Document) -> dict[str, Measurements]:
    """Decode the measurements of a results file."""
    return {
        name: {
            service: Measurement(**row[service])
            for service in (PLACEMENT, UPSTREAM)
            if service in row
        }
        for name, row in document["rows"].items()
    }


def _rows(results: Mapping[str, Measurements]) -> Iterator[Sequence[str]]:
    yield "work", "openstack-placement", "p99", "this service", "p99", "times better", "notes"
    for name, measurements in results.items():
        yield name, *cells(measurements), notes(measurements)


def _machine(document: Document) -> Iterator[Sequence[str]]:
    """The command, the machine, and the lower bounds of latencies on it."""
    machine = document["machine"]
    yield "command", f"``{document['command']}``"
    yield "processor", f"{machine['processor']}, {machine['cores']} cores"
    yield "memory", f"{machine['memory_gib']} GiB"
    yield "Python", machine["python"]
    yield "database", f"{TITLES[document['database']]} {document['version']}"
    yield "compared with", UPSTREAM_PACKAGES[0].replace("==", " ")
    for name, milliseconds in document["limits"].items():
        yield name, describe(Measurement(milliseconds))


def _databases(documents: Mapping[str, Document]) -> Iterator[Sequence[str]]:
    """Both services' measurements of the compared rows on each database."""
    results = {kind: _measurements(document) for kind, document in documents.items()}
    headings = [(TITLES[kind], f"{TITLES[kind]}, openstack-placement") for kind in results]
    yield "work", *(heading for pair in headings for heading in pair)
    for name in COMPARED:
        yield name, *(cell for rows in results.values() for cell in _pair(rows.get(name, {})))


def _pair(measurements: Measurements) -> Iterator[str]:
    for service in (PLACEMENT, UPSTREAM):
        yield describe(measurements[service]) if service in measurements else ""


def _growth_of_memory(sizes: Sequence[Document]) -> Iterator[Sequence[str]]:
    yield "providers", "load", "private", "shared", "together", "after requests", "load average"
    for row in sizes:
        yield (
            f"{row['providers']:,.0f}",
            _seconds(row, "load"),
            f"{row['private']:.0f} MB",
            f"{row['shared']:.0f} MB",
            f"{row['private'] + row['shared']:.0f} MB",
            f"{row['memory after requests']:.0f} MB",
            f"{row['load average before']:.0f}",
        )


def _growth_of_times(sizes: Sequence[Document]) -> Iterator[Sequence[str]]:
    names = (*REFRESHES, *GPU_REQUESTS)
    yield "providers", *names
    for row in sizes:
        yield f"{row['providers']:,.0f}", *(_milliseconds(row, name) for name in names)


def _seconds(row: Document, name: str) -> str:
    """Wall clock time, and CPU time in parentheses."""
    return f"{row[name]:.1f} s ({row[f'{name}, CPU']:.1f} s)"


def _milliseconds(row: Document, name: str) -> str:
    wall, cpu = row[name] * 1000, row[f"{name}, CPU"] * 1000
    digits = 1 if wall < 100 else 0
    return f"{wall:.{digits}f} ms ({cpu:.{digits}f} ms)"


if __name__ == "__main__":
    write(RESULTS, DOCS)
