"""Attacks on the HTTP server of ``placement-api``: slow clients, large or ambiguous requests."""

import json
import re
import resource
import select
import socket
import stat
import struct
import tempfile
import threading
import time
import tracemalloc
from contextlib import ExitStack, contextmanager, suppress
from wsgiref.util import request_uri

import psutil
import pytest

from placement.cmd import server
from placement.tests.support.processes import LATEST, ApiProcess, InterpretedApiProcess
from placement.tests.support.waiting import wait_until

SECONDS = 60
SLOW_CLIENTS = 1000
KIBIBYTE = 2**10
MEBIBYTE = 2**20
MEMORY_MIB = 50
TOKEN = b"X-Auth-Token: admin\r\n"
SMUGGLED = b"DELETE /traits/CUSTOM_A HTTP/1.1\r\nHost: localhost\r\n\r\n"
# the tests share one service
pytestmark = pytest.mark.xdist_group("server")


@pytest.fixture(scope="module", autouse=True)
def open_files():
    """Allow this process as many open files as there are slow clients."""
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(4 * SLOW_CLIENTS, limits[1]), limits[1]))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, limits)


@pytest.fixture(scope="module")
def api(tmp_path_factory):
    with ApiProcess(tmp_path_factory.mktemp("api"), "--development", "--port", "0") as api:
        api.get()
        yield api


@pytest.fixture
def connect(api):
    """Return a function that opens a connection to the server."""
    host, port = api.url.removeprefix("http://").split(":")
    with ExitStack() as connections:
        yield lambda: connections.enter_context(
            socket.create_connection((host, int(port)), timeout=SECONDS)
        )


@pytest.fixture
def send(connect):
    """Return a function that sends bytes, and returns all responses until the server closes."""

    def send(*pieces):
        connection, response = connect(), b""
        with suppress(ConnectionError):
            for piece in pieces:
                connection.sendall(piece)
        with suppress(ConnectionError):
            while received := connection.recv(2**16):
                response += received
        return response

    return send


def statuses(responses):
    return [int(number) for number in re.findall(rb"HTTP/1\.[01] (\d{3}) ", responses)]


def error(response):
    """Return the only error of an error document."""
    head, _, body = response.partition(b"\r\n\r\n")
    (document,) = json.loads(body)["errors"]
    assert document["request_id"].encode() in head
    assert b"X-Content-Type-Options: nosniff" in head
    return document


def memory_mib(api):
    return psutil.Process(api.process.pid).memory_info().rss / MEBIBYTE


# --- slow clients -----------------------------------------------------------------------

HEAD = b"GET /traits HTTP/1.1\r\nHost: localhost\r\nX-Slow: "
BODY = (
    b"POST /traits HTTP/1.1\r\nHost: localhost\r\n" + TOKEN + b"Content-Type: application/json\r\n"
    b"Content-Length: 5000\r\n\r\n{"
)


@pytest.mark.parametrize("beginning", [HEAD, BODY], ids=["head", "body"])
def test_slow_clients_occupy_no_threads(api, connect, beginning):
    before = memory_mib(api)
    slow = [connect() for _ in range(SLOW_CLIENTS)]
    for part in (beginning, b"x"):
        for connection in slow:
            connection.sendall(part)
        assert api.get()[0] == 200
    assert memory_mib(api) < before + MEMORY_MIB
    for connection in slow[::100]:
        connection.setblocking(False)
        with pytest.raises(BlockingIOError):
            connection.recv(1)  # still open, without a response


def test_many_small_chunks_do_not_delay_others(connect):
    """A connection that always has data must not keep the event loop from the others."""
    attackers, is_over = [connect() for _ in range(2)], threading.Event()

    def attack(connection):
        connection.sendall(
            b"POST /traits HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n" + TOKEN + b"\r\n"
        )
        with suppress(OSError):  # the server closes the connection
            while not is_over.is_set():
                connection.sendall(b"1\r\na\r\n" * 10_000)

    threads = [threading.Thread(target=attack, args=[each]) for each in attackers]
    other = connect()
    other.settimeout(SECONDS / 4)
    for thread in threads:
        thread.start()
    try:
        for _ in range(20):
            other.sendall(GET)
            assert statuses(other.recv(2**16)) == [200]
            time.sleep(0.1)
    finally:
        is_over.set()
        for connection in attackers:
            connection.shutdown(socket.SHUT_RDWR)
        for thread in threads:
            thread.join()


