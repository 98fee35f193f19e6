"""Names that are unusual, in ``placement-manage identity``."""

import pytest

from placement.cmd import manage
from placement.tests.support.factories import new_provider
from placement_insight.audit.identity.model import CASE, NAME
from placement_insight.audit.identity.sql import identify

NAMES = [
    *("\u00dcn\u00efcode-\u24bdost", "\u0130stanbul.a.org", "\u202eabc", "\uff43\uff4e\uff11"),
    *("a\nb", "\x1b[31m", "q\"uo'te", "--json", "%", "under_score", "a/b", "back\\slash"),
    *("  ", "..", "x" * 200),
]


def matches(store, name):
    return [(each.match, each.provider.uuid) for each in identify(store, name).matches]


def test_a_provider_is_found_by_its_name(store):
    providers = {name: new_provider(store, name) for name in NAMES}
    for name, own in providers.items():
        assert matches(store, name) == [(NAME, own)], ascii(name)


@pytest.mark.parametrize("name", ["a%b.example.org", "A_B.Example.org", "a/b.x"])
def test_a_provider_is_found_by_its_host_name(store, name):
    own = new_provider(store, name)
    new_provider(store, "axb.example.org")
    assert [uuid for _, uuid in matches(store, name.partition(".")[0].upper())] == [own]


@pytest.mark.parametrize("backend", ["mariadb"], indirect=True)
def test_a_name_that_the_database_takes_for_equal_is_found(store):
    own = new_provider(store, "h\u00f4te1")
    assert matches(store, "hote1") == [(CASE, own)]


@pytest.fixture
def run(database_url, monkeypatch, capsys):
    """Return a function that runs the command: status, output and errors."""
    monkeypatch.setenv("OS_PLACEMENT_DATABASE__CONNECTION", database_url)

    def run(*arguments):
        status = manage.main(["identity", *arguments])
        return status, *capsys.readouterr()

    return run


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
def test_characters_that_control_a_terminal_are_escaped(store, run):
    own = new_provider(store, "cn1\x1b[31m\n")
    status, _, errors = run("cn1\x1b[31m\n", "--plan=plan", f"--adopt={own}")
    assert status == 1
    assert r"cn1\x1b[31m" in errors


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
@pytest.mark.parametrize("name", ["", "x" * 201, "nul\0", "half a pair \ud83d"], ids=ascii)
def test_a_name_that_no_provider_can_have_is_not_planned(store, run, tmp_path, name):
    own, plan = new_provider(store, "cn1"), tmp_path / "plan"
    status, _, errors = run("cn1", "--plan", str(plan), "--rename", own, name)
    assert status == 1
    assert "a name has 1 to 200 characters" in errors
    assert not plan.exists()


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
@pytest.mark.parametrize("days", ["0", "-1", "99999999999", "x"])
def test_days_are_from_1_to_999(store, run, days):
    status, _, errors = run("cn1", f"--days={days}")
    assert status == 1
    assert "is not a number of days from 1 to 999" in errors
