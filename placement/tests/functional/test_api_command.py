import importlib.util
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

COMMAND = [sys.executable, "-W", "ignore", "-m", "placement.cmd.api"]
SECONDS_TO_START = 60


class Service:
    """The command in a process of its own, and what it printed."""

    def __init__(self, folder, *arguments, **environment):
        self.output = Path(folder) / "output"
        environ = {name: text for name, text in os.environ.items() if not name.startswith("OS_")}
        with self.output.open("w") as output:
            self.process = subprocess.Popen(
                [*COMMAND, *arguments],
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=folder,
                env=environ | environment,
            )

    def __enter__(self):
        return self

    def __exit__(self, *error):
        if self.process.poll() is None:
            self.process.terminate()
        self.process.wait(30)

    @property
    def url(self):
        deadline = time.monotonic() + SECONDS_TO_START
        while time.monotonic() < deadline and self.process.poll() is None:
            found = re.search(
                r"^Placement listens on (\S+)$", self.output.read_text(), re.MULTILINE
            )
            if found:
                return found[1]
            time.sleep(0.05)
        raise AssertionError(self.output.read_text())

    def get(self, path="/", **headers):
        request = urllib.request.Request(self.url + path, headers=headers)
        for _ in range(100):
            try:
                with urllib.request.urlopen(request, timeout=10) as answer:
                    return answer.status, answer.read()
            except urllib.error.HTTPError as error:
                return error.code, error.read()
            except OSError:
                time.sleep(0.1)
        raise AssertionError(self.output.read_text())

    def children(self):
        pid = self.process.pid
        listed = Path(f"/proc/{pid}/task/{pid}/children").read_text()
        return {int(child) for child in listed.split()}


def refused(folder, *arguments, **environment):
    """Return what the command said when it did not start."""
    with Service(folder, *arguments, **environment) as service:
        assert service.process.wait(SECONDS_TO_START) == 1
        return service.output.read_text()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_in_development_it_needs_nothing_and_ends_cleanly(tmp_path, number):
    with Service(tmp_path, "--development", "--port", "0") as service:
        assert service.get("/resource_classes", **{"X-Auth-Token": "admin"})[0] == 404
        headers = {"X-Auth-Token": "admin", "OpenStack-API-Version": "placement latest"}
        assert service.get("/allocation_candidates?resources=VCPU:1", **headers)[0] == 200
        assert service.get("/resource_providers")[0] == 401
        service.process.send_signal(number)
        assert service.process.wait(30) == 0
    output = service.output.read_text()
    assert f"The database is sqlite:///{tmp_path}/.serve/placement.sqlite" in output
    assert re.match(r"Placement listens on .*\nThe database is .*\nTry: curl .*\n", output)


def test_a_slash_that_is_encoded_is_a_slash(tmp_path):
    with Service(tmp_path, "--development", "--port", "0") as service:
        status, body = service.get("/resource_providers/a%2Fb", **{"X-Auth-Token": "admin"})
        assert (status, b"The resource could not be found" in body) == (404, True)


def test_workers_share_the_port_and_are_replaced(tmp_path):
    with Service(tmp_path, "--development", "--port", "0", "--workers", "2") as service:
        service.get()
        first = service.children()
        assert len(first) == 2
        os.kill(min(first), signal.SIGKILL)
        deadline = time.monotonic() + 20
        while len(service.children() - first) != 1:
            assert time.monotonic() < deadline
            time.sleep(0.1)
        assert {service.get()[0] for _ in range(20)} == {200}
        service.process.terminate()
        assert service.process.wait(30) == 0
        assert not any(Path(f"/proc/{pid}").exists() for pid in first)


def test_a_request_of_pieces_is_served_and_ends_its_connection(tmp_path):
    with Service(tmp_path, "--development", "--port", "0") as service:
        service.get()
        host, port = service.url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=10) as connection:
            connection.sendall(
                b"GET /nowhere HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
                b"4\r\npony\r\n0\r\n\r\n"
            )
            answer = b""
            while piece := connection.recv(65536):
                answer += piece
    assert answer.startswith(b"HTTP/1.1 401 ")
    assert answer.count(b"HTTP/1.1") == 1


