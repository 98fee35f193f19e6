"""The command ``placement-api``."""

import importlib.util
import io
import os
import re
import signal
import socket
import stat
import subprocess
import sys
import time
from contextlib import ExitStack, redirect_stdout
from pathlib import Path

import pytest
import requests

from placement import wsgi
from placement.cmd import api
from placement.tests.support.processes import (
    IS_ROOT,
    LATEST,
    STOP_TIMEOUT_SECONDS,
    ApiProcess,
    InterpretedApiProcess,
)
from placement.tests.support.waiting import at_most, wait_until

NOAUTH2 = "[api]\nauth_strategy = noauth2\n"


@pytest.fixture
def startup_error(run_command):
    """Return a function that returns the output of a command that does not start."""

    def output(*arguments, **variables):
        result = run_command("placement-api", *arguments, **variables)
        assert result.returncode == 1
        return result.stdout + result.stderr

    return output


@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_development_mode_needs_no_configuration(tmp_path, number):
    with InterpretedApiProcess(tmp_path, "--development", "--port", "0") as service:
        assert service.get("/resource_classes", **{"X-Auth-Token": "admin"})[0] == 404
        headers = {"X-Auth-Token": "admin", "OpenStack-API-Version": "placement latest"}
        assert service.get("/allocation_candidates?resources=VCPU:1", **headers)[0] == 200
        assert service.get("/resource_providers")[0] == 401
        service.process.send_signal(number)
        assert service.process.wait(STOP_TIMEOUT_SECONDS) == 0
    output = service.output.read_text()
    assert f"The database is sqlite:///{tmp_path}/.serve/placement.sqlite" in output
    assert re.match(
        r"Placement listens on .*\nThis server is for trials and development; .*\n"
        r"The database is .*\n(The dashboard is at .*\n)?Try: curl .*\n",
        output,
    )


@pytest.mark.skipif(not IS_ROOT, reason="only root can give a file to another user")
@pytest.mark.parametrize("kind", ["link", "directory", "database"])
def test_development_mode_refuses_the_directory_of_another_user(tmp_path, startup_error, kind):
    """It followed a link of another user, and changed the mode of the file behind it."""
    folder, target = tmp_path / "data", tmp_path / "target"
    target.mkdir()
    if kind == "link":
        folder.symlink_to(target)
        os.chown(folder, 65534, 65534, follow_symlinks=False)
    else:
        folder.mkdir()
        database = folder / "placement.sqlite"
        database.touch()
        os.chown(folder if kind == "directory" else database, 65534, 65534)
    output = startup_error("--development", str(folder), "--port", "0")
    assert "belongs to the user with the ID 65534" in output
    assert list(target.iterdir()) == []


def test_development_mode_does_not_follow_a_link_in_place_of_the_database(tmp_path, startup_error):
    folder, target = tmp_path / "data", tmp_path / "target"
    folder.mkdir()
    (folder / "placement.sqlite").symlink_to(target)
    output = startup_error("--development", str(folder), "--port", "0")
    assert "placement.sqlite is a symbolic link" in output
    assert not target.exists()


def test_the_password_in_the_query_of_the_database_is_not_printed(tmp_path):
    url = f"sqlite:///{tmp_path}/x.sqlite?timeout=7&password=s3cret"
    conf = wsgi.read_configuration([], {("placement_database", "connection"): url})
    with redirect_stdout(io.StringIO()) as output:
        api._announce("http://host", conf, is_development=False)
    assert f"The database is sqlite:///{tmp_path}/x.sqlite\n" in output.getvalue()


