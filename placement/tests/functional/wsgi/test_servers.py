"""Deployments under the servers that operators run: start, concurrent claims, stop.

The samples in ``etc`` are used as they are, except for paths and ports.
"""

import http.client
import json
import re
import resource
import shlex
import shutil
import signal
import socket
import struct
import subprocess
import threading
import time
import urllib.request
import uuid
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import psutil
import pytest
import requests
import sqlalchemy as sa

from placement.tests.functional.plugin import configured_deployment
from placement.tests.functional.wsgi import test_attacks
from placement.tests.support.processes import (
    BIN,
    IS_ROOT,
    LATEST,
    ROOT,
    START_TIMEOUT_SECONDS,
    WSGI_FILE,
    certificate,
    check_claims,
    nginx_http_site,
    nginx_site,
    program,
    sample,
    start_apache_proxy,
    start_gunicorn,
    start_mod_wsgi,
    start_nginx,
    start_uwsgi,
    start_uwsgi_behind_proxy,
    uwsgi,
    wait_for_applications,
    wait_for_text_in_log,
)
from placement.tests.support.servers import free_port
from placement.tests.support.slow_clients import (
    SLOW,
    SLOW_ALLOWED,
    UNREAD,
    add_many_traits,
    continuous_bytes,
    sent,
)
from placement.tests.support.waiting import wait_until

pytestmark = pytest.mark.long


@pytest.fixture
def backend():
    return "mariadb"


@pytest.fixture(scope="module")
def copied_database_url(kept_databases, tmp_path_factory):
    """The URL of a database for the tests of one server."""
    path = tmp_path_factory.mktemp("copied") / "placement.sqlite"
    shutil.copy(sa.make_url(kept_databases("sqlite")).database, path)
    return f"sqlite:///{path}"


@pytest.fixture(scope="module")
def behind_proxy(copied_database_url):
    """One uWSGI with the sample configuration for several tests; it notifies systemd."""
    with configured_deployment(copied_database_url) as deployment:
        deployment.variables |= {
            "OS_OSLO_MIDDLEWARE__ENABLE_PROXY_HEADERS_PARSING": "true",
            "OS_METRICS__ENABLED": "true",
            "OS_METRICS__FOLDER": str(deployment.folder / "metrics"),
            "OS_METRICS__INVENTORY": "false",
            "NOTIFY_SOCKET": str(deployment.folder / "notify"),
        }
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
            systemd.bind(deployment.variables["NOTIFY_SOCKET"])
            systemd.settimeout(START_TIMEOUT_SECONDS)
            deployment.uwsgi_socket = start_uwsgi_behind_proxy(deployment)
            while b"READY=1" not in systemd.recv(4096):
                pass
        yield deployment


# --- uWSGI ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("backend", "script"),
    [
        ("mariadb", WSGI_FILE),
        ("postgresql", WSGI_FILE),
        pytest.param("sqlite", BIN / "placement-api", id="installed-command"),
    ],
)
def test_uwsgi_loaded_before_the_fork(deployment, script):
    start_uwsgi(deployment, "--wsgi-file", script)
    check_that_workers_have_no_additional_threads(deployment, 4)
    check_claims(deployment)


def check_that_workers_have_no_additional_threads(deployment, count):
    """The kernel may deliver a signal to any thread; uWSGI stops only from its own threads."""

    def threads():
        return [worker.num_threads() for worker in deployment.children()]

    # the threads of a worker start after its application is loaded
    wait_until(lambda: len(threads()) == 2 and min(threads()) >= count)
    assert threads() == [count, count]


@pytest.mark.xdist_group("uwsgi")
def test_workers_of_uwsgi_without_requests_are_replaced_on_sighup(behind_proxy):
    """Each loads the snapshot before it accepts requests: none has to wait for that."""
    before = loads(behind_proxy)
    replace_workers(behind_proxy)
    assert loads(behind_proxy) == before + 2
    check_that_workers_have_no_additional_threads(behind_proxy, 8)
    # with thunder-lock, a worker ends at a request only, or is killed after worker-reload-mercy
    assert "NO MERCY" not in (behind_proxy.folder / "output").read_text()


LOADS = re.compile(rb'placement_snapshot_refresh_seconds_count{kind="load"} (\d+)\.0')


