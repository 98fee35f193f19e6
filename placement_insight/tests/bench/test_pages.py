"""The results of a run: JSON and tables."""

import csv
import json

import pytest

from bench.harness import PLACEMENT, UPSTREAM, Measurement
from bench.pages import write
from bench.report import Report, notes
from bench.rows import rows

FLAT = [row for row in rows(quick=False) if "flat hosts, limit=10" in row.name]
WIDE = next(row for row in rows(quick=False) if "16 devices" in row.name)


@pytest.fixture
def report():
    report = Report("mariadb", "python -m bench", "10.11", {"SELECT 1": 0.123})
    for row in FLAT:
        report.add(
            row,
            {
                PLACEMENT: Measurement(2.0, p99=3.0, samples=9),
                UPSTREAM: Measurement(80.0, note="so"),
            },
        )
    report.add(WIDE, {PLACEMENT: Measurement(5.0), UPSTREAM: Measurement(60_000, cut_off=True)})
    return report


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


def test_json_has_all_measurements_and_the_machine(report, tmp_path):
    report.write_json(tmp_path / "new" / "mariadb.json")
    document = json.loads((tmp_path / "new" / "mariadb.json").read_text())
    assert document["rows"][FLAT[0].name]["ratio"] == 40
    assert document["rows"][FLAT[0].name][PLACEMENT]["p99"] == 3.0
    assert document["machine"]["cores"]
    assert (document["version"], document["limits"]) == ("10.11", {"SELECT 1": 0.123})


def test_the_table_has_a_line_for_each_row(folder):
    lines = table(folder / "performance.csv")
    assert len(lines) == 1 + len(FLAT) + 1
    assert lines[1] == [FLAT[0].name, "80 ms", "", "2 ms", "3 ms", "40", "openstack-placement: so"]


def test_a_timeout_is_a_lower_bound_in_the_table(folder):
    assert table(folder / "performance.csv")[-1][1:6] == ["> 60 s", "", "5 ms", "", "> 12000"]


def test_the_machine_and_its_limits_are_written(folder):
    limits = dict(table(folder / "performance-machine.csv"))
    assert limits["command"] == "``python -m bench``"
    assert limits["database"] == "MariaDB 10.11"
    assert limits["SELECT 1"] == "0.123 ms"


def test_databases_are_columns_of_one_table(folder):
    lines = table(folder / "performance-databases.csv")
    assert lines[0] == [
        "work",
        "MariaDB",
        "MariaDB, openstack-placement",
        "SQLite",
        "SQLite, openstack-placement",
    ]
    assert ["2 ms", "80 ms", "2 ms", "80 ms"] in [line[1:] for line in lines]


def test_a_wrong_row_is_reported_as_wrong(report):
    report.fail(WIDE, ValueError("five"))
    assert report.line(WIDE) == f"{WIDE.name}: WRONG: ValueError: five"


def test_a_row_reports_its_target_and_notes(report):
    line = report.line(FLAT[0])
    assert line.startswith(f"{FLAT[0].name}: 2 ms (p99 3 ms), openstack-placement 80 ms, 40")
    assert line.endswith("[openstack-placement: so]")


def test_a_note_of_both_services_stands_once():
    same = {PLACEMENT: Measurement(2.0, note="so"), UPSTREAM: Measurement(80.0, note="so")}
    assert notes(same) == "so"
    other = same | {UPSTREAM: Measurement(80.0, note="cut off")}
    assert notes(other) == "this service: so; openstack-placement: cut off"