def test_probes_are_not_logged(tmp_path):
    variables = {
        "OS_PLACEMENT_DATABASE__CONNECTION": f"sqlite:///{tmp_path}/placement.sqlite",
        "OS_PLACEMENT_DATABASE__SYNC_ON_STARTUP": "true",
        "OS_API__AUTH_STRATEGY": "noauth2",
        "OS_HEALTHCHECK__ENABLED": "true",
        "OS_METRICS__ENABLED": "true",
        "OS_METRICS__FOLDER": str(tmp_path / "metrics"),
    }
    with ApiProcess(tmp_path, "--port", "0", **variables) as service:
        for path in ("/healthcheck", "/metrics", "/resource_providers"):
            assert service.get(path, **{"X-Auth-Token": "admin"})[0] == 200
    assert logged_reads(service) == ["/resource_providers"]


def logged_reads(service):
    return sorted(re.findall(r'"GET (\S+)" status', service.output.read_text()))


def test_encoded_slash_separates_segments(tmp_path):
    with ApiProcess(tmp_path, "--development", "--port", "0") as service:
        status, body = service.get("/resource_providers/a%2Fb", **{"X-Auth-Token": "admin"})
        assert (status, b"The resource could not be found" in body) == (404, True)


SLOW = """
import sys, time
from types import SimpleNamespace
from placement import terminal, wsgi

def application(environ, start_response):
    print("received", environ["PATH_INFO"], flush=True)
    time.sleep({"/hang": 600, "/slow": 1}.get(environ["PATH_INFO"], 0))
    parts = [b"x" * 2**20] * 40 if environ["PATH_INFO"] == "/large" else [b"served"]
    start_response("200 OK", [("Content-Length", str(sum(map(len, parts))))])
    return parts

wsgi.load = lambda conf: (application, SimpleNamespace(current=list))
sys.exit(terminal.api())
"""


class SlowProcess(InterpretedApiProcess):
    """The command with an application that responds late, never, or with 40 MB to some paths."""

    command = (sys.executable, "-W", "ignore", "-c", SLOW)

    def connect(self):
        """Return a connection to the server."""
        host, port = self.url.removeprefix("http://").split(":")
        return socket.create_connection((host, int(port)), timeout=60)

    def receives(self, path):
        return f"received {path}\n" in self.output.read_text()


@pytest.fixture
def slow(tmp_path):
    """The command with two threads."""
    arguments = ("--development", "--port", "0", "--threads", "2")
    with SlowProcess(tmp_path, *arguments) as service:
        yield service


def request(path):
    return f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()


WAITING = {
    "idle": request("/"),  # each keeps its connection after the response
    "head": b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Slow: ",
    "body": b"PUT / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nx",
    "unread": request("/large") * 3,
}


@pytest.mark.long
@pytest.mark.parametrize("sent", WAITING.values(), ids=WAITING)
def test_clients_that_wait_occupy_no_thread(slow, sent):
    """A page keeps its connections; the service has two threads for forty clients."""
    with ExitStack() as stack:
        for _ in range(40):
            connection = stack.enter_context(slow.connect())
            connection.sendall(sent)
            if sent.endswith(b"\r\n\r\n"):
                assert connection.recv(12) == b"HTTP/1.1 200"
        with at_most(5):
            assert slow.get()[0] == 200


@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_request_in_progress_is_completed_before_the_end(slow, number):
    with slow.connect() as connection:
        connection.sendall(request("/slow"))
        wait_until(lambda: slow.receives("/slow"))
        slow.process.send_signal(number)
        assert connection.recv(12) == b"HTTP/1.1 200"
    assert slow.process.wait(STOP_TIMEOUT_SECONDS) == 0


@pytest.mark.long
def test_a_request_that_hangs_does_not_prevent_the_end(slow):
    with slow.connect() as connection, at_most(20):
        connection.sendall(request("/hang"))
        wait_until(lambda: slow.receives("/hang"))
        slow.process.terminate()
        assert slow.process.wait(STOP_TIMEOUT_SECONDS) == 0


def test_a_second_signal_ends_the_process_at_once(slow):
    with slow.connect() as connection, at_most(4):
        connection.sendall(request("/hang"))
        wait_until(lambda: slow.receives("/hang"))
        slow.process.send_signal(signal.SIGINT)
        time.sleep(0.5)
        slow.process.send_signal(signal.SIGINT)
        assert slow.process.wait(STOP_TIMEOUT_SECONDS) == 0


