"""Output that cannot be written, of commands as processes: no traceback, and no success.

What depends on the start or the end of the interpreter has a new one for each command.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from placement import terminal
from placement.cmd import errors
from placement.db.settings import DatabaseSettings
from placement.db.store import Store
from placement.terminal import CLOSED
from placement.tests.support.factories import new_provider
from placement.tests.support.processes import ApiProcess, read_terminal
from placement_insight.tests.support.openstack_client import Client

FOLDER = Path(sys.executable).parent
AUDIT = ("placement-manage", "audit")


@pytest.fixture
def backend():
    return "sqlite"


@pytest.fixture
def environ(database_url):
    """The environment of an operator, with a database that has two providers for one host."""
    store = Store(DatabaseSettings(connection=database_url))
    new_provider(store, "höst")
    new_provider(store, "höst.example.org")
    store.dispose()
    others = {name: text for name, text in os.environ.items() if not name.startswith("OS_")}
    others.pop("PYTHONUNBUFFERED", None)  # the output of operators is buffered
    return others | {"OS_PLACEMENT_DATABASE__CONNECTION": database_url, "PYTHONWARNINGS": "ignore"}


def run(environ, *command, stdout=subprocess.PIPE):
    program, *arguments = command
    if program == "openstack":  # a variable that begins with OS_ would define a cloud
        environ = {name: text for name, text in environ.items() if not name.startswith("OS_")}
    return subprocess.run(
        [sys.executable, FOLDER / program, *arguments],
        env=environ,
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
        timeout=120,
    )


@pytest.fixture
def closed_pipe():
    reader, writer = os.pipe()
    os.close(reader)
    yield writer
    os.close(writer)


@pytest.mark.long
@pytest.mark.parametrize("command", [AUDIT, ("placement-status", "--help")])
def test_a_reader_that_ends_early_is_no_error(environ, closed_pipe, command):
    """As in ``placement-manage audit | head -1``."""
    result = run(environ, *command, stdout=closed_pipe)
    assert (result.returncode, result.stderr) == (CLOSED, "")


@pytest.mark.long
@pytest.mark.parametrize("command", [AUDIT, ("placement-compare", "--help")])
def test_a_full_disk_is_a_sentence(environ, command):
    with Path("/dev/full").open("wb") as full:
        result = run(environ, *command, stdout=full)
    assert result.returncode == 1
    assert "No space left on device" in result.stderr
    assert result.stderr.startswith(f"{command[0]}: ")
    assert result.stderr.count("\n") == 1


@pytest.mark.long
def test_characters_that_the_encoding_does_not_have_are_escaped(environ):
    result = run(environ | {"PYTHONIOENCODING": "ascii"}, *AUDIT)
    assert (result.returncode, result.stderr) == (0, "")
    assert r"h\xf6st" in result.stdout


def test_an_error_is_reported_although_the_output_is_full(monkeypatch, capfd):
    """What was printed before the error is lost; the interpreter does not report that again."""
    with Path("/dev/full").open("w") as full:
        monkeypatch.setattr(sys, "stdout", full)

        def fail():
            print("half of a table")
            raise errors.CommandError("The database is on fire.")

        assert errors.run("placement-manage", fail) == 1
        terminal.discard_unwritten()
    assert capfd.readouterr().err == "placement-manage: The database is on fire.\n"


@pytest.mark.long
def test_a_command_of_openstack_whose_reader_ends_early(environ, closed_pipe, api_url):
    result = run(environ, *openstack(api_url, "resource", "provider", "tree"), stdout=closed_pipe)
    assert (result.returncode, result.stderr) == (CLOSED, "")


@pytest.mark.long
def test_a_command_of_openstack_on_a_full_disk(environ, api_url):
    with Path("/dev/full").open("wb") as full:
        result = run(environ, *openstack(api_url, "resource", "provider", "tree"), stdout=full)
    assert result.returncode == 1
    assert "No space left on device" in result.stderr
    assert result.stderr.count("\n") == 1


def test_a_command_of_openstack_that_does_not_reach_the_service():
    result = Client("http://127.0.0.1:1").run("resource provider tree")
    assert result.returncode == 1
    assert "Unable to establish connection to http://127.0.0.1:1/" in result.stderr
    assert "Check that the service runs and" in result.stderr
    assert "the endpoint has the right path: --os-endpoint, or the catalog." in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.long
def test_findings_fit_the_terminal_and_their_commands_are_whole(environ, database_url):
    store = Store(DatabaseSettings(connection=database_url))
    new_provider(store, "höst.a-long-domain.example.org")
    store.dispose()
    terminal_of_operator, output = os.openpty()
    code = ("--code", "similar_names")
    run(environ | {"COLUMNS": "35"}, "placement-manage", "audit", *code, stdout=output)
    os.close(output)
    lines = read_terminal(terminal_of_operator).decode().splitlines()
    os.close(terminal_of_operator)
    assert "  command: openstack placement identity 'höst'" in lines
    assert "  repair: keep one, and move the" in lines
    assert "    allocations of the others to it" in lines
    terminal_of_operator, output = os.openpty()
    run(environ | {"COLUMNS": "80"}, "placement-manage", "audit", stdout=output)
    os.close(output)
    overview = read_terminal(terminal_of_operator).decode().splitlines()
    os.close(terminal_of_operator)
    assert "1 notice similar_names" in overview
    assert "  next: openstack placement identity 'höst'" in overview
    assert max(map(len, overview)) <= 80


@pytest.mark.parametrize(
    ("code", "command"),
    [
        (1, "placement-manage identity"),
        (1, "placement-manage identity cn1 --nonsense"),
        (1, "placement-manage nonsense"),
        (1, "placement-manage --nonsense db sync"),
        (255, "placement-status upgrade check --nonsense"),  # 1 and 2 are results of the checks
        (255, "placement-status"),
        (1, "placement-api --port nonsense"),
        (1, "placement-compare"),
        (1, "openstack resource provider tree --nonsense"),
        (1, "openstack placement identity"),
    ],
)
def test_wrong_arguments_end_all_commands_alike(run_command, code, command):
    program, _, arguments = command.partition(" ")
    if program == "openstack":
        result = Client("http://127.0.0.1:1").run(arguments)
    else:
        result = run_command(program, *arguments.split())
    assert (result.returncode, result.stdout) == (code, "")
    assert "error: " in result.stderr
    assert "Traceback" not in result.stderr


def openstack(url, *command):
    return "openstack", "--os-endpoint", url, "--os-token", "admin", *command


@pytest.fixture
def api_url(tmp_path):
    with ApiProcess(tmp_path, "--development", "--port", "0") as service:
        service.get()
        yield service.url
