"""What a run leaves behind: JSON, tables and a picture."""

import csv
import json

import pytest

from bench.harness import OURS, REFERENCE, Figure
from bench.pages import write
from bench.report import Report
from bench.rows import rows

FLAT = [row for row in rows(quick=False) if "flat hosts, limit=10" in row.name]
WIDE = next(row for row in rows(quick=False) if "16 devices" in row.name)


@pytest.fixture
def report():
    made = Report("mariadb", "python -m bench", "10.11", {"SELECT 1": 0.123})
    for row in FLAT:
        made.add(row, {OURS: Figure(2.0, p99=3.0, samples=9), REFERENCE: Figure(80.0, note="so")})
    made.add(WIDE, {OURS: Figure(5.0), REFERENCE: Figure(60_000, cut_off=True)})
    return made


def table(path):
    return list(csv.reader(path.read_text().splitlines()))


@pytest.fixture
def folder(report, tmp_path):
    """The folder of the documentation after a run on MariaDB and one on SQLite."""
    report.write_json(tmp_path / "mariadb.json")
    report.database = "sqlite"
    report.write_json(tmp_path / "sqlite.json")
    write(tmp_path, tmp_path)
    return tmp_path


def test_json_has_all_figures_with_what_they_were_measured_on(report, tmp_path):
    report.write_json(tmp_path / "new" / "mariadb.json")
    document = json.loads((tmp_path / "new" / "mariadb.json").read_text())
    assert document["rows"][FLAT[0].name]["ratio"] == 40
    assert document["rows"][FLAT[0].name][OURS]["p99"] == 3.0
    assert document["machine"]["cores"]
    assert (document["version"], document["limits"]) == ("10.11", {"SELECT 1": 0.123})


def test_the_table_has_a_line_for_each_row(folder):
    lines = table(folder / "performance.csv")
    assert len(lines) == 1 + len(FLAT) + 1
    assert lines[1] == [FLAT[0].name, "80 ms", "", "2 ms", "3 ms", "40", "reference: so"]


def test_what_was_cut_off_says_so_in_the_table(folder):
    assert table(folder / "performance.csv")[-1][1:6] == ["> 60 s", "", "5 ms", "", "> 12000"]


def test_the_machine_and_its_limits_are_told(folder):
    told = dict(table(folder / "performance-machine.csv"))
    assert told["command"] == "``python -m bench``"
    assert told["database"] == "MariaDB 10.11"
    assert told["SELECT 1"] == "0.123 ms"


def test_databases_stand_side_by_side(folder):
    lines = table(folder / "performance-databases.csv")
    assert lines[0] == ["work", "MariaDB", "MariaDB, reference", "SQLite", "SQLite, reference"]
    assert ["2 ms", "80 ms", "2 ms", "80 ms"] in [line[1:] for line in lines]


def test_the_picture_is_the_same_for_the_same_results(folder):
    picture = (folder / "performance.svg").read_text()
    assert "</svg>" in picture
    write(folder, folder)
    assert (folder / "performance.svg").read_text() == picture


def test_a_wrong_row_is_told_as_such(report):
    report.fail(WIDE, ValueError("five"))
    assert report.line(WIDE) == f"{WIDE.name}: WRONG: ValueError: five"


def test_a_row_tells_whether_it_is_as_wanted_and_its_notes(report):
    line = report.line(FLAT[0])
    assert line.startswith(f"{FLAT[0].name}: 2 ms (p99 3 ms), reference 80 ms, 40")
    assert line.endswith("[reference: so]")
