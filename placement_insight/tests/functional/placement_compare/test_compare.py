"""``placement-compare`` with real services: this one twice, and openstack-placement."""

import gzip
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from contextlib import ExitStack, closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import pytest
import requests

from bench.__main__ import QUICK, started
from bench.harness import PLACEMENT, UPSTREAM
from bench.services import UPSTREAM_PACKAGES, install_upstream
from bench.worlds import gpu
from placement.tests.support.processes import BIN, ApiProcess, read_terminal
from placement.tests.support.waiting import wait_until
from placement_compare import command as compare
from placement_compare.client import Service
from placement_compare.requests import derived_reads

HEADERS = {
    "X-Auth-Token": "admin",
    "X-Roles": "admin,service",
    "OpenStack-API-Version": "placement latest",
}
HOSTS = [f"6f8a2c14-3d0b-4b5e-9a57-1c2f8e7d9b0{n}" for n in range(3)]
SERVER = "a7c1f9e2-5b34-4c68-9d0e-2f4b6a8c0d11"
RACK = "b7c1f9e2-5b34-4c68-9d0e-2f4b6a8c0d22"
pytestmark = [pytest.mark.long, pytest.mark.xdist_group("compare")]  # the tests share two services
ROOT = Path(__file__).parents[4]
# `make test-long` and `make bench` install openstack-placement there
INSTALLED = [ROOT / ".keystone", ROOT / ".bench" / "openstack-placement"]


def send(url, method, path, body=None):
    response = requests.request(method, url + path, json=body, headers=HEADERS, timeout=60)
    assert response.ok, response.text
    return response


def fill(url):
    """Create three hosts and a server."""
    for number, uuid in enumerate(HOSTS):
        send(url, "POST", "/resource_providers", {"name": f"host{number}", "uuid": uuid})
        provider = f"/resource_providers/{uuid}"
        inventories = {"VCPU": {"total": 8}, "MEMORY_MB": {"total": 8192, "step_size": 64}}
        body = {"resource_provider_generation": 0, "inventories": inventories}
        send(url, "PUT", f"{provider}/inventories", body)
        body = {"resource_provider_generation": 1, "traits": ["HW_CPU_X86_AVX2", "COMPUTE_NODE"]}
        send(url, "PUT", f"{provider}/traits", body)
        body = {"resource_provider_generation": 2, "aggregates": [RACK]}
        send(url, "PUT", f"{provider}/aggregates", body)
    body = {
        "allocations": {HOSTS[0]: {"resources": {"VCPU": 2, "MEMORY_MB": 1024}}},
        "consumer_generation": None,
        "consumer_type": "INSTANCE",
        "project_id": "demo",
        "user_id": "user",
    }
    send(url, "PUT", f"/allocations/{SERVER}", body)


DEVELOPMENT = ("--development", "--port", "0")


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    """A folder of a service with three hosts and a server."""
    folder = tmp_path_factory.mktemp("filled")
    with ApiProcess(folder, *DEVELOPMENT) as service:
        fill(service.url)
    return folder


@contextmanager
def serving(filled, folders):
    """Yield the URLs of services over copies of one database."""
    with ExitStack() as stack:
        for folder in folders:
            shutil.copytree(filled / ".serve", folder / ".serve")
        processes = [stack.enter_context(ApiProcess(folder, *DEVELOPMENT)) for folder in folders]
        for service in processes:
            service.get()
        yield [service.url for service in processes]


@pytest.fixture(scope="module")
def services(filled, tmp_path_factory):
    """Two services over copies of one database, for tests that only read."""
    with serving(filled, [tmp_path_factory.mktemp(name) for name in ("old", "new")]) as urls:
        yield urls


@pytest.fixture
def services_to_change(filled, tmp_path):
    """Two services over copies of one database, for one test."""
    folders = [tmp_path / name for name in ("old", "new")]
    with serving(filled, folders) as urls:
        yield urls


def compared(urls, capsys, *arguments):
    """Run the command; return its exit code and the report."""
    capsys.readouterr()
    code = compare.main(
        ["--old", urls[0], "--new", urls[1], "--token", "admin", "--json", *arguments]
    )
    output = capsys.readouterr()
    return code, json.loads(output.out) if output.out else output.err