def loads(deployment):
    """Return how often the processes have loaded snapshots; the one that responds has to."""
    variables = {"PATH_INFO": "/placement/metrics", "REMOTE_ADDR": "127.0.0.1"}
    text = send_uwsgi_packet(deployment.uwsgi_socket, variables)
    return int(LOADS.search(text)[1])


def replace_workers(deployment):
    """Reload as documented for ``systemctl reload``: one worker after the other."""
    before, log = new_workers(deployment), deployment.folder / "output"
    start = len(log.read_text())
    deployment.processes[0].send_signal(signal.SIGHUP)
    # until then, the next signal would be ignored
    wait_until(
        lambda: "chain reloading complete" in log.read_text()[start:],
        START_TIMEOUT_SECONDS,
        message=deployment.logs,
    )
    new_workers(deployment, before)


@pytest.mark.xdist_group("uwsgi")
@pytest.mark.parametrize("backend", ["sqlite"])
@pytest.mark.parametrize("name", ["nginx", "apache"])
def test_uwsgi_behind_a_web_server(behind_proxy, deployment, name):
    start_web_server(deployment, name, behind_proxy.uwsgi_socket)
    check_claims(deployment, "/placement", logged_by=behind_proxy)


def start_web_server(deployment, name, path):
    """Start nginx or Apache with the sample for the uWSGI socket, and wait for responses."""
    if name == "nginx":
        start_nginx(deployment, nginx_site(deployment, path))
    else:
        start_apache_proxy(deployment, path, "headers")
    deployment.wait("/placement/")


@pytest.mark.xdist_group("uwsgi")
@pytest.mark.parametrize("backend", ["sqlite"])
@pytest.mark.parametrize("name", ["nginx", "apache"])
def test_web_servers_refuse_large_bodies_before_the_token_is_checked(
    behind_proxy, deployment, name
):
    start_web_server(deployment, name, behind_proxy.uwsgi_socket)
    with socket.create_connection(("127.0.0.1", deployment.port), 60) as connection:
        head = "POST /placement/resource_providers HTTP/1.1\r\nHost: localhost\r\n"
        connection.sendall(f"{head}Content-Length: {2**24 + 1}\r\n\r\n".encode())
        assert connection.recv(2**10).startswith(b"HTTP/1.1 413 ")


FEW_THREADS = "ServerLimit 1\nThreadsPerChild 2\nMaxRequestWorkers 2\n"


@pytest.mark.xdist_group("uwsgi")
@pytest.mark.parametrize("backend", ["sqlite"])
def test_slow_heads_block_apache_until_mod_reqtimeout_closes_them(behind_proxy, deployment):
    lines = ("<VirtualHost ", f"{FEW_THREADS}<VirtualHost ")
    start_apache_proxy(deployment, behind_proxy.uwsgi_socket, "headers", lines=lines)
    deployment.wait("/placement/")
    with sent([SLOW["head"]] * 2, deployment.port) as clients, continuous_bytes(clients):
        wait_until(lambda: not responds(f"{deployment.url}/placement/"))
        wait_until(lambda: responds(f"{deployment.url}/placement/"))


FORGED = {
    "Forwarded": "host=evil.example;proto=https;for=192.0.2.9",
    "X-Forwarded-Host": "evil.example",
    "X-Forwarded-For": "192.0.2.9",
    "X-Forwarded-Proto": "https",
    "X-Forwarded-Prefix": "/evil",
}


def created(url, headers, **options):
    """Return the link to a new provider, in the response to a client with these headers."""
    name = {"name": f"host{uuid.uuid4()}"}
    response = requests.post(
        f"{url}/resource_providers",
        json=name,
        headers={"X-Auth-Token": "admin"} | headers,
        timeout=60,
        **options,
    )
    assert response.status_code == 201, response.text
    return response.headers["location"]


@pytest.mark.xdist_group("uwsgi")
@pytest.mark.parametrize("backend", ["sqlite"])
@pytest.mark.parametrize("name", ["nginx", "apache"])
def test_clients_behind_a_proxy_cannot_forge_links(behind_proxy, deployment, name):
    """X-Forwarded-Host of a client became the host of links: location: https://evil..."""
    start_web_server(deployment, name, behind_proxy.uwsgi_socket)
    link = created(f"{deployment.url}/placement", FORGED)
    assert link.startswith(f"http://{deployment.address}/placement/resource_providers/")
    logs = deployment.logs() + behind_proxy.logs()
    assert "evil" not in logs
    assert "192.0.2.9" not in logs


