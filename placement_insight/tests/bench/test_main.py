"""The command: exit status, output and files."""

import json
import sys
from contextlib import contextmanager

import pytest

import bench.__main__ as command
from bench.measures import Timed
from bench.rows import Row
from bench.workloads import claim
from placement_insight.tests.bench.fakes import harness, loaded_world, loses_claims


class Run:
    """A run over fake services."""

    def __init__(self, placement):
        self.placement = placement

    def version(self):
        return "1.0"

    def limits(self):
        return {}

    def prepare(self, world, budget):
        return harness(self.placement)


@pytest.fixture
def run(monkeypatch, tmp_path):
    """Return a function that runs the command over fake services."""

    def run(placement=None, *options):
        @contextmanager
        def started(*_):
            yield Run(placement)

        monkeypatch.setattr(command, "started", started)
        monkeypatch.setattr(command, "install_upstream", lambda folder: folder)
        row = Row("claim", loaded_world().world, Timed(claim("host")))
        monkeypatch.setattr(command, "rows", lambda quick: [row])
        monkeypatch.setattr(sys, "argv", ["bench", "--quick", f"--folder={tmp_path}", *options])
        return command.main()

    return run


def test_correct_responses_return_0(run, tmp_path, capsys):
    assert run() == 0
    assert "claim" in json.loads((tmp_path / "quick/mariadb.json").read_text())["rows"]
    assert "times better" in capsys.readouterr().out


def test_a_wrong_response_fails_the_run(run, tmp_path, capsys):
    assert run(loses_claims) == 1
    assert "WRONG claim: WrongResponse: placement: usage of the project" in capsys.readouterr().out
    assert "claim" in json.loads((tmp_path / "quick/mariadb.json").read_text())["errors"]


def test_a_run_of_some_rows_writes_no_results(run, tmp_path):
    assert run(None, "--only=claim") == 0
    assert not list(tmp_path.iterdir())


def test_recorded_rows_replace_those_of_an_earlier_run(run, tmp_path, monkeypatch):
    monkeypatch.setattr(command, "RESULTS", tmp_path)
    monkeypatch.setattr(command, "write", lambda results, docs: None)
    results = tmp_path / "mariadb.json"
    results.write_text(json.dumps({"command": "make bench", "rows": {"claim": 0, "other": 1}}))
    assert run(None, "--only=claim", "--record") == 0
    document = json.loads(results.read_text())
    assert (document["command"], document["rows"]["other"]) == ("make bench", 1)
    assert document["rows"]["claim"]["placement"]["note"] == "measured in a separate run"


def test_a_driver_that_is_not_installed_is_named(run, monkeypatch, capsys):
    monkeypatch.setattr(command.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(SystemExit):
        run(None, "--database=mariadb-mysqlclient")
    assert "mysqlclient is not installed in this environment" in capsys.readouterr().err