@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("delay_seconds", [0.1, 0.3, 0.6, 1, 1.5, 2])
def test_a_signal_during_the_start_ends_the_process_cleanly(tmp_path, number, delay_seconds):
    """While modules are imported, tables are created, or the first requests are accepted."""
    with InterpretedApiProcess(tmp_path, "--development", "--port", "0") as service:
        # Python itself needs a moment to start
        wait_until(lambda: handles(service.process.pid, number), pause_seconds=0.002)
        time.sleep(delay_seconds)
        service.process.send_signal(number)
        assert service.process.wait(STOP_TIMEOUT_SECONDS) == 0
    assert "Traceback" not in service.output.read_text()


def handles(pid, number):
    """Return whether the process has a handler for the signal, other than Python's for Ctrl-C."""
    status = Path(f"/proc/{pid}/status").read_text()
    caught = int(re.search(r"SigCgt:\s+(\w+)", status)[1], 16)
    return caught >> (signal.SIGTERM - 1) & 1


def test_configuration_file_is_read(tmp_path):
    (tmp_path / "placement.conf").write_text(
        "[placement_database]\n"
        f"connection = sqlite:///{tmp_path}/mine.sqlite\n"
        "sync_on_startup = true\n"
        "[api]\nauth_strategy = noauth2\n"
        "[unknown_group]\nunknown = 1\n"
    )
    with ApiProcess(tmp_path, "--port", "0", OS_PLACEMENT_CONFIG_DIR=str(tmp_path)) as service:
        assert service.get()[0] == 200
        assert (tmp_path / "mine.sqlite").exists()


@pytest.fixture
def write_file(tmp_path):
    """Return a function that writes a file of options, and returns its path."""

    def write(name, text):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        return str(path)

    return write


def database(path):
    return (
        f"[placement_database]\nconnection = sqlite:///{path}\nsync_on_startup = true\n{NOAUTH2}"
    )


def test_later_config_file_takes_precedence(tmp_path, write_file):
    first = write_file("first.conf", database(tmp_path / "first.sqlite"))
    second = write_file("second.conf", database(tmp_path / "second.sqlite"))
    write_file("parts/20.conf", database(tmp_path / "third.sqlite"))
    write_file("parts/10.conf", database(tmp_path / "tenth.sqlite"))
    named = ["--config-file", first, "--config-dir", str(tmp_path / "parts")]
    for arguments, used in (
        (named, "third"),
        ([*named, "--config-file", second], "second"),
        ([f"--config-file={second}", f"--config-file={first}"], "first"),
    ):
        with ApiProcess(tmp_path, "--port", "0", *arguments) as service:
            assert service.get()[0] == 200
        assert f"/{used}.sqlite\n" in service.output.read_text()


def test_config_file_of_command_line_replaces_that_of_environment(tmp_path, write_file):
    write_file("placement.conf", database(tmp_path / "usual.sqlite"))
    mine = write_file("mine.conf", database(tmp_path / "mine.sqlite"))
    arguments = ["--port", "0", "--config-file", mine]
    with ApiProcess(tmp_path, *arguments, OS_PLACEMENT_CONFIG_DIR=str(tmp_path)) as service:
        assert service.get()[0] == 200
    assert "/mine.sqlite\n" in service.output.read_text()
    connection = f"sqlite:///{tmp_path}/wins.sqlite"
    environment = {"OS_PLACEMENT_DATABASE__CONNECTION": connection}
    with ApiProcess(tmp_path, *arguments, **environment) as service:
        assert service.get()[0] == 200
    assert "/wins.sqlite\n" in service.output.read_text()