def test_it_serves_what_the_configuration_says(tmp_path):
    (tmp_path / "placement.conf").write_text(
        "[placement_database]\n"
        f"connection = sqlite:///{tmp_path}/mine.sqlite\n"
        "sync_on_startup = true\n"
        "[api]\nauth_strategy = noauth2\n"
        "[unknown_group]\nunknown = 1\n"
    )
    with Service(tmp_path, "--port", "0", OS_PLACEMENT_CONFIG_DIR=str(tmp_path)) as service:
        assert service.get()[0] == 200
        assert (tmp_path / "mine.sqlite").exists()


@pytest.fixture
def parts(tmp_path):
    """Return a function that writes a file of options, and returns its path."""

    def write(name, text):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        return str(path)

    return write


def database(path):
    return f"[placement_database]\nconnection = sqlite:///{path}\nsync_on_startup = true\n"


def test_files_and_folders_of_the_command_line_are_read_in_their_order(tmp_path, parts):
    first = parts("first.conf", database(tmp_path / "first.sqlite"))
    second = parts("second.conf", database(tmp_path / "second.sqlite"))
    parts("parts/20.conf", database(tmp_path / "third.sqlite"))
    parts("parts/10.conf", database(tmp_path / "tenth.sqlite"))
    named = ["--config-file", first, "--config-dir", str(tmp_path / "parts")]
    for arguments, used in (
        (named, "third"),
        ([*named, "--config-file", second], "second"),
        ([f"--config-file={second}", f"--config-file={first}"], "first"),
    ):
        with Service(tmp_path, "--port", "0", *arguments) as service:
            assert service.get()[0] == 200
        assert f"/{used}.sqlite\n" in service.output.read_text()


def test_a_file_of_the_command_line_is_read_in_place_of_that_of_the_environment(tmp_path, parts):
    parts("placement.conf", database(tmp_path / "usual.sqlite"))
    mine = parts("mine.conf", database(tmp_path / "mine.sqlite"))
    arguments = ["--port", "0", "--config-file", mine]
    with Service(tmp_path, *arguments, OS_PLACEMENT_CONFIG_DIR=str(tmp_path)) as service:
        assert service.get()[0] == 200
    assert "/mine.sqlite\n" in service.output.read_text()
    connection = f"sqlite:///{tmp_path}/wins.sqlite"
    environment = {"OS_PLACEMENT_DATABASE__CONNECTION": connection}
    with Service(tmp_path, *arguments, **environment) as service:
        assert service.get()[0] == 200
    assert "/wins.sqlite\n" in service.output.read_text()


def test_development_takes_nothing_but_what_the_command_line_names(tmp_path, parts):
    parts(".placement/placement.conf", "[")
    parts(".placement.conf.d/mine.conf", "[")
    parts("placement.conf.d/mine.conf", "[")
    mine = parts("mine.conf", f"[DEFAULT]\nlog_file = {tmp_path}/log\ndebug = true\n")
    arguments = ["--port", "0", "--development", "--config-file", mine]
    with Service(tmp_path, *arguments, HOME=str(tmp_path)) as service:
        assert service.get()[0] == 200
    assert "DEBUG" in (tmp_path / "log").read_text()


@pytest.mark.parametrize("option", ["--config-file", "--config-dir"])
def test_what_the_command_line_names_must_be_there(tmp_path, option):
    said = refused(tmp_path, "--port", "0", option, str(tmp_path / "nowhere"))
    assert str(tmp_path / "nowhere") in said


def test_without_a_database_it_says_what_to_set(tmp_path):
    (tmp_path / "placement.conf").write_text("")
    said = refused(tmp_path, "--port", "0", OS_PLACEMENT_CONFIG_DIR=str(tmp_path))
    assert "Set [placement_database]connection in placement.conf" in said