@contextmanager
def serving(application, host="127.0.0.1"):
    """Serve an application in a thread of this process; yield its address."""
    with ExitStack() as stack:
        bound = stack.enter_context(server.bound_socket(host, 0))
        settings = server.Settings(application, bound, host, 1, MEBIBYTE)
        running = server.Server(settings)
        thread = threading.Thread(target=running.serve)
        thread.start()
        stack.callback(thread.join)
        stack.callback(running.stop)
        yield bound.getsockname()


def is_closed(connection):
    """Return whether the server closes the connection; a reset, if it did not read everything."""
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True


def test_slow_clients_at_the_connection_limit_are_closed(monkeypatch):
    monkeypatch.setattr(server, "_CONNECTIONS", 3)
    monkeypatch.setattr(server, "_TIMEOUT_SECONDS", 1)
    with serving(hello) as address, ExitStack() as stack:
        *slow, other = [
            stack.enter_context(socket.create_connection(address, timeout=SECONDS))
            for _ in range(4)
        ]
        for connection in slow:
            connection.sendall(HEAD)
        other.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert statuses(other.recv(2**16)) == [200]
        assert all(map(is_closed, slow))


GET = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"


def large(_environ, start_response):
    """Respond with more than the buffers of the kernel contain."""
    start_response("200 OK", [("Content-Length", str(40 * MEBIBYTE))])
    return [b"x" * MEBIBYTE] * 40


@pytest.mark.parametrize("is_generator", [False, True])
def test_a_long_response_is_not_in_memory(is_generator):
    def application(environ, start_response):
        parts = large(environ, start_response)
        return (bytes(MEBIBYTE) for _ in parts) if is_generator else parts

    tracemalloc.start()
    try:
        with serving(application) as address, socket.create_connection(address) as client:
            client.sendall(GET)
            received = 0
            while received < 40 * MEBIBYTE:
                received += len(client.recv(MEBIBYTE))
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak_bytes < 8 * MEBIBYTE


@contextmanager
def unread(application, *, clients, requests):
    """Yield an address, and connections that send requests and read no response."""
    with serving(application) as address, ExitStack() as stack:
        connections = [
            stack.enter_context(socket.create_connection(address, timeout=SECONDS))
            for _ in range(clients)
        ]
        for connection in connections:
            connection.sendall(GET * requests)
        for connection in connections:
            with suppress(ConnectionError):  # the server has closed it already
                connection.recv(1, socket.MSG_PEEK)  # the response has begun
        yield address, connections


def test_clients_that_do_not_read_occupy_no_thread(monkeypatch):
    """The server has one thread; each client has several requests that wait for a thread."""
    monkeypatch.setattr(server, "_TIMEOUT_SECONDS", 3600)
    with (
        unread(large, clients=2, requests=3) as (address, _),
        socket.create_connection(address, timeout=SECONDS) as other,
    ):
        other.sendall(GET)
        assert statuses(other.recv(2**16)) == [200]


def test_clients_that_do_not_read_are_closed(monkeypatch):
    monkeypatch.setattr(server, "_TIMEOUT_SECONDS", 1)
    with unread(large, clients=2, requests=3) as (_, connections):
        wait_until(lambda: not any(map(is_open, connections)))
        for connection in connections:
            assert len(read(connection)) < 40 * MEBIBYTE


def is_open(connection):
    """Return whether the server, in this process, has the connection open."""
    client = connection.getsockname()
    return any(other.raddr == client for other in psutil.Process().net_connections("tcp"))


def test_one_response_of_a_client_is_stored_whatever_it_requests():
    calls = []

    def application(environ, start_response):
        calls.append(environ)
        return large(environ, start_response)

    with unread(application, clients=1, requests=1000):
        time.sleep(2)
        assert len(calls) == 1