def test_development_mode_ignores_default_locations(tmp_path, write_file):
    write_file(".placement/placement.conf", "[")
    write_file(".placement.conf.d/mine.conf", "[")
    write_file("placement.conf.d/mine.conf", "[")
    mine = write_file("mine.conf", f"[DEFAULT]\nlog_file = {tmp_path}/log\ndebug = true\n")
    arguments = ["--port", "0", "--development", "--config-file", mine]
    with ApiProcess(tmp_path, *arguments, HOME=str(tmp_path)) as service:
        assert service.get()[0] == 200
    assert "DEBUG" in (tmp_path / "log").read_text()


@pytest.mark.parametrize("option", ["--config-file", "--config-dir"])
def test_missing_config_file_is_reported(startup_error, tmp_path, option):
    output = startup_error("--port", "0", option, str(tmp_path / "nowhere"))
    assert str(tmp_path / "nowhere") in output


def test_missing_connection_option_is_reported(startup_error, tmp_path):
    (tmp_path / "placement.conf").write_text("")
    output = startup_error("--port", "0", OS_PLACEMENT_CONFIG_DIR=str(tmp_path))
    assert f"Set [placement_database]connection in {tmp_path}/placement.conf" in output


def test_missing_config_dir_is_reported(startup_error, tmp_path):
    output = startup_error("--port", "0", OS_PLACEMENT_CONFIG_DIR=str(tmp_path / "nowhere"))
    assert str(tmp_path / "nowhere" / "placement.conf") in output


def test_missing_schema_is_reported(startup_error, tmp_path):
    connection = f"sqlite:///{tmp_path}/empty.sqlite"
    file = tmp_path / "other.conf"
    file.write_text(f"[placement_database]\nconnection = {connection}\n")
    output = startup_error("--port", "0", "--config-file", str(file))
    assert f"`placement-manage --config-file {file} db sync`" in output


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ("[api]\nauth_strategy = none", "auth_strategy"),
        ("[metrics]\nenabled = true", "Set [metrics]folder to a directory"),
        ("[DEFAULT]\nuse_journal = true", "Systemd bindings do not exist"),
        ("[profiler]\nenabled = true\nconnection_string = nosuch://host", "driver nosuch"),
        ("[placement_database]\nconnection = nonsense", "URL"),
        ("[placement_database]\nconnection = nonsense://", "nonsense"),
        ("[placement_database]\nconnection = sqlite://\nsync_on_startup = false", "db sync"),
    ],
)
def test_startup_error_is_one_sentence(startup_error, write_file, options, reason):
    if "journal" in options and importlib.util.find_spec("systemd") is not None:
        pytest.skip("the bindings are there")
    file = write_file("mine.conf", f"{options}\n")
    output = startup_error("--development", "--port", "0", "--config-file", file)
    assert reason in output.splitlines()[-1]
    assert output.splitlines()[-1].startswith("placement-api: ")
    assert "Traceback" not in output


@pytest.mark.parametrize(
    ("option", "value", "reason"),
    [
        ("--port", "70000", "70000 is not between 0 and 65535"),
        ("--port", "http", "invalid number value: 'http'"),
        ("--threads", "0", "0 is not at least 1"),
    ],
)
def test_invalid_numbers(run_command, option, value, reason):
    result = run_command("placement-api", "--development", option, value)
    assert result.returncode == 1
    assert result.stderr.endswith(f"error: argument {option}: {reason}\n")


def test_an_unknown_option_is_named(run_command):
    result = run_command("placement-api", "--development", "--port", "0", "--treads", "2")
    assert result.returncode == 1
    assert result.stderr.endswith("error: unrecognized arguments: --treads 2\n")


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_noauth2_is_refused_on_network_addresses(startup_error, host):
    output = startup_error("--development", "--port", "0", "--host", host)
    assert "--allow-noauth2-on-network" in output


def test_noauth2_on_network_can_be_allowed(tmp_path):
    arguments = ["--development", "--port", "0", "--host", "0.0.0.0", "--allow-noauth2-on-network"]
    with ApiProcess(tmp_path, *arguments) as service:
        assert service.get()[0] == 200


