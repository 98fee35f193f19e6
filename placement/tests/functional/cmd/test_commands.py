"""The commands report errors that operators can correct: one sentence, and an exit code."""

import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest
import sqlalchemy as sa

from placement.cmd import status
from placement.observability import metrics
from placement.tests.support import servers
from placement.tests.support.processes import BIN, ROOT
from placement.tests.support.waiting import wait_until

NO_FILE = "No database is configured. Set [placement_database]connection in"
MANAGE = ("placement-manage", "db", "version")
SYNC = ("placement-manage", "db", "sync")
MIGRATE = ("placement-manage", "db", "online_data_migrations")
STATUS = ("placement-status", "upgrade", "check")
API = ("placement-api", "--port", "0")
COMMANDS = [MANAGE, SYNC, MIGRATE, STATUS, API]
EXIT_CODES = {"placement-manage": 1, "placement-status": 255, "placement-api": 1}
each_command = pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[-1])
on_sqlite = pytest.mark.parametrize("backend", ["sqlite"])


def connection(url, **variables):
    return {
        "OS_PLACEMENT_DATABASE__CONNECTION": str(url),
        "OS_PLACEMENT_DATABASE__MAX_RETRIES": "0",
        **variables,
    }


def error_of(completed):
    """Return the one sentence of a failed command; check its form and the exit code."""
    program = Path(completed.args[0]).name
    assert completed.returncode == EXIT_CODES[program], (completed.stdout, completed.stderr)
    assert "Traceback" not in completed.stdout + completed.stderr
    (line,) = [line for line in completed.stderr.splitlines() if line.startswith(f"{program}: ")]
    return line.removeprefix(f"{program}: ")


@pytest.mark.skipif(Path("/etc/placement").exists(), reason="this machine has a configuration")
@each_command
def test_missing_configuration(run_command, command):
    error = error_of(run_command(*command))
    assert f"{NO_FILE} /etc/placement/placement.conf" in error
    assert "OS_PLACEMENT_DATABASE__CONNECTION" in error


@each_command
def test_config_dir_without_connection(run_command, command, tmp_path):
    (tmp_path / "placement.conf").write_text("[DEFAULT]\ndebug = false\n")
    error = error_of(run_command(*command, OS_PLACEMENT_CONFIG_DIR=str(tmp_path)))
    assert f"{NO_FILE} {tmp_path}/placement.conf" in error


@each_command
def test_missing_config_file(run_command, command, tmp_path):
    error = error_of(run_command(*command, OS_PLACEMENT_CONFIG_DIR=str(tmp_path / "nowhere")))
    assert f"{tmp_path}/nowhere/placement.conf" in error
    assert "OS_PLACEMENT_CONFIG_DIR" in error


@each_command
def test_invalid_config_file(run_command, command, tmp_path):
    (tmp_path / "placement.conf").write_text("[placement_database\n")
    error = error_of(run_command(*command, OS_PLACEMENT_CONFIG_DIR=str(tmp_path)))
    assert f"{tmp_path}/placement.conf" in error


@each_command
@pytest.mark.parametrize("url", ["nonsense", "nonsense://host/placement"])
def test_invalid_url(run_command, command, url):
    error = error_of(run_command(*command, **connection(url)))
    assert "[placement_database]connection is not a valid URL" in error


@pytest.mark.parametrize("command", [MIGRATE, STATUS], ids=lambda command: command[-1])
def test_database_without_schema(run_command, command, empty_database_url):
    error = error_of(run_command(*command, **connection(empty_database_url)))
    assert "no Placement schema. Run `placement-manage db sync`" in error


@each_command
def test_database_down(run_command, command):
    port = servers.free_port()
    url = f"mysql+pymysql://placement:secret@127.0.0.1:{port}/placement"
    error = error_of(run_command(*command, **connection(url)))
    assert "The database is not available" in error
    assert "127.0.0.1" in error
    assert "secret" not in error


def test_unknown_revision(run_command, tmp_path):
    variables = connection(f"sqlite:///{tmp_path}/p.sqlite")
    error = error_of(run_command("placement-manage", "db", "stamp", "unheard_of", **variables))
    assert "Can't locate revision identified by 'unheard_of'" in error