@pytest.mark.xdist_group("uwsgi")
@pytest.mark.parametrize("backend", ["sqlite"])
@pytest.mark.parametrize("name", ["nginx", "apache"])
def test_the_samples_of_web_servers_serve_tls(behind_proxy, deployment, name):
    path = behind_proxy.uwsgi_socket
    authority, key = certificate(deployment.folder, "placement")
    files = {
        "certificate": ("/etc/ssl/certs/placement.pem", str(authority)),
        "key": ("/etc/ssl/private/placement.key", str(key)),
    }
    if name == "nginx":
        site = nginx_site(deployment, path, tls=True, **files)
        start_nginx(deployment, site)
    else:
        lines = ("    # SSL", "    SSL")
        start_apache_proxy(deployment, path, "ssl", "socache_shmcb", tls=lines, **files)
    url = f"https://{deployment.address}/placement"
    wait_until(lambda: is_served(url, authority), START_TIMEOUT_SECONDS)
    assert created(url, {}, verify=authority).startswith(url)


def is_served(url, authority):
    with suppress(requests.ConnectionError):
        return requests.get(f"{url}/", verify=authority, timeout=60).status_code == 200
    return False


FOREIGN_APPLICATION = """
from pathlib import Path

Path(__file__ + ".executed").touch()


def application(environ, start_response):
    start_response("200 OK", [])
    return [b"not Placement"]
"""
# Variables of the uwsgi protocol; the folder contains a module of the name.
ATTACKS = {
    "file": {"UWSGI_FILE": "{folder}/{name}.py"},
    "script": {"UWSGI_SCRIPT": "{name}", "UWSGI_CHDIR": "{folder}"},
    "module": {"UWSGI_MODULE": "{name}", "UWSGI_CHDIR": "{folder}"},
    "callable": {"UWSGI_CALLABLE": "application", "UWSGI_FILE": "{folder}/{name}.py"},
    "appid": {"UWSGI_APPID": "/placement/other", "UWSGI_FILE": "{folder}/{name}.py"},
    "setenv": {"UWSGI_SETENV": "PYTHONPATH={folder}", "UWSGI_FILE": "{folder}/{name}.py"},
}


@pytest.mark.xdist_group("uwsgi")
def test_uwsgi_executes_no_application_that_a_request_names(behind_proxy):
    path = behind_proxy.uwsgi_socket
    responses = {}
    for name, variables in ATTACKS.items():
        folder = behind_proxy.folder / name
        folder.mkdir()
        (folder / f"{name}.py").write_text(FOREIGN_APPLICATION)
        values = {key: text.format(folder=folder, name=name) for key, text in variables.items()}
        responses[name] = send_uwsgi_packet(path, {"UWSGI_APPID": name} | values)
    assert [path.name for path in behind_proxy.folder.rglob("*.executed")] == []
    assert all(b'"versions"' in response for response in responses.values()), responses


def send_uwsgi_packet(path, variables, modifier=0):
    """Return the response to a packet of the uwsgi protocol, like those of web servers."""
    with sent_uwsgi_packet(path, variables, modifier) as connection:
        return received(connection)


@contextmanager
def sent_uwsgi_packet(path, variables, modifier=0):
    """The connection on which a packet of the uwsgi protocol was sent."""
    request = {"REQUEST_METHOD": "GET", "PATH_INFO": "/placement/", "HTTP_HOST": "localhost"}
    words = [word.encode() for pair in (request | variables).items() for word in pair]
    body = b"".join(struct.pack("<H", len(word)) + word for word in words)
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(START_TIMEOUT_SECONDS)
        connection.connect(str(path))
        connection.sendall(struct.pack("<BHB", modifier, len(body), 0) + body)
        yield connection


def received(connection):
    """Return all that the other side sends before it closes the connection."""
    return b"".join(iter(lambda: connection.recv(2**16), b""))


@pytest.mark.xdist_group("uwsgi")
def test_uwsgi_survives_packets_for_its_other_plugins(behind_proxy):
    path = behind_proxy.uwsgi_socket
    before = new_workers(behind_proxy)
    for modifier in range(1, 256):
        with suppress(ConnectionError):
            send_uwsgi_packet(path, {}, modifier)
    assert b'"versions"' in send_uwsgi_packet(path, {})
    assert new_workers(behind_proxy) == before