def read(connection):
    """Return what the kernel has received until the server closes the connection."""
    received = []
    with suppress(ConnectionError):
        while part := connection.recv(MEBIBYTE):
            received.append(part)
    return b"".join(received)


def test_the_largest_unread_responses_are_closed(monkeypatch):
    monkeypatch.setattr(server, "_STORED_BYTES", 50 * MEBIBYTE)
    with unread(large, clients=2, requests=3) as (address, attackers):
        wait_until(lambda: not all(map(is_open, attackers)))
        with socket.create_connection(address, timeout=SECONDS) as other:
            other.sendall(GET)
            assert statuses(other.recv(2**16)) == [200]


def test_the_longest_idle_connection_is_closed_for_a_new_client(monkeypatch):
    monkeypatch.setattr(server, "_CONNECTIONS", 3)
    with serving(large) as address, ExitStack() as stack:
        clients = [
            stack.enter_context(socket.create_connection(address, timeout=SECONDS))
            for _ in range(4)
        ]
        assert clients[0].recv(1) == b""
        clients[3].sendall(GET)
        assert statuses(clients[3].recv(2**16)) == [200]


def test_the_largest_unfinished_body_is_refused_not_the_newest(monkeypatch):
    head = b"POST / HTTP/1.1\r\nHost: localhost\r\n" + TOKEN + b"Content-Length: %d\r\n\r\n"
    monkeypatch.setattr(server, "_STORED_BYTES", MEBIBYTE)
    with serving(hello) as address, ExitStack() as stack:
        *attackers, other = [
            stack.enter_context(socket.create_connection(address, timeout=SECONDS))
            for _ in range(3)
        ]
        for connection in attackers:
            connection.sendall(head % MEBIBYTE + b"x" * (MEBIBYTE - 100 * KIBIBYTE))
        body = b"x" * (50 * KIBIBYTE)
        other.sendall(head % len(body) + body)
        assert statuses(other.recv(2**16)) == [200]
        wait_until(lambda: any(map(is_readable, attackers)))
        (refused,) = filter(is_readable, attackers)
        assert error(read(refused))["status"] == 503


def test_a_connection_that_stores_nothing_is_not_closed_for_space(monkeypatch):
    """It would get a response without a request."""
    monkeypatch.setattr(server, "_STORED_BYTES", MEBIBYTE)
    with (
        serving(large) as address,
        socket.create_connection(address, timeout=SECONDS) as idle,
        socket.create_connection(address, timeout=SECONDS) as other,
    ):
        other.sendall(GET)
        assert other.recv(1)
        time.sleep(0.5)
        assert not is_readable(idle)


def test_closed_connections_are_logged_together(monkeypatch, caplog):
    monkeypatch.setattr(server, "_CONNECTIONS", 3)
    with serving(hello) as address, ExitStack() as stack:
        for _ in range(50):
            client = stack.enter_context(socket.create_connection(address, timeout=SECONDS))
        client.sendall(GET)
        assert statuses(client.recv(2**16)) == [200]
    lines = [record.getMessage() for record in caplog.records if record.name == server.__name__]
    assert lines == ["Closed a connection: too many connections (47 times)"]


class LimitedProcess(InterpretedApiProcess):
    """The command with few open files (``ulimit -n``)."""

    command = ("prlimit", "--nofile=256", *InterpretedApiProcess.command)


def test_few_open_files_permit_few_connections(tmp_path):
    with LimitedProcess(tmp_path, "--development", "--port", "0") as api, ExitStack() as stack:
        api.get()
        host, port = api.url.removeprefix("http://").split(":")
        for _ in range(300):
            stack.enter_context(socket.create_connection((host, int(port)), timeout=SECONDS))
        assert api.get("/resource_classes", **LATEST)[0] == 200
    lines = [line for line in api.output.read_text().splitlines() if "WARNING" in line]
    assert all("Closed a connection: too many connections" in line for line in lines), lines
    assert 0 < len(lines) <= 3


