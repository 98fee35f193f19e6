import json
import re
import stat
from contextlib import closing

import pytest

from placement_compare.model import Difference, Read, Result
from placement_compare.report import report, route, text
from placement_compare.run import State, UnusableState

UUID = "6f8a2c14-3d0b-4b5e-9a57-1c2f8e7d9b01"
OLD, NEW = "http://old", "http://new"


def result(path, *places, seconds=(0.2, 0.1), by_limit=False):
    differences = tuple(Difference("body", place, "1", "2") for place in places)
    return Result(Read(path, (1, 39)), *seconds, differences, by_limit)


RESULTS = [
    result("/traits"),
    result("/allocation_candidates?resources=VCPU:1&limit=2", by_limit=True),
    result(f"/resource_providers/{UUID}/usages", "usages.*"),
    result(f"/resource_providers/{UUID[:-1]}2/usages", "usages.*", seconds=(0.4, 0.1)),
    result(f"/allocations/{UUID}", "project_id"),
]


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/", "/"),
        ("/traits?associated=true", "/traits"),
        ("/traits/CUSTOM_A", "/traits/{name}"),
        (f"/resource_providers/{UUID}", "/resource_providers/{uuid}"),
        (f"/resource_providers/{UUID}/inventories", "/resource_providers/{uuid}/inventories"),
        (
            f"/resource_providers/{UUID}/inventories/VCPU",
            "/resource_providers/{uuid}/inventories/{name}",
        ),
        (f"/resource_providers?in_tree={UUID}", "/resource_providers"),
    ],
)
def test_the_route_has_no_values(path, expected):
    assert route(path) == expected


def test_differences_are_grouped_by_kind_most_frequent_first():
    document = report(RESULTS, OLD, NEW)
    assert (document["requests"], document["equal"], document["equal_without_limit"]) == (5, 2, 1)
    groups = [(group["route"], group["requests"]) for group in document["differences"]]
    assert groups == [("/resource_providers/{uuid}/usages", 2), ("/allocations/{uuid}", 1)]
    assert f" {OLD}/resource_providers/{UUID}/usages" in document["differences"][0]["old_curl"]
    assert f" {NEW}/resource_providers/{UUID}/usages" in document["differences"][0]["new_curl"]


def test_latencies_are_in_milliseconds_by_route():
    (usages,) = [
        latency
        for latency in report(RESULTS, OLD, NEW)["latencies"]
        if latency["route"] == "/resource_providers/{uuid}/usages"
    ]
    assert usages["requests"] == 2
    assert usages["old"] == {"median": 200, "p95": 400, "max": 400}
    assert usages["new"] == {"median": 100, "p95": 100, "max": 100}


def test_each_column_of_the_table_names_its_service_and_its_statistic():
    (header,) = re.findall("^milliseconds.*", text(report(RESULTS, OLD, NEW)), re.MULTILINE)
    assert re.split("  +", header) == [
        "milliseconds",
        "requests",
        *(f"{service} {name}" for service in ("old", "new") for name in ("median", "p95", "max")),
    ]


def test_the_text_has_a_line_of_curl_for_each_kind():
    lines = text(report(RESULTS, OLD, NEW)).splitlines()
    assert lines[0] == "Compared 5 requests: 2 equal, 3 different."
    assert len([line for line in lines if "curl" in line]) == 4
    assert "body: GET /resource_providers/{uuid}/usages, usages.* (requests: 2)" in lines


def test_the_json_form_is_the_same_document():
    document = report(RESULTS, OLD, NEW)
    assert json.loads(json.dumps(document)) == document


def test_a_report_without_requests_can_be_printed():
    assert text(report([], OLD, NEW)).startswith("Compared 0 requests")


def test_results_are_read_from_the_state_file(tmp_path):
    path = tmp_path / "state"
    with closing(State(path, OLD, NEW)) as state:
        for one in RESULTS:
            state.add(one)
    with closing(State(path, OLD, NEW)) as state:
        assert state.results == RESULTS
        assert state.completed == {one.read for one in RESULTS}


def test_an_incomplete_line_is_ignored_and_the_file_stays_usable(tmp_path):
    path = tmp_path / "state"
    with closing(State(path, OLD, NEW)) as state:
        state.add(RESULTS[0])
    with path.open("a") as file:
        file.write('{"read": {"pa')
    with closing(State(path, OLD, NEW)) as state:
        assert state.results == RESULTS[:1]
        state.add(RESULTS[1])
    with closing(State(path, OLD, NEW)) as state:
        assert state.results == RESULTS[:2]


def test_the_state_of_another_comparison_is_refused(tmp_path):
    path = tmp_path / "state"
    State(path, OLD, NEW).close()
    with pytest.raises(UnusableState, match="use another file"):
        State(path, OLD, "http://other")


def test_the_state_is_not_written_through_a_link(tmp_path):
    target, path = tmp_path / "target", tmp_path / "state"
    path.symlink_to(target)
    with pytest.raises(OSError, match="symbolic links"):
        State(path, OLD, NEW)
    assert not target.exists()
    path.unlink()
    State(path, OLD, NEW).close()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_without_a_path_nothing_is_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with closing(State(None, OLD, NEW)) as state:
        state.add(RESULTS[0])
    assert state.results == RESULTS[:1]
    assert list(tmp_path.iterdir()) == []