def test_a_configuration_that_is_not_there_is_named(tmp_path):
    said = refused(tmp_path, "--port", "0", OS_PLACEMENT_CONFIG_DIR=str(tmp_path / "nowhere"))
    assert str(tmp_path / "nowhere" / "placement.conf") in said


def test_a_schema_that_is_not_made_is_told(tmp_path):
    connection = f"sqlite:///{tmp_path}/empty.sqlite"
    said = refused(tmp_path, "--port", "0", OS_PLACEMENT_DATABASE__CONNECTION=connection)
    assert "placement-manage db sync" in said


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ("[api]\nauth_strategy = none", "auth_strategy"),
        ("[metrics]\nenabled = true", "folder in group [metrics]"),
        ("[DEFAULT]\nuse_journal = true", "Systemd bindings do not exist"),
        ("[placement_database]\nconnection = nonsense", "URL"),
        ("[placement_database]\nconnection = nonsense://", "nonsense"),
        ("[placement_database]\nconnection = sqlite://\nsync_on_startup = false", "db sync"),
    ],
)
def test_what_cannot_be_started_from_is_told_in_a_sentence(tmp_path, parts, options, reason):
    if "journal" in options and importlib.util.find_spec("systemd") is not None:
        pytest.skip("the bindings are there")
    file = parts("mine.conf", f"{options}\n")
    said = refused(tmp_path, "--development", "--port", "0", "--config-file", file)
    assert reason in said.splitlines()[-1]
    assert said.splitlines()[-1].startswith("placement-api: ")
    assert "Traceback" not in said


def test_a_port_that_there_is_not_is_refused(tmp_path):
    with Service(tmp_path, "--development", "--port", "70000") as service:
        assert service.process.wait(SECONDS_TO_START) == 2


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_tokens_of_a_network_are_not_believed(tmp_path, host):
    said = refused(tmp_path, "--development", "--port", "0", "--host", host)
    assert "--allow-noauth2-on-network" in said


def test_unless_that_is_asked_for(tmp_path):
    arguments = ["--development", "--port", "0", "--host", "0.0.0.0", "--allow-noauth2-on-network"]
    with Service(tmp_path, *arguments) as service:
        assert service.get()[0] == 200


def test_a_port_that_is_taken_is_told(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        assert "Address already in use" in refused(tmp_path, "--development", "--port", str(port))


def test_the_installed_command_is_a_wsgi_file_too(tmp_path):
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
        "OS_DEFAULT__LOG_FILE": str(tmp_path / "log"),
    }
    interpreter = [sys.executable, "-W", "ignore", "-c", code]
    environ = os.environ | environment
    done = subprocess.run(interpreter, capture_output=True, env=environ, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


@pytest.mark.parametrize("workers", ["1", "2"])
def test_options_that_may_change_are_read_again_on_sighup(tmp_path, workers):
    file, log = tmp_path / "placement.conf", tmp_path / "log"
    text = (
        f"[DEFAULT]\nlog_file = {log}\ndebug = %s\n"
        f"[placement_database]\nconnection = sqlite:///{tmp_path}/mine.sqlite\n"
        "sync_on_startup = true\n"
    )
    file.write_text(text % "false")
    arguments = ["--port", "0", "--workers", workers]
    with Service(tmp_path, *arguments, OS_PLACEMENT_CONFIG_DIR=str(tmp_path)) as service:
        service.get()
        assert "Starting request" not in log.read_text()
        file.write_text("[")
        service.process.send_signal(signal.SIGHUP)
        service.get()
        file.write_text(text % "true")
        service.process.send_signal(signal.SIGHUP)
        deadline = time.monotonic() + 20
        while "Starting request" not in log.read_text():
            assert time.monotonic() < deadline
            assert service.get()[0] == 200
            time.sleep(0.05)
        service.process.terminate()
        assert service.process.wait(30) == 0
