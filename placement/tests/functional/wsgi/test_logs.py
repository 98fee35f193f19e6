"""The log goes where the options of oslo.log say: to a syslog and a journal of the test's own.

Their sockets have fixed names, so the process under test sees folders of its own in their places.
"""

import json
import os
import re
import subprocess
import sys

import pytest

from placement.tests.support.processes import skip_untested
from placement.tests.support.waiting import SECONDS_OF_COMMANDS

pytestmark = pytest.mark.long

IN_A_MACHINE_OF_ITS_OWN = """
mount --make-rprivate /
mount -t tmpfs tmpfs /run
mkdir -p /run/systemd/journal /run/dev
mount --rbind /dev /run/dev
mount -t tmpfs tmpfs /dev
ln -s /run/dev/null /run/dev/random /run/dev/urandom /run/dev/shm /dev
exec "$@"
"""

# Serves one request, with a receiver at the other end of the log socket.
SERVE = """
import json, socket, sys, threading
messages = []
end = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
end.bind(sys.argv[1])

def listen():
    while messages[-1:] != [b"end"]:
        messages.append(end.recv(1 << 20))

listener = threading.Thread(target=listen)
listener.start()
from placement.wsgi.api import application
environ = {
    "REQUEST_METHOD": "GET", "SCRIPT_NAME": "", "PATH_INFO": "/resource_providers",
    "SERVER_NAME": "here", "SERVER_PORT": "80", "wsgi.url_scheme": "http",
    "HTTP_X_AUTH_TOKEN": "admin:demo", "REMOTE_ADDR": "192.0.2.1",
}
application(environ, lambda status, headers, error=None: None).close()
socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b"end", sys.argv[1])
listener.join()
print(json.dumps([message.decode() for message in messages[:-1]]))
"""


@pytest.fixture
def logged(tmp_path):
    """Return a function that returns the last messages of a process to a socket.

    That is the line about the one request that it serves.
    """
    try:
        subprocess.run(["unshare", "--mount", "true"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("NOT TESTED: this user may not give a process folders of its own")
    script = tmp_path / "serve"
    script.write_text(SERVE)

    def run(socket, options, **environment):
        (tmp_path / "placement.conf").write_text(
            f"[DEFAULT]\nlog_file = {tmp_path}/log\n{options}\n"
            "[api]\nauth_strategy = noauth2\n"
            f"[placement_database]\nconnection = sqlite:///{tmp_path}/placement.sqlite\n"
            "sync_on_startup = true\n"
        )
        apart = ["unshare", "--mount", "sh", "-euc", IN_A_MACHINE_OF_ITS_OWN, "sh"]
        result = subprocess.run(
            [*apart, sys.executable, "-W", "ignore", str(script), socket],
            env=os.environ | {"OS_PLACEMENT_CONFIG_DIR": str(tmp_path)} | environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=SECONDS_OF_COMMANDS,
        )
        assert (result.returncode, result.stderr) == (0, "")
        return json.loads(result.stdout)[-1]

    return run


def test_syslog_gets_lines_of_the_facility_with_their_severity(logged):
    options = "use_syslog = true\nsyslog_log_facility = LOG_LOCAL3"
    line = logged("/dev/log", options)
    local3, informational = 19, 6
    assert re.match(rf"<{local3 * 8 + informational}>\w+ +\d+ [\d:]+ serve: ", line)
    assert re.search(r'\[None req-\S+ admin demo .*\] 192.0.2.1 "GET /resource_providers"', line)


def test_json_log_has_context_without_token(logged):
    line = logged("/dev/log", "use_syslog = true\nuse_json = true")
    document = json.loads(line.partition(": ")[2])
    assert document["name"] == "placement.requestlog"
    assert '"GET /resource_providers" status: 200' in document["message"]
    context = document["context"]
    assert context["request_id"].startswith("req-")
    assert (context["user"], context["project_id"]) == ("admin", "demo")
    assert "admin:demo" not in line


@pytest.fixture
def bindings(tmp_path):
    """A folder with nothing but systemd's bindings, which are Debian's, and of its Python."""
    folder = tmp_path / "bindings"
    folder.mkdir()
    (folder / "systemd").symlink_to("/usr/lib/python3/dist-packages/systemd")
    imported = [sys.executable, "-c", "import systemd.journal"]
    environment = os.environ | {"PYTHONPATH": str(folder)}
    result = subprocess.run(imported, env=environment, capture_output=True, check=False)
    if result.returncode:
        skip_untested("bindings for systemd of this Python: apt-get install python3-systemd")
    return folder


def test_the_journal_gets_lines_with_fields_to_look_for(logged, bindings):
    options = "use_journal = true"
    entry = logged("/run/systemd/journal/socket", options, PYTHONPATH=str(bindings))
    fields = dict(line.split("=", 1) for line in entry.splitlines())
    assert '"GET /resource_providers" status: 200' in fields["MESSAGE"]
    assert fields["LOGGER_NAME"] == "placement.requestlog"
    assert fields["PRIORITY"] == "6"
    assert fields["SYSLOG_IDENTIFIER"] == "serve"
    assert fields["REQUEST_ID"].startswith("req-")
    assert fields["PROJECT_ID"] == "demo"