WAITING_REQUESTS = 500


@pytest.mark.xdist_group("uwsgi")
def test_uwsgi_answers_all_requests_that_wait_for_a_worker(behind_proxy):
    path = behind_proxy.uwsgi_socket
    with ExitStack() as stack:
        with paused_workers(behind_proxy):
            connections = [
                stack.enter_context(sent_uwsgi_packet(path, {})) for _ in range(WAITING_REQUESTS)
            ]
        assert all(b'"versions"' in received(connection) for connection in connections)


@contextmanager
def paused_workers(deployment):
    """Pause both workers of uWSGI until the end of the block."""
    output = (deployment.folder / "output").read_text()
    newest = dict(re.findall(r"spawned uWSGI worker (\d) \((?:new )?pid: (\d+)", output))
    workers = [psutil.Process(int(pid)) for pid in newest.values()]
    assert len(workers) == 2
    for worker in workers:
        worker.suspend()
    try:
        wait_until(lambda: all(is_paused(worker.pid) for worker in workers))
        yield
    finally:
        for worker in workers:
            worker.resume()


def is_paused(pid):
    """Return whether each thread has stopped: those that run continue for a moment."""
    statuses = [path.read_text() for path in Path(f"/proc/{pid}/task").glob("*/status")]
    return all("State:\tT" in status for status in statuses)


CONNECT = "import socket, sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1])"


@pytest.mark.skipif(not IS_ROOT, reason="only root can run a command as another user")
@pytest.mark.xdist_group("uwsgi")
def test_only_the_group_of_the_web_server_connects_to_uwsgi(behind_proxy):
    path = behind_proxy.uwsgi_socket

    def connect(*identity):
        command = ["setpriv", *identity, "--clear-groups", "/usr/bin/python3", "-c", CONNECT, path]
        return subprocess.run(command, capture_output=True, text=True, check=False).stderr

    assert connect("--reuid=www-data", "--regid=nogroup") == ""
    assert "PermissionError" in connect("--reuid=www-data", "--regid=www-data")


def new_workers(deployment, before=frozenset()):
    """Wait until both workers of the first server have been replaced, and return their ids."""
    give_up_at = time.monotonic() + START_TIMEOUT_SECONDS
    while time.monotonic() < give_up_at and deployment.processes[0].poll() is None:
        master = psutil.Process(deployment.processes[0].pid)
        pids = {child.pid for child in master.children()}
        if len(pids - before) == len(pids) == 2:
            return pids
        time.sleep(0.05)
    raise AssertionError(deployment.logs())


@pytest.mark.xdist_group("uwsgi")
@pytest.mark.parametrize("backend", ["sqlite"])
def test_no_request_fails_while_sighup_replaces_uwsgi_workers(behind_proxy, deployment):
    start_web_server(deployment, "nginx", behind_proxy.uwsgi_socket)
    with continuous_requests(f"{deployment.url}/placement/resource_providers") as statuses:
        replace_workers(behind_proxy)
    assert set(statuses) == {200}


def test_no_request_fails_while_gunicorn_workers_are_added_and_removed(deployment):
    """As documented: SIGTTIN adds workers; once they are ready, SIGTTOU ends the oldest ones."""
    start_gunicorn(deployment, deployment.address)
    # by default, Gunicorn takes SCRIPT_NAME of a client at 127.0.0.1, as a proxy is
    link = created(deployment.url, {"SCRIPT_NAME": "/evil"})
    assert link.startswith(f"{deployment.url}/resource_providers/")
    check_claims(deployment)
    before = new_workers(deployment)
    with continuous_requests(f"{deployment.url}/resource_providers") as statuses:
        for number, counts in ((signal.SIGTTIN, (3, 4)), (signal.SIGTTOU, (3, 2))):
            for count in counts:  # pending signals of one number are one
                deployment.processes[0].send_signal(number)
                wait_until(lambda count=count: len(deployment.children()) == count)
            wait_until_ready(deployment, 4)
        new_workers(deployment, before)
    assert set(statuses) == {200}


def wait_until_ready(deployment, count):
    """Wait until the hook of so many workers has written its message."""
    wait_for_text_in_log(deployment, "output", " is ready", count)


# more would only load the processors: a moment without a worker lasts longer
SECONDS_BETWEEN_REQUESTS = 0.02