@pytest.mark.parametrize("workers", ["1", "2"])
def test_exhausted_descriptors_are_logged_once_and_take_no_processor_time(tmp_path, workers):
    """The system refuses to open the connections of clients that are already waiting."""
    with ApiProcess(tmp_path, "--development", "--port", "0", "--workers", workers) as api:
        api.wait_for_workers(int(workers))
        host, port = api.url.removeprefix("http://").split(":")
        processes = [psutil.Process(pid) for pid in api.children() or {api.process.pid}]
        api.get()
        limits = processes[0].rlimit(psutil.RLIMIT_NOFILE)
        for process in processes:
            process.rlimit(psutil.RLIMIT_NOFILE, (0, limits[1]))
        with socket.create_connection((host, int(port)), timeout=SECONDS) as client:
            client.sendall(GET.replace(b"/ HTTP", b"/traits HTTP"))
            wait_until(lambda: "Cannot accept connections" in api.output.read_text())
            before = sum(sum(process.cpu_times()[:2]) for process in processes)
            time.sleep(3)
            assert sum(sum(process.cpu_times()[:2]) for process in processes) < before + 1
            for process in processes:
                process.rlimit(psutil.RLIMIT_NOFILE, limits)
            assert statuses(client.recv(2**16)) == [401]
        lines = re.findall("Cannot accept connections: Too many open", api.output.read_text())
        assert len(lines) <= int(workers)


def is_readable(connection):
    return select.select([connection], [], [], 0)[0]


def hello(_environ, start_response):
    start_response("200 OK", [("Content-Length", "5")])
    return [b"hello"]


def jump(monkeypatch, seconds):
    """Set the time of day forward or back, and wait for more than one poll of the server."""
    now = time.time
    monkeypatch.setattr(time, "time", lambda: now() + seconds)
    time.sleep(2)


def test_a_kept_connection_stays_open_if_the_time_of_day_jumps_forward(monkeypatch):
    with serving(hello) as address, socket.create_connection(address, timeout=SECONDS) as kept:
        for _ in range(2):
            kept.sendall(GET)
            assert statuses(kept.recv(2**16)) == [200]
            jump(monkeypatch, 3600)


def test_a_slow_client_is_closed_in_time_if_the_time_of_day_jumps_back(monkeypatch):
    monkeypatch.setattr(server, "_TIMEOUT_SECONDS", 5)
    with serving(hello) as address, socket.create_connection(address, timeout=SECONDS) as slow:
        slow.sendall(HEAD)
        time.sleep(0.5)  # the server reads it
        jump(monkeypatch, -3600)
        assert slow.recv(1) == b""


class LoggedSlowly(list):
    """A response that takes a while to be logged."""

    is_logged = False

    def close(self):
        time.sleep(1)
        self.is_logged = True


def test_request_of_a_reset_connection_is_logged_before_the_stop():
    response, is_reset, requests = LoggedSlowly([b"hello"]), threading.Event(), []

    def application(environ, start_response):
        requests.append(environ["PATH_INFO"])
        is_reset.wait(SECONDS)
        start_response("200 OK", [("Content-Length", "5")])
        return response

    with serving(application) as address:
        with socket.create_connection(address, timeout=SECONDS) as connection:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            connection.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
            wait_until(lambda: requests)
        is_reset.set()
    assert response.is_logged


def test_slow_request_is_completed(connect):
    connection = connect()
    for byte in b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n":
        connection.sendall(bytes([byte]))
    assert statuses(connection.recv(2**16)) == [200]


# --- bodies -----------------------------------------------------------------------------


@pytest.mark.parametrize("token", [b"", TOKEN], ids=["no-token", "token"])
def test_large_body_is_not_read(api, send, token):
    before = memory_mib(api)
    response = send(
        b"POST /traits HTTP/1.1\r\nHost: localhost\r\n" + token,
        b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n" % (250 * MEBIBYTE),
    )
    assert statuses(response) == [413 if token else 401]
    assert b"Connection: close" in response
    assert memory_mib(api) < before + MEMORY_MIB


def test_body_without_token_is_not_read(send):
    response = send(
        b"PUT /traits/CUSTOM_A HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\n"
        b"Content-Length: 1000\r\n\r\n"
    )
    assert statuses(response) == [401]