def places(document):
    return {(group["kind"], group["route"], group["where"]) for group in document["differences"]}


def test_copies_of_one_database_are_equal(services, capsys):
    code, document = compared(services, capsys)
    assert places(document) == set()
    assert code == compare.EQUAL
    assert document["equal"] == document["requests"] > 80
    routes = {latency["route"] for latency in document["latencies"]}
    assert routes >= {"/allocation_candidates", "/allocations/{uuid}", "/usages", "/traits"}


def test_each_derived_request_is_valid(services):
    with closing(Service(services[0], "admin")) as service:
        newest = service.newest()
        reads = derived_reads(service, newest, 100, 0)
        failed = [read for read in reads if service.get(read).status not in {200, 204}]
    assert failed == []
    candidates = [read for read in reads if read.is_candidates]
    assert len(candidates) > 30
    assert {read.microversion for read in candidates} > {(1, 10), (1, 28), (1, 39)}


def test_equal_arguments_derive_equal_requests(services):
    with closing(Service(services[0], "admin")) as service:
        reads = [derived_reads(service, (1, 39), 2, seed) for seed in (1, 1, 2, 3, 4)]
    assert reads[0] == reads[1]
    assert any(reads[0] != other for other in reads[2:])


def test_a_different_database_is_reported_by_kind(services_to_change, capsys):
    services = services_to_change
    new = services[1]
    body = {"total": 4, "resource_provider_generation": 3}
    send(new, "PUT", f"/resource_providers/{HOSTS[1]}/inventories/VCPU", body)
    send(new, "DELETE", f"/allocations/{SERVER}")
    send(new, "DELETE", f"/resource_providers/{HOSTS[2]}")
    code, document = compared(services, capsys)
    assert code == compare.DIFFERENT
    assert places(document) >= {
        ("status", "/resource_providers/{uuid}", "200 and 404"),
        ("body", "/resource_providers/{uuid}/inventories", "inventories.*.total"),
        ("body", "/resource_providers/{uuid}/usages", "usages.*"),
        ("body", "/allocations/{uuid}", "allocations.*"),
        ("candidates", "/allocation_candidates", "only old"),
        ("body", "/resource_providers", "resource_providers.*"),
    }
    for group in document["differences"]:
        assert services[0] in group["old_curl"]
        assert services[1] in group["new_curl"]


def test_requests_of_a_log_are_replayed_at_their_microversions(services, capsys, tmp_path):
    log = tmp_path / "placement-api.log"
    log.write_text(
        '127.0.0.1 "GET /placement/allocation_candidates?resources=VCPU:1&limit=1" '
        "status: 200 len: 9 microversion: 1.28\n"
        * 2
        + '127.0.0.1 "PUT /placement/allocations/x" status: 204 len: 0 microversion: 1.28\n'
        + '127.0.0.1 - - [1/Jan/2026:00:00:00 +0000] "GET /placement/traits HTTP/1.1" 200 9\n'
    )
    state = tmp_path / "state"
    code, _ = compared(services, capsys, "--sample", "0", "--log", str(log), "--state", str(state))
    assert code == compare.EQUAL
    reads = [json.loads(line).get("read") for line in state.read_text().splitlines()]
    logged = {"path": "/allocation_candidates?resources=VCPU:1&limit=1", "microversion": [1, 28]}
    assert reads.count(logged) == 1
    assert {"path": "/traits", "microversion": [1, 39]} in reads


def test_control_characters_of_a_log_do_not_reach_the_terminal(services, capsys, tmp_path):
    log = tmp_path / "access.log"
    log.write_text('"GET /placement/resource_providers/x\x1b]0;owned\x07 HTTP/1.1" 404 9\n')
    capsys.readouterr()
    urls = ["--old", services[0], "--new", services[1], "--token", "admin", "--sample", "0"]
    assert compare.main([*urls, "--log", str(log)]) == compare.EQUAL
    output = capsys.readouterr().out
    assert "\\x1b]0;owned" in output
    assert all(line.isprintable() for line in output.splitlines())