@contextmanager
def continuous_requests(url):
    """Send requests, each on a new connection, until the end of the block; yield the statuses."""
    statuses, is_over = [], threading.Event()
    request = urllib.request.Request(url, headers=LATEST)

    def repeat():
        while not is_over.is_set():
            try:
                with urllib.request.urlopen(request, timeout=60) as response:
                    statuses.append(response.status)
            except (OSError, http.client.HTTPException) as error:
                statuses.append(repr(error))
            time.sleep(SECONDS_BETWEEN_REQUESTS)

    threads = [threading.Thread(target=repeat) for _ in range(4)]
    for thread in threads:
        thread.start()
    try:
        yield statuses
    finally:
        is_over.set()
        for thread in threads:
            thread.join()


SLOW_CLIENTS = 1000
ALLOWED_GROWTH_BYTES = 50 * 2**20


@pytest.fixture(scope="module")
def container(copied_database_url):
    """One deployment with the configuration of the container image for several tests."""
    with configured_deployment(copied_database_url) as deployment, started_container(deployment):
        yield deployment


@contextmanager
def started_container(deployment, threads=8):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 4 * SLOW_CLIENTS), hard))
    text = (ROOT / "packaging" / "container-uwsgi.ini").read_text()
    text = text.replace(":8778", deployment.address).replace("/tmp/", f"{deployment.folder}/")
    text = text.replace("threads = 8", f"threads = {threads}")
    (deployment.folder / "uwsgi.ini").write_text(text)
    deployment.start(*uwsgi("--ini", deployment.folder / "uwsgi.ini"))
    wait_for_applications(deployment, "output", 2)
    deployment.wait()
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def resident_bytes(deployment):
    return sum(process.memory_info().rss for process in deployment.children())


@pytest.mark.parametrize("slow", SLOW)
@pytest.mark.xdist_group("uwsgi")
def test_the_container_serves_others_while_slow_clients_are_connected(container, slow):
    serve_some_requests(container)
    before = resident_bytes(container)
    slow_requests = [SLOW[slow]] * SLOW_CLIENTS
    with sent(slow_requests, container.port) as connections, continuous_bytes(connections):
        serve_some_requests(container)
        assert resident_bytes(container) < before + ALLOWED_GROWTH_BYTES


def serve_some_requests(deployment):
    for _ in range(20):
        assert deployment.request("GET", "/resource_providers").status_code == 200


UNIX_SOCKETS = Path("/proc/net/unix")


@pytest.mark.xdist_group("uwsgi")
def test_the_container_answers_all_requests_that_wait_for_a_worker(container):
    address = ("127.0.0.1", container.port)
    with ExitStack() as stack:
        connections = [
            stack.enter_context(socket.create_connection(address, START_TIMEOUT_SECONDS))
            for _ in range(WAITING_REQUESTS)
        ]
        with paused_workers(container):
            for connection in connections:
                connection.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
            path = str(container.folder / "uwsgi.sock")
            wait_until(lambda: UNIX_SOCKETS.read_text().count(path) > WAITING_REQUESTS)
        assert {connection.recv(12) for connection in connections} == {b"HTTP/1.1 200"}


@pytest.mark.xdist_group("uwsgi")
def test_clients_that_keep_connections_lose_no_request_to_the_container(container):
    check_kept_connections(container)


@pytest.mark.xdist_group("uwsgi")
def test_the_container_receives_large_bodies(container):
    check_large_bodies(container, "/resource_providers")


@pytest.mark.parametrize("backend", ["sqlite"])
def test_clients_that_keep_connections_or_send_large_bodies_to_uwsgi(deployment):
    start_uwsgi_behind_proxy(deployment, has_http=True)
    check_kept_connections(deployment)
    check_large_bodies(deployment, "/placement/resource_providers")


LARGE_BODY = json.dumps({"name": "host", "unknown": "x" * 100_000}).encode()
HEAD_OF_LARGE_BODY = (
    b"POST {path} HTTP/1.1\r\nHost: localhost\r\nX-Auth-Token: admin\r\n"
    b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(LARGE_BODY)
)


def check_large_bodies(deployment, path):
    """Send large bodies together with their heads: uWSGI reset such connections."""
    for _ in range(20):
        with socket.create_connection(("127.0.0.1", deployment.port), 60) as connection:
            head = HEAD_OF_LARGE_BODY.replace(b"{path}", path.encode())
            connection.sendall(head + LARGE_BODY)
            assert connection.recv(2**10).startswith(b"HTTP/1.1 400 ")