def test_unfinished_bodies_do_not_fill_memory(api, connect):
    before = memory_mib(api)
    body = b"x" * (300 * KIBIBYTE)
    for _ in range(300):
        connect().sendall(
            b"POST /traits HTTP/1.1\r\nHost: localhost\r\n" + TOKEN + b"Content-Length: 1000000"
            b"\r\n\r\n" + body
        )
    assert api.get()[0] == 200
    assert memory_mib(api) < before + MEMORY_MIB


@pytest.mark.parametrize(
    ("status", "body"),
    [(400, b"1" * MEBIBYTE), (400, b"1;" + b"x" * MEBIBYTE), (400, b"0\r\n" + b"x" * MEBIBYTE)],
    ids=["size", "extension", "trailer"],
)
def test_chunk_lines_are_limited(send, status, body):
    head = b"POST /traits HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n" + TOKEN
    assert statuses(send(head + b"\r\n", body)) == [status]


def test_chunked_body_is_limited(api, send):
    head = b"POST /traits HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n" + TOKEN
    chunk = b"%x\r\n%s\r\n" % (MEBIBYTE, b"x" * MEBIBYTE)
    response = send(head + b"\r\n", *[chunk] * 40)
    assert error(response)["status"] == 413


def test_what_cannot_be_stored_is_refused(monkeypatch, tmp_path, caplog):
    """The folder for temporary files is missing, or its disk is full."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "missing"))
    close = GET.replace(b"Host", b"Connection: close\r\nHost")
    head = TOKEN + b"Content-Length: %d\r\n\r\n" % MEBIBYTE
    body = close.replace(b"GET", b"POST").replace(b"\r\n\r\n", b"\r\n" + head + b"x" * MEBIBYTE)
    with serving(large) as address:
        for request in (close, body):
            with socket.create_connection(address, timeout=SECONDS) as client:
                client.sendall(request)
                document = error(read(client))
            assert document["status"] == 503
            assert "cannot be stored: [Errno 2] No such file" in document["detail"]
    assert "Cannot store a body: No such file or directory (1 times)" in caplog.messages


# --- heads ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "head"),
    [
        (431, b"GET /traits?name=%s HTTP/1.1\r\nHost: localhost\r\n\r\n" % (b"x" * 4 * MEBIBYTE)),
        (431, b"GET /traits?name=" + b"x" * MEBIBYTE),
        (431, b"GET / HTTP/1.1\r\nHost: localhost\r\n" + b"Accept: a/b\r\n" * 300_000 + b"\r\n"),
    ],
    ids=["path", "endless path", "headers"],
)
def test_head_is_limited(send, status, head):
    response = send(head)
    assert statuses(response) == [status]
    assert error(response)["status"] == status
    assert "65536 bytes" in error(response)["detail"]


def test_head_of_60_kib_is_accepted(send):
    padding = b"X-Padding: " + b"x" * (60 * KIBIBYTE) + b"\r\n"
    head = b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
    assert statuses(send(head + padding + b"\r\n")) == [200]


# --- ambiguous requests ----------------------------------------------------------------

AMBIGUOUS = {
    "two lengths": b"Content-Length: 0\r\nContent-Length: %d\r\n" % len(SMUGGLED),
    "length and chunked": b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n",
    "chunked and length": b"Transfer-Encoding: chunked\r\nContent-Length: 4\r\n",
    "negative length": b"Content-Length: -1\r\n",
    "length with underscore": b"Content-Length: 12_0\r\n",
    "length with sign": b"Content-Length: +5\r\n",
    "empty length": b"Content-Length: \r\n",
    "list of lengths": b"Content-Length: 0, 5\r\n",
    "two hosts": b"Host: localhost\r\n",
    "length of 5,000 digits": b"Content-Length: " + b"9" * 5000 + b"\r\n",
    "chunked twice": b"Transfer-Encoding: chunked, chunked\r\n",
    "chunked in two headers": b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
    "two codings": b"Transfer-Encoding: chunked, identity\r\n",
    "unknown coding": b"Transfer-Encoding: xchunked\r\n",
    "space before the colon": b"Content-Length : 5\r\n",
    "line feed within": b"X-A: b\nContent-Length: 5\r\n",
}


@pytest.mark.parametrize("headers", AMBIGUOUS.values(), ids=AMBIGUOUS)
def test_ambiguous_request_closes_connection(send, headers):
    request = b"POST /traits HTTP/1.1\r\nHost: localhost\r\n" + TOKEN + headers + b"\r\n"
    response = send(request, b"0\r\n\r\n" + SMUGGLED)
    assert len(statuses(response)) == 1
    assert error(response)["status"] == 400
    assert b"Connection: close" in response


@pytest.mark.parametrize(
    "end",
    [b"0\r\n\r\n", b"0\r\n\n", b"0\r\nX-A: b\n\n", b"0\r\nContent-Length: 5\r\n\r\n"],
    ids=["no trailer", "line feed", "line feeds", "a length"],
)
def test_nothing_is_served_after_a_chunked_request(send, end):
    """A proxy may see the end of the trailers at another place."""
    head = b"POST /traits HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n" + TOKEN
    response = send(head + b"\r\n", end, SMUGGLED)
    assert len(statuses(response)) == 1
    assert b"Connection: close" in response


def test_empty_lines_before_a_request_are_ignored(send):
    """RFC 9112, section 2.2: some clients send an empty line after a body."""
    close = GET.replace(b"Host", b"Connection: close\r\nHost")
    assert statuses(send(b"\r\n\r\n" + GET + b"\r\n" + close)) == [200, 200]


@pytest.mark.parametrize(
    "head",
    [b"GET / HTTP/1.1\r\n\r\n", b"GET / HTTP/9.9\r\nHost: localhost\r\n\r\n"],
    ids=["no host", "unknown version"],
)
def test_invalid_head_is_refused(send, head):
    response = send(head)
    assert statuses(response) == [400]
    assert error(response)["status"] == 400


def test_chunked_request_of_http_1_0_closes_connection(send):
    request = b"POST / HTTP/1.0\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n"
    assert statuses(send(request + b"0\r\n\r\n" + SMUGGLED)) == [400]


@pytest.mark.parametrize(
    ("target", "status"),
    [
        (b"http://localhost/traits", 200),
        (b"HTTPS://localhost:1/traits?name=in:CUSTOM_A", 200),
        (b"http://localhost?a=/traits", 200),
        (b"http://[::1/traits", 200),
        (b"//traits", 404),
        (b"http://localhost//traits", 404),
        (b"/http://localhost/traits", 404),
        (b"ftp://localhost/traits", 404),
        (b"*", 404),
    ],
)
def test_request_target(send, target, status):
    head = b"GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n" % target
    response = send(head + TOKEN + b"OpenStack-API-Version: placement 1.6\r\n\r\n")
    assert statuses(response) == [status]


@pytest.mark.parametrize(
    ("method", "size"), [("GET", 40 * MEBIBYTE), ("HEAD", 0)], ids=["GET", "HEAD"]
)
def test_response_to_head_has_no_body(method, size):
    with serving(large) as address, socket.create_connection(address, timeout=SECONDS) as client:
        client.sendall(f"{method} / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n".encode())
        head, _, body = read(client).partition(b"\r\n\r\n")
    assert b"Content-Length: %d" % (40 * MEBIBYTE) in head
    assert len(body) == size


def failing_stream(_environ, start_response):
    start_response("200 OK", [])
    yield b"part"
    raise RuntimeError("the database is gone")


def with_line_break(_environ, start_response):
    start_response("200 OK", [("Location", "/a\r\nSet-Cookie: b")])
    return []


def with_other_characters(_environ, start_response):
    start_response("200 OK", [("Location", "/\u20ac")])
    return []


def without_start(_environ, _start_response):
    return [b"a body"]


@pytest.mark.parametrize(
    "application", [failing_stream, with_line_break, with_other_characters, without_start]
)
def test_an_invalid_response_is_replaced(application):
    with (
        serving(application) as address,
        socket.create_connection(address, timeout=SECONDS) as client,
    ):
        client.sendall(GET.replace(b"Host", b"Connection: close\r\nHost"))
        response = read(client)
    assert statuses(response) == [500]
    assert error(response)["status"] == 500
    assert b"Set-Cookie" not in response


def test_an_empty_response_has_a_length():
    """Without it, a client waits for a body until the connection is closed."""

    def empty(_environ, start_response):
        start_response("200 OK", [])
        return []

    with serving(empty) as address, socket.create_connection(address, timeout=SECONDS) as client:
        client.sendall(GET)
        assert b"Content-Length: 0\r\n" in client.recv(2**16)


def test_pipelined_requests_get_their_responses_in_order(send):
    close = GET.replace(b"Host", b"Connection: close\r\nHost")
    traits = GET.replace(b"/ HTTP", b"/traits HTTP")
    assert statuses(send(traits + GET + traits + close + traits)) == [401, 200, 401, 200]


def test_expectation_without_body_gets_a_response(send):
    head = b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
    assert statuses(send(head + b"Expect: 100-continue\r\n\r\n")) == [200]


def test_the_name_of_the_server_is_an_address_in_links():
    """Without ``Host``, links have the address on which the server listens."""

    def link(environ, start_response):
        start_response("200 OK", [("Location", request_uri(environ))])
        return []

    with ExitStack() as stack:
        address = stack.enter_context(serving(link, "::1"))
        client = stack.enter_context(socket.create_connection(address[:2], timeout=SECONDS))
        client.sendall(b"GET /a HTTP/1.0\r\n\r\n")
        assert b"Location: http://[::1]:%d/a\r\n" % address[1] in read(client)


def test_http_1_0_connection_is_closed_after_the_response(send):
    response = send(b"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n" * 2)
    assert statuses(response) == [200]
    assert b"Connection: close" in response


def test_refused_requests_are_logged(api, send):
    send(b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n")
    wait_until(lambda: re.search(r'"GET /" status: 400 ', api.output.read_text()))


# --- names of the host, and files -------------------------------------------------------


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
def test_development_mode_accepts_loopback_names_only(send, host, status):
    head = b"GET / HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n" % host.encode()
    assert statuses(send(head)) == [status]


def test_development_files_are_private(tmp_path):
    folder, metrics = tmp_path / "data", tmp_path / "metrics"
    variables = {"OS_METRICS__ENABLED": "true", "OS_METRICS__FOLDER": str(metrics)}
    with ApiProcess(tmp_path, "--development", str(folder), "--port", "0", **variables) as api:
        assert api.get("/traits", **{"X-Auth-Token": "admin"})[0] == 404
        private = [folder, metrics, *folder.iterdir()]
        modes = {path.name: stat.filemode(path.stat().st_mode)[4:] for path in private}
    assert set(modes.values()) == {"------"}, modes
    assert "placement.sqlite" in modes


def test_request_in_progress_is_completed_on_sigterm(tmp_path):
    """A request whose body is still arriving has begun."""
    with ApiProcess(tmp_path, "--development", "--port", "0") as api:
        api.get()
        host, port = api.url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=SECONDS) as connection:
            head = b"PUT /traits/CUSTOM_A HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n"
            others = b"Content-Type: a/b\r\nOpenStack-API-Version: placement latest\r\n"
            connection.sendall(head + others + TOKEN + b"Expect: 100-continue\r\n\r\n")
            assert statuses(connection.recv(2**16)) == [100]  # the server has read the head
            connection.sendall(b"{")
            api.process.terminate()
            wait_until(lambda: refuses(host, int(port)))
            connection.sendall(b"}")
            assert statuses(connection.recv(2**16)) == [201]
        assert api.process.wait(SECONDS) == 0


@pytest.mark.parametrize("workers", ["1", "2"])
def test_slow_client_does_not_delay_the_stop(tmp_path, workers):
    with ApiProcess(tmp_path, "--development", "--port", "0", "--workers", workers) as api:
        api.wait_for_workers(int(workers))  # SIGTERM may be lost in one that starts
        host, port = api.url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=SECONDS) as connection:
            connection.sendall(HEAD)
            api.get()
            api.process.terminate()
            assert api.process.wait(SECONDS) == 0


def refuses(host, port):
    try:
        socket.create_connection((host, port), timeout=SECONDS).close()
    except ConnectionRefusedError:
        return True
    return False