def test_port_in_use_is_reported(startup_error):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        assert "Address already in use" in startup_error("--development", "--port", str(port))


@pytest.mark.long
def test_installed_command_is_a_wsgi_file(tmp_path):
    """As ``uwsgi --wsgi-file $(which placement-api)`` takes it."""
    command = Path(sys.executable).parent / "placement-api"
    code = (
        "import runpy, sys\n"
        f"application = runpy.run_path({str(command)!r}, run_name='wsgi_file')['application']\n"
        "application({'REQUEST_METHOD': 'GET', 'PATH_INFO': '/'},\n"
        "            lambda status, headers, error=None: sys.exit(status != '200 OK'))\n"
    )
    environment = {
        "OS_PLACEMENT_DATABASE__CONNECTION": f"sqlite:///{tmp_path}/mine.sqlite",
        "OS_PLACEMENT_DATABASE__SYNC_ON_STARTUP": "true",
        "OS_API__AUTH_STRATEGY": "noauth2",
        "OS_DEFAULT__LOG_FILE": str(tmp_path / "log"),
    }
    interpreter = [sys.executable, "-W", "ignore", "-c", code]
    environ = os.environ | environment
    result = subprocess.run(interpreter, capture_output=True, env=environ, check=False)
    assert (result.returncode, result.stdout, result.stderr) == (0, b"", b"")


@pytest.fixture(scope="module")
def development(tmp_path_factory):
    """One service in development mode for several tests."""
    with ApiProcess(tmp_path_factory.mktemp("api"), "--development", "--port", "0") as service:
        yield service


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost", 200),
        ("localhost:8778", 200),
        ("127.0.0.1", 200),
        ("127.0.0.1:1", 200),
        ("[::1]:8778", 200),
        ("attacker.example", 400),
        ("attacker.example:8778", 400),
        ("localhost.attacker.example", 400),
        ("127.0.0.1.attacker.example", 400),
        ("localhost@attacker.example", 400),
        ("192.0.2.1", 400),
        ("", 400),
    ],
)
@pytest.mark.xdist_group("development")
def test_development_mode_accepts_loopback_names_only(development, host, status):
    assert development.get(Host=host)[0] == status


@pytest.mark.xdist_group("development")
def test_refused_requests_are_logged(development):
    assert development.get("/refused", Host="attacker.example")[0] == 400
    wait_until(lambda: '"GET /refused" status: 400 ' in development.output.read_text())


@pytest.mark.long
def test_a_body_above_the_limit_is_413(tmp_path):
    body = {"name": "x" * 1000}
    limit = {"OS_API__MAX_REQUEST_BODY_SIZE": "1024"}
    with ApiProcess(tmp_path, "--development", "--port", "0", **limit) as service:
        url = f"{service.url}/resource_providers"
        for size, status in ((100, 200), (2000, 413)):
            body = {"name": "x" * size}
            response = requests.post(url, json=body, headers=LATEST, timeout=60)
            assert response.status_code == status


def test_development_files_are_private(tmp_path):
    folder, metrics = tmp_path / "data", tmp_path / "metrics"
    variables = {"OS_METRICS__ENABLED": "true", "OS_METRICS__FOLDER": str(metrics)}
    with ApiProcess(tmp_path, "--development", str(folder), "--port", "0", **variables) as api:
        assert api.get("/traits", **{"X-Auth-Token": "admin"})[0] == 404
        private = [folder, metrics, *folder.iterdir()]
        modes = {path.name: stat.filemode(path.stat().st_mode)[4:] for path in private}
    assert set(modes.values()) == {"------"}, modes
    assert "placement.sqlite" in modes


def test_the_address_may_be_of_ipv6(tmp_path):
    with ApiProcess(tmp_path, "--development", "--port", "0", "--host", "::1") as service:
        assert service.url.startswith("http://[::1]:")
        assert service.get()[0] == 200