def check_kept_connections(deployment):
    """Send requests one after the other: uWSGI closes each connection, and has to say so."""
    with requests.Session() as client:
        for _ in range(200):
            response = client.get(deployment.url, timeout=START_TIMEOUT_SECONDS)
            assert response.status_code == 200
            assert response.headers["Connection"] == "close"


@pytest.mark.parametrize("backend", ["sqlite"])
def test_slow_clients_of_the_container_behind_nginx(database_url, deployment):
    """Without nginx, slow bodies and unread responses occupy the threads: one of each worker."""
    add_many_traits(database_url)
    with configured_deployment(database_url) as container, started_container(container, 1):
        for slow in (SLOW_ALLOWED, UNREAD):
            with sent([slow] * 4, container.port) as clients, continuous_bytes(clients):
                wait_until(lambda: not responds(container.url), message=container.logs)
        check_slow_clients(deployment, container.address)


def responds(url):
    with suppress(requests.Timeout):
        return requests.get(url, timeout=2).status_code == 200
    return False


@pytest.mark.parametrize("backend", ["sqlite"])
def test_slow_clients_of_gunicorn_behind_nginx(database_url, deployment):
    """Without nginx, slow clients without a token occupy the two threads without a limit."""
    add_many_traits(database_url)
    deployment.variables["OS_OSLO_MIDDLEWARE__ENABLE_PROXY_HEADERS_PARSING"] = "true"
    address = f"127.0.0.1:{free_port()}"
    start_gunicorn(deployment, address, threads=("threads = 8", "threads = 1"))
    slow = [SLOW["head"]] * 4
    with sent(slow, address.rpartition(":")[2]) as clients, continuous_bytes(clients):
        wait_until(lambda: not responds(f"http://{address}"), message=deployment.logs)
    check_slow_clients(deployment, address)


def check_slow_clients(deployment, address):
    """Send requests slowly to nginx, as the page has it, or do not read the responses."""
    start_nginx(deployment, nginx_http_site(deployment, address))
    deployment.wait()
    slow = [SLOW["head"], SLOW_ALLOWED, UNREAD] * 4
    with sent(slow, deployment.port) as connections, continuous_bytes(connections):
        time.sleep(5)
        serve_some_requests(deployment)
        link = created(deployment.url, FORGED)
    assert link.startswith(f"{deployment.url}/resource_providers/")


@pytest.mark.xdist_group("uwsgi")
def test_the_container_reads_no_large_body_without_authentication(container):
    serve_some_requests(container)
    before = resident_bytes(container)
    for _ in range(4):
        with socket.create_connection(("127.0.0.1", container.port), 60) as connection:
            head = f"{SLOW['body'].partition('Content')[0]}Content-Length: {2**28}\r\n\r\n"
            connection.sendall(head.encode())
            with suppress(ConnectionError):
                for _ in range(2**12):
                    connection.sendall(b"x" * 2**16)
                assert b" 401 " in connection.recv(2**10)
        assert resident_bytes(container) < before + ALLOWED_GROWTH_BYTES
    serve_some_requests(container)


@pytest.mark.xdist_group("uwsgi")
def test_the_container_bounds_the_head_and_asks_for_bodies(container):
    address = ("127.0.0.1", container.port)
    with socket.create_connection(address, 60) as connection, suppress(ConnectionError):
        connection.sendall(b"GET / HTTP/1.1\r\nX-Large: " + b"x" * 2**17 + b"\r\n\r\n")
        assert connection.recv(2**10) == b""
    with socket.create_connection(address, 60) as connection:
        connection.sendall(b"POST / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n")
        assert connection.recv(2**10).startswith(b"HTTP/1.1 100 Continue\r\n")
    assert (container.folder / "uwsgi.sock").stat().st_mode & 0o777 == 0o600


