"""Fixtures of the tests of the operator surface."""

import json

import pytest

from placement.cmd import manage
from placement_insight.audit.repair import manage as repair


@pytest.fixture
def run_audit(database_url, monkeypatch, capsys):
    """Return a function that runs ``placement-manage audit``: status, output and errors."""
    monkeypatch.setenv("OS_PLACEMENT_DATABASE__CONNECTION", database_url)

    def run(*arguments):
        status = manage.main(["audit", *map(str, arguments)])
        printed = capsys.readouterr()
        return status, printed.out, printed.err

    return run


@pytest.fixture
def apply(run_audit):
    """Return a function that applies a file.

    It returns how many actions were applied, applied already, and skipped.
    """

    def applied(path, *options):
        status, printed, errors = run_audit("--apply", path, "--json", *options)
        assert status in (repair.COMPLETE, repair.SOME_SKIPPED), errors
        statuses = [each["status"] for each in json.loads(printed)["actions"]]
        assert (status == repair.SOME_SKIPPED) == ("skipped" in statuses)
        return tuple(statuses.count(name) for name in ("applied", "already", "skipped"))

    return applied


@pytest.fixture
def plan(tmp_path):
    """The path of a plan."""
    return tmp_path / "plan"


@pytest.fixture
def live(tmp_path):
    """Return a function that writes a list of live consumers, and returns its path."""
    path = tmp_path / "live"

    def write(*lines):
        path.write_text("".join(f"{each}\n" for each in lines))
        return path

    return write
