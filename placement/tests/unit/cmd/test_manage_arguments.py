"""Command lines of ``placement-manage`` and ``placement-status`` that need no database."""

import pytest

from placement.cmd import manage, status


@pytest.fixture(autouse=True)
def _no_configuration(monkeypatch, tmp_path):
    """Nor that of a machine where the service is installed: the first file found is the one."""
    monkeypatch.delenv("OS_PLACEMENT_DATABASE__CONNECTION", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "placement.conf").touch()


def test_no_arguments(capsys):
    assert manage.main([]) == 1
    assert "usage:" in capsys.readouterr().out


def test_category_without_command(capsys):
    assert manage.main(["db"]) == 0
    assert "{sync,version,stamp,online_data_migrations}" in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [["unheard"], ["db", "unheard"]])
def test_unknown_command(arguments, capsys):
    assert manage.main(arguments) == 1
    assert "invalid choice" in capsys.readouterr().err


def test_version_is_that_of_the_package(capsys):
    assert manage.main(["--version"]) == 0
    assert capsys.readouterr().out.strip()


@pytest.mark.parametrize("main", [manage.main, status.main])
def test_missing_connection_is_reported(main, capsys):
    command = ("db", "sync") if main is manage.main else ("upgrade", "check")
    assert main(command) == (1 if main is manage.main else 255)
    assert "Set [placement_database]connection" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [[], ["upgrade"], ["downgrade", "check"]])
def test_status_requires_upgrade_check(arguments):
    assert status.main(arguments) == status.CANNOT_CHECK


@pytest.mark.parametrize("main", [manage.main, status.main])
def test_help_names_no_option_that_fails(main, capsys):
    assert main(["--help"]) == 0
    assert "--shell_completion" not in capsys.readouterr().out