def test_systemd_unit_is_valid(deployment):
    analyze = program("systemd-analyze", "apt-get install systemd")
    unit = sample(
        "systemd/placement-api.service",
        installed=("/opt/placement/bin/uwsgi", program("uwsgi", "pip install uWSGI")),
    )
    (deployment.folder / "placement-api.service").write_text(unit)
    command = [analyze, "--man=no", "verify", deployment.folder / "placement-api.service"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    # it warns of other units of the machine too
    warnings = [line for line in result.stderr.splitlines() if "placement-api" in line]
    assert (result.returncode, warnings) == (0, [])


def test_systemd_unit_has_low_exposure():
    analyze = program("systemd-analyze", "apt-get install systemd")
    unit = ROOT / "etc" / "systemd" / "placement-api.service"
    command = [analyze, "security", "--offline=true", "--threshold=25", unit]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr


def test_systemd_reloads_without_other_packages():
    unit = (ROOT / "etc" / "systemd" / "placement-api.service").read_text()
    (command,) = re.findall("^ExecReload=(.*)$", unit, re.MULTILINE)
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)  # under nohup, it is ignored
    with subprocess.Popen(["/bin/sleep", "60"]) as process:
        signal.signal(signal.SIGHUP, before)
        words = shlex.split(command.replace("$MAINPID", str(process.pid)))
        subprocess.run(words, check=True, env={"PATH": ""})
        assert process.wait(10) == -signal.SIGHUP
    assert words[0] == "/bin/sh"


# --- Gunicorn -----------------------------------------------------------------------------


def test_gunicorn_loaded_before_the_fork(deployment):
    gunicorn = program("gunicorn", "pip install gunicorn")
    options = ("--bind", deployment.address, "--workers=2", "--threads=4", "--preload")
    deployment.start(gunicorn, *options, "placement.wsgi.api:application")
    check_claims(deployment)


MALFORMED_CHUNKS = {
    **test_attacks.MALFORMED_CHUNKS,
    "negative size": b"-1\r\nhello\r\n0\r\n\r\n",
    "size with underscore": b"1_0\r\nhello\r\n0\r\n\r\n",
    "size with space before": b" 5\r\nhello\r\n0\r\n\r\n",
    "NUL as size": b"\0\r\nhello\r\n0\r\n\r\n",
    "long size": b"0" * 100_000 + b"5\r\nhello\r\n0\r\n\r\n",
    "trailer without colon": b"5\r\nhello\r\n0\r\nbad\r\n\r\n",
    "line ends without CR": b"5\nhello\n0\n\n",
}


def test_gunicorn_without_a_proxy_refuses_malformed_chunks(deployment):
    gunicorn = program("gunicorn", "pip install gunicorn")
    options = ("--bind", deployment.address, "--threads=4")
    deployment.start(gunicorn, *options, "placement.wsgi.api:application")
    deployment.wait()
    head = (
        b"POST /resource_providers HTTP/1.1\r\nHost: localhost\r\nX-Auth-Token: admin\r\n"
        b"Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    for name, body in MALFORMED_CHUNKS.items():
        response = response_to(deployment, head + body)
        assert re.findall(rb"HTTP/1.1 (\d+)", response) == [b"400"], name
        assert b"The request body cannot be read: " in response, name


def response_to(deployment, request):
    """Return what the server sends before it closes the connection."""
    host, _, port = deployment.address.rpartition(":")
    with socket.create_connection((host, int(port)), 10) as connection:
        connection.sendall(request)
        connection.shutdown(socket.SHUT_WR)
        return received(connection)


# --- Apache -------------------------------------------------------------------------------


def test_apache_with_mod_wsgi(deployment):
    """The daemon processes run as an unprivileged user."""
    start_mod_wsgi(deployment, BIN / "placement-api")
    check_claims(deployment, "/placement")
    if IS_ROOT:
        users = {process.username() for process in deployment.children()}
        assert users == {"nobody"}


# --- a read-only file system ----------------------------------------------------------

READ_ONLY = """
mount --make-rprivate /
awk '$5 ~ "^/" {print $5}' /proc/self/mountinfo | while read -r place; do
    mount -o remount,bind,ro "$place" 2>/dev/null || true
done
! touch "$1/probe" 2>/dev/null || exit 99
shift
exec "$@"
"""


def test_service_runs_on_read_only_file_system(deployment):
    try:
        subprocess.run(["unshare", "--mount", "true"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("NOT TESTED: this user cannot create mount namespaces")
    deployment.start(
        *uwsgi(f"--http-socket={deployment.address}", "--wsgi-file", WSGI_FILE),
        prefix=["unshare", "--mount", "sh", "-c", READ_ONLY, "sh", str(deployment.folder)],
        PYTHONDONTWRITEBYTECODE="1",
    )
    check_claims(deployment)