# --- wrong password --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def postgresql_with_passwords(tmp_path_factory):
    with servers.private("postgresql", durable=False) as server:
        server.execute("ALTER USER placement PASSWORD 'right'")
        rule = "host all all 127.0.0.1/32 scram-sha-256\nlocal all all trust\n"
        (server.folder / "data" / "pg_hba.conf").write_text(rule)
        server.execute("SELECT pg_reload_conf()")
        wait_until(lambda: checks_passwords(server))  # the server reads it after its response
        yield server


def checks_passwords(server):
    try:
        psycopg.connect(
            host="127.0.0.1",
            port=server.port,
            user=servers.USER,
            password="wrong",
            dbname="postgres",
        ).close()
    except psycopg.OperationalError:
        return True
    return False


def wrong_password(backend, request):
    if backend == "mariadb":
        url = request.getfixturevalue("server")("mariadb").tcp_url("mysql")
    else:
        url = request.getfixturevalue("postgresql_with_passwords").tcp_url("postgres")
    url = sa.make_url(url).set(password="wrong")
    return url.render_as_string(hide_password=False)


@pytest.mark.xdist_group("passwords")
@each_command
@pytest.mark.parametrize("backend", ["mariadb", "postgresql"])
def test_wrong_password_is_not_retried(run_command, command, backend, request):
    variables = {"OS_PLACEMENT_DATABASE__MAX_RETRIES": "10"}
    url = wrong_password(backend, request)
    error = error_of(run_command(*command, **connection(url, **variables)))
    assert "The database refuses the login" in error
    assert "Check user and password in [placement_database]connection" in error


# --- starting the API --------------------------------------------------------------------------


@on_sqlite
def test_keystone_without_options(run_command, database_url):
    error = error_of(run_command(*API, **connection(database_url)))
    assert "[keystone_authtoken] has no auth_type" in error


@on_sqlite
def test_port_in_use(run_command, database_url):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        variables = connection(database_url, OS_API__AUTH_STRATEGY="noauth2")
        error = error_of(run_command("placement-api", "--port", str(port), **variables))
    assert f"Cannot listen on 127.0.0.1, port {port}: Address already in use" in error
    assert "--port" in error


