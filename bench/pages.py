"""The tables and the picture of the documentation, from the results that were written down.

A whole run writes them; ``python -m bench.pages`` does it again from the same results.
"""

import csv
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.harness import OURS, REFERENCE, Figure, Figures
from bench.plot import plot
from bench.report import cells, describe, notes
from bench.services import REFERENCE as REFERENCE_PACKAGES

RESULTS = Path(__file__).parent / "results"
DOCS = Path(__file__).parents[1] / "doc/source/contributor"
TITLES = {"mariadb": "MariaDB", "postgresql": "PostgreSQL", "sqlite": "SQLite"}
# of what is measured on each database, the rows in which databases differ
COMPARED = (
    "candidates, 10,000 flat hosts, limit=1000",
    "GET inventories of a provider",
    "claim, 1 client, many hosts",
    "claims, 8 clients, many hosts",
    "claims, 8 clients, one host",
    "candidates, then claim, 8 clients, 10,000 hosts",
    "swap of two consumers by POST",
    "first request of a process, 10,000 hosts",
)

Document = Mapping[str, Any]


def write(results: Path, docs: Path) -> None:
    """Write what the results of each database are shown by."""
    documents = {
        kind: json.loads((results / f"{kind}.json").read_text())
        for kind in TITLES
        if (results / f"{kind}.json").exists()
    }
    _write_csv(docs / "performance-databases.csv", _databases(documents))
    if "mariadb" in documents:
        figures = _figures(documents["mariadb"])
        _write_csv(docs / "performance.csv", _rows(figures))
        _write_csv(docs / "performance-machine.csv", _machine(documents["mariadb"]))
        plot(figures, docs / "performance.svg")


def _write_csv(path: Path, lines: Iterable[Sequence[str]]) -> None:
    with path.open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(lines)


def _figures(document: Document) -> dict[str, Figures]:
    """The figures as they were before they were written."""
    return {
        name: {who: Figure(**row[who]) for who in (OURS, REFERENCE) if who in row}
        for name, row in document["rows"].items()
    }


def _rows(results: Mapping[str, Figures]) -> Iterator[Sequence[str]]:
    yield "work", "reference", "p99", "this service", "p99", "times better", "notes"
    for name, figures in results.items():
        yield name, *cells(figures), notes(figures)


def _machine(document: Document) -> Iterator[Sequence[str]]:
    """What the run was, what it ran on, and the least that anything takes there."""
    machine = document["machine"]
    yield "command", f"``{document['command']}``"
    yield "processor", f"{machine['processor']}, {machine['cores']} cores"
    yield "memory", f"{machine['memory_gib']} GiB"
    yield "Python", machine["python"]
    yield "database", f"{TITLES[document['database']]} {document['version']}"
    yield "reference", REFERENCE_PACKAGES[0].replace("==", " ")
    for name, milliseconds in document["limits"].items():
        yield name, describe(Figure(milliseconds))


def _databases(documents: Mapping[str, Document]) -> Iterator[Sequence[str]]:
    """Ours and the reference's figures of the compared rows on each database."""
    results = {kind: _figures(document) for kind, document in documents.items()}
    headings = [(TITLES[kind], f"{TITLES[kind]}, reference") for kind in results]
    yield "work", *(heading for pair in headings for heading in pair)
    for name in COMPARED:
        yield name, *(cell for rows in results.values() for cell in _pair(rows.get(name, {})))


def _pair(figures: Figures) -> Iterator[str]:
    for who in (OURS, REFERENCE):
        yield describe(figures[who]) if who in figures else ""


if __name__ == "__main__":
    write(RESULTS, DOCS)