def test_a_comparison_is_resumed(services, capsys, tmp_path):
    state = tmp_path / "state"
    _, whole = compared(services, capsys, "--state", str(state))
    lines = state.read_text().splitlines(keepends=True)
    state.write_text("".join(lines[:20]) + lines[20][:30])
    _, resumed = compared(services, capsys, "--state", str(state))
    assert resumed["requests"] == whole["requests"]
    assert state.read_text().startswith("".join(lines[:20]))


def test_services_that_cannot_be_compared_are_named(services, capsys):
    code, text = compared([services[0], "http://127.0.0.1:9"], capsys)
    assert (code, "http://127.0.0.1:9/ failed" in text) == (compare.FAILED, True)
    assert text.endswith("name the CA certificates of an HTTPS service by --cacert\n")
    code, text = compared(services, capsys, "--token", "user-without-roles")
    assert (code, "use a token with the role admin" in text) == (compare.FAILED, True)
    assert " returned 403: Access was denied to this resource; use a token" in text
    code, text = compared(["nonsense", services[1]], capsys)
    assert (code, "nonsense is not a URL" in text) == (compare.FAILED, True)
    code, text = compared(services, capsys, "--log", "/no/such/file")
    assert (code, "/no/such/file" in text) == (compare.FAILED, True)


def test_an_interrupted_comparison_prints_what_it_has(services, capsys, monkeypatch):
    def interrupted(old, new, reads):
        yield from original(old, new, reads[:3])
        raise KeyboardInterrupt

    original = compare.compare
    monkeypatch.setattr(compare, "compare", interrupted)
    code, document = compared(services, capsys)
    assert (code, document["requests"]) == (compare.INTERRUPTED, 3)


class Recorder(BaseHTTPRequestHandler):
    """Passes each request on to a service, and keeps its method.

    Beyond the first requests, each one waits for a permission and then for a while.
    """

    target = ""
    unlimited = 0
    delay_seconds = 0.0
    may_continue: ClassVar = threading.Event()
    methods: ClassVar = set()

    def handle_one_request(self):
        self.raw_requestline = self.rfile.readline()
        if not self.raw_requestline or not self.parse_request():
            self.close_connection = True
            return
        self.methods.add(self.command)
        type(self).unlimited -= 1
        if self.unlimited < 0:
            self.may_continue.wait(60)
            time.sleep(self.delay_seconds)
        response = requests.get(self.target + self.path, headers=dict(self.headers), timeout=60)
        self.send_response(response.status_code)
        self.send_header("content-length", str(len(response.content)))
        self.end_headers()
        self.wfile.write(response.content)
        self.close_connection = True

    def log_message(self, *arguments):
        pass


@contextmanager
def recorded(url, unlimited=10**9):
    """Provide the URL of a proxy of a service, which passes on so many requests at once."""
    Recorder.target, Recorder.methods, Recorder.unlimited = url, set(), unlimited
    Recorder.may_continue.clear()
    with ThreadingHTTPServer(("127.0.0.1", 0), Recorder) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def test_only_get_requests_are_sent(services, capsys):
    with recorded(services[0]) as url:
        code, document = compared([url, services[1]], capsys, "--sample", "2")
    assert (code, document["differences"]) == (compare.EQUAL, [])
    assert Recorder.methods == {"GET"}


def on_terminal(*command):
    """Return a process in the foreground of a new terminal, and the terminal."""
    terminal, other_end = os.openpty()
    process = subprocess.Popen(
        ["setsid", "--ctty", "env", "--default-signal=INT", *map(str, command)],
        stdin=other_end,
        stdout=subprocess.PIPE,
        stderr=other_end,
        text=True,
    )
    os.close(other_end)
    return process, terminal


def lines_of(path):
    return path.read_text().splitlines() if path.exists() else []