@pytest.mark.long
@pytest.mark.parametrize("command", ["placement-manage", "placement-status", "placement-api"])
def test_version(command):
    """In a process of its own: the other tests run the scripts where they are imported already."""
    result = subprocess.run(
        [BIN / command, "--version"], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0
    assert re.search(r"\d+\.\d+", result.stdout)


@pytest.mark.parametrize(
    ("variables", "problem"),
    [
        ({"OS_API__AUTH_STRATEGY": "keystone"}, "[keystone_authtoken] has no auth_type"),
        ({"OS_API__AUTH_STRATEGY": "noauth2"}, None),
    ],
)
@on_sqlite
def test_upgrade_check_covers_authentication(run_command, database_url, variables, problem):
    result = run_command(*STATUS, **connection(database_url, **variables))
    assert result.returncode == (2 if problem else 0)
    words = re.sub(r"[|\s]+", " ", result.stdout)
    assert problem is None or problem in words


@pytest.mark.parametrize(
    ("folder", "problem"),
    [
        ("metrics", None),
        ("", "Set [metrics]folder to a directory"),
        ("placement.conf/metrics", "cannot write to"),
    ],
)
@on_sqlite
def test_upgrade_check_covers_metrics(run_command, database_url, tmp_path, folder, problem):
    (tmp_path / "placement.conf").touch()
    variables = {
        "OS_API__AUTH_STRATEGY": "noauth2",
        "OS_METRICS__ENABLED": "true",
        "OS_METRICS__FOLDER": str(tmp_path / folder) if folder else "",
    }
    result = run_command(*STATUS, **connection(database_url, **variables))
    assert result.returncode == (2 if problem else 0), result.stdout
    assert problem is None or problem in re.sub(r"[|\s]+", " ", result.stdout)
    assert not (tmp_path / "metrics").exists()


@on_sqlite
def test_upgrade_check_fails_without_the_library_of_the_metrics(
    database_url, tmp_path, monkeypatch, capsys
):
    options = {"AUTH_STRATEGY": ("API", "noauth2"), "ENABLED": ("METRICS", "true")}
    monkeypatch.setenv("OS_PLACEMENT_DATABASE__CONNECTION", database_url)
    monkeypatch.setenv("OS_METRICS__FOLDER", str(tmp_path / "metrics"))
    for option, (group, value) in options.items():
        monkeypatch.setenv(f"OS_{group}__{option}", value)
    monkeypatch.setattr(metrics, "find_spec", lambda _: None)
    assert status.main(["upgrade", "check"]) == 2
    words = re.sub(r"[|\s]+", " ", capsys.readouterr().out)
    assert (
        "No module named 'prometheus_client'. Run `pip install 'openplacement[metrics]'`" in words
    )


@on_sqlite
def test_upgrade_check_fails_if_the_schema_is_too_old(run_command, empty_database_url):
    variables = connection(empty_database_url, OS_API__AUTH_STRATEGY="noauth2")
    assert run_command(*SYNC, **variables).returncode == 0
    assert (
        run_command("placement-manage", "db", "stamp", "a082b8bb98d0", **variables).returncode == 0
    )
    result = run_command(*STATUS, **variables)
    assert result.returncode == 2
    assert "The API does not start" in re.sub(r"[|\s]+", " ", result.stdout)
    startup = {"OS_PLACEMENT_DATABASE__SYNC_ON_STARTUP": "true"}
    assert run_command(*STATUS, **variables, **startup).returncode == 0


# --- make ---------------------------------------------------------------------------------------


def test_make_repairs_an_interrupted_environment(tmp_path):
    shutil.copy(ROOT / "Makefile", tmp_path)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / ".venv"], check=True)
    make = ["make", "PYTHON=echo", "environment"]
    result = subprocess.run(make, cwd=tmp_path, check=True, capture_output=True, text=True)
    assert "-m venv --clear .venv" in result.stdout.splitlines()


def planned_by_make(*arguments, folder=ROOT):
    """Return the commands that make would run, without the variables of a make that runs tests."""
    return subprocess.run(
        ["make", "-n", *arguments],
        cwd=folder,
        env={"PATH": os.environ["PATH"]},
        check=True,
        capture_output=True,
        text=True,
    ).stdout


REQUIREMENTS = Path("placement/tests/functional/keystone/requirements.txt")


@pytest.mark.parametrize(
    ("arguments", "installed"),
    [
        (["test"], False),
        (["test-long"], True),
        (["test", "SELECTED="], True),
        (["test-long", "T=placement/tests/unit"], False),
        (["test", "T=placement"], True),
        (["test", "T=placement/tests/unit"], False),
        (["test", "T=placement/tests/unit/parse placement/tests/property"], False),
        (["test", "T=placement/tests/unit placement/tests/functional/keystone"], True),
    ],
)
def test_make_installs_keystone_for_functional_tests(tmp_path, arguments, installed):
    (tmp_path / REQUIREMENTS.parent).mkdir(parents=True)
    for name in ("Makefile", "pyproject.toml", REQUIREMENTS):
        shutil.copy(ROOT / name, tmp_path / name)
    planned = planned_by_make(*arguments, folder=tmp_path)
    assert (".keystone/bin/python -m pip install" in planned) == installed


@pytest.mark.parametrize(
    ("arguments", "selected"),
    [
        (["test"], ["not long"]),
        (["test-long"], ["long"]),
        (["test", "SELECTED="], []),
        (["test", "T=placement"], []),
    ],
)
def test_make_selects_tests_by_their_length(arguments, selected):
    """Each test is run by one of the two; CI runs all at once, and a part is run as a whole."""
    planned = planned_by_make(*arguments)
    (options,) = re.findall("^cd .service/checkout .* -m pytest (.*)", planned, re.MULTILINE)
    words = shlex.split(options)
    assert [words[at + 1] for at, word in enumerate(words) if word == "-m"] == selected


def test_make_serve_takes_a_port():
    assert "placement-api --port 9999" in planned_by_make("serve", "PORT=9999")