def test_ctrl_c_ends_a_comparison_which_can_be_resumed(services, tmp_path):
    state = tmp_path / "state"
    Recorder.delay_seconds = 0.05
    with recorded(services[0], unlimited=20) as url:
        arguments = ["--old", url, "--new", services[1], "--token", "admin", "--state", state]
        command = [BIN / "placement-compare", *arguments, "--json"]
        process, terminal = on_terminal(*command)
        wait_until(lambda: len(lines_of(state)) >= 4 or process.poll() is not None)
        os.write(terminal, b"\x03")
        Recorder.may_continue.set()
        document = json.loads(process.communicate(timeout=120)[0])
        shown = read_terminal(terminal).decode()
        os.close(terminal)
        assert process.returncode == compare.INTERRUPTED
        assert "interrupted; the report is incomplete. The same command with --state" in shown
        assert "requests, 0:" in shown
        assert "Traceback" not in shown
        kept = lines_of(state)
        assert 3 <= document["requests"] == len(kept) - 1
        Recorder.delay_seconds = 0.0
        resumed = subprocess.run(command, capture_output=True, text=True, check=True)
    document = json.loads(resumed.stdout)
    assert document["equal"] == document["requests"] > len(kept)
    assert [line for line in lines_of(state) if line][: len(kept)] == kept


def test_wrong_arguments_of_a_comparison(services, capsys, tmp_path):
    for url in ("http://127.0.0.1:port", "http://[::1", "ftp://127.0.0.1", "127.0.0.1:8778"):
        code, text = compared([url, services[1]], capsys)
        assert (code, f"{url} is not a URL" in text) == (compare.FAILED, True)
    code, text = compared(services, capsys, "--token", "admin\n")
    assert (code, "characters that no token has" in text) == (compare.FAILED, True)
    binary = tmp_path / "binary"
    binary.write_bytes(bytes(range(256)))
    for option, path, reason in (
        ("--state", binary, "is not the state of a comparison"),
        ("--state", tmp_path, "Is a directory"),
        ("--state", tmp_path / "nowhere" / "state", "No such file"),
        ("--log", tmp_path, "Is a directory"),
        ("--cacert", tmp_path / "nowhere", "No such file"),
    ):
        code, text = compared(services, capsys, option, str(path))
        assert (code, reason in text) == (compare.FAILED, True), text
    truncated = tmp_path / "log.gz"
    truncated.write_bytes(gzip.compress(b"x" * 1000)[:-9])
    code, text = compared(services, capsys, "--log", str(truncated))
    assert (code, text.count("\n")) == (compare.FAILED, 1)


def test_a_log_with_other_characters_is_replayed(services, capsys, tmp_path):
    log = tmp_path / "log"
    log.write_bytes(b'"GET /traits?name=in:\xff\xc3\xa9\x01 HTTP/1.1" 200 9\n')
    assert compared(services, capsys, "--sample", "0", "--log", str(log))[0] == compare.EQUAL


def upstream_environment():
    return next(filter(has_upstream, INSTALLED), None) or install_upstream(ROOT / ".bench")


def has_upstream(environment):
    return (environment / "bin" / "placement-manage").exists()


@pytest.mark.skipif(
    not any(map(has_upstream, INSTALLED)) and os.environ.get("CI") != "true",
    reason=f"needs {UPSTREAM_PACKAGES[0]}, which make test-long installs",
)
# The harness of the benchmark leaves connections to the garbage collector.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_openstack_placement_gives_equal_responses(tmp_path, capsys):
    environments = {PLACEMENT: Path(sys.prefix), UPSTREAM: upstream_environment()}
    with started("sqlite", environments, tmp_path) as run:
        harness = run.prepare(gpu(5), QUICK)
        urls = [f"http://127.0.0.1:{harness.services[who].port}" for who in (UPSTREAM, PLACEMENT)]
        code, document = compared(urls, capsys, "--sample", "10")
        # openstack-placement logs to standard error, which uWSGI writes to its log.
        log = harness.services[UPSTREAM].folder / "uwsgi.log"
        _, replayed = compared(urls, capsys, "--sample", "0", "--log", str(log))
    assert places(document) == places(replayed) == set()
    assert code == compare.EQUAL
    assert document["requests"] > 100
    assert replayed["requests"] > 100
