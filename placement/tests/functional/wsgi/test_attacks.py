"""Attacks on the documented deployments, and how long others are not served.

The samples are used as they are, except for paths, ports and users, with the limits of open files
that systemd sets. The number of connections and the duration are bounded. The page on servers has
a table of these measurements.
"""

import re
import resource
import shutil
import socket
import struct
import threading
import time
from collections.abc import Callable
from contextlib import contextmanager, suppress
from typing import NamedTuple

import pytest
import requests
import sqlalchemy as sa

from placement.tests.functional.plugin import configured_deployment
from placement.tests.support.processes import (
    BIN,
    LATEST,
    Deployment,
    nginx_http_site,
    nginx_main_lines,
    nginx_site,
    sample,
    start_apache_proxy,
    start_gunicorn,
    start_mod_wsgi,
    start_nginx,
    start_uwsgi_behind_proxy,
)
from placement.tests.support.servers import free_port
from placement.tests.support.slow_clients import (
    SLOW,
    SLOW_ALLOWED,
    UNREAD,
    OtherClient,
    add_many_traits,
    continuous_bytes,
    sent,
)
from placement.tests.support.waiting import wait_until

SECONDS = 60
SECONDS_OF_ATTACK = 3
LONGEST_SECONDS = 30  # Apache closes connections with slow bodies after 10 s
CLIENTS = 2000
UNREAD_RESPONSES = 20  # more than the services have threads
TRAITS = 35_000  # a response of 7 MB, more than the buffers of sockets contain
OPEN_FILES = 1024  # of a process that systemd starts, if its unit does not say more
CHUNKING_CLIENTS = 4
CLIENTS_THAT_GIVE_UP = 200
RESET = struct.pack("ii", 1, 0)  # for SO_LINGER: close at once
SMUGGLED = b"PUT /placement/traits/CUSTOM_SMUGGLED HTTP/1.1\r\nHost: localhost\r\n" + (
    b"X-Auth-Token: admin\r\nOpenStack-API-Version: placement 1.6\r\n"
    b"Connection: close\r\nContent-Length: 0\r\n\r\n"
)
HEAD = b"POST /placement/traits HTTP/1.1\r\nHost: localhost\r\nX-Auth-Token: admin\r\n"
pytestmark = [
    pytest.mark.long,
    pytest.mark.timeout(900),
    pytest.mark.xdist_group("attacks"),
]


@contextmanager
def open_files(count):
    """Allow this process, and the processes that it starts, so many open files in the block."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(count, hard), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def start_uwsgi(deployment, **options):
    """Start uWSGI with as many open files as the unit of systemd allows; return its socket."""
    (count,) = re.findall(r"LimitNOFILE=(\d+)", sample("systemd/placement-api.service"))
    with open_files(int(count)):
        return start_uwsgi_behind_proxy(deployment, **options)


def start_nginx_and_uwsgi(deployment):
    start_nginx(deployment, nginx_site(deployment, start_uwsgi(deployment)), nginx_main_lines())


def start_nginx_and_gunicorn(deployment):
    address = f"127.0.0.1:{free_port()}"
    start_gunicorn(deployment, address)
    start_nginx(deployment, nginx_http_site(deployment, address), nginx_main_lines())


def start_uwsgi_alone(deployment):
    start_uwsgi(deployment, has_http=True)


def start_apache_and_uwsgi(deployment):
    start_apache_proxy(deployment, start_uwsgi(deployment), "headers")


def start_apache_and_mod_wsgi(deployment):
    start_mod_wsgi(deployment, BIN / "placement-api")


class Attack(NamedTuple):
    """The text that each client sends first; then the clients send a byte a second."""

    text: str
    clients: int = CLIENTS


ATTACKS = {
    "silent": Attack(""),
    "heads": Attack(SLOW["head"]),
    "bodies": Attack(SLOW["body"].replace("9\r", "9000\r")),
    "bodies with a token": Attack(SLOW_ALLOWED),
    "unread": Attack(UNREAD, UNREAD_RESPONSES),
}


class Servers(NamedTuple):
    """Documented servers: how they start, the path of the service, and what they do not resist."""

    start: Callable[[Deployment], None]
    path: str = "/placement"
    weak: frozenset[str] = frozenset()


SERVERS = {
    "nginx and uWSGI": Servers(start_nginx_and_uwsgi),
    "nginx and Gunicorn": Servers(start_nginx_and_gunicorn, ""),
    "uWSGI": Servers(start_uwsgi_alone, weak=frozenset({"bodies with a token"})),
    "Apache and uWSGI": Servers(start_apache_and_uwsgi),
    "Apache and mod_wsgi": Servers(
        start_apache_and_mod_wsgi, weak=frozenset({"bodies", "bodies with a token"})
    ),
}


@pytest.fixture(scope="module")
def database(kept_databases, tmp_path_factory):
    """The path of a database with a list of traits that is a long response."""
    path = tmp_path_factory.mktemp("copied") / "placement.sqlite"
    shutil.copy(sa.make_url(kept_databases("sqlite")).database, path)
    add_many_traits(f"sqlite:///{path}", TRAITS)
    return path


@contextmanager
def deployed(name, database):
    """Run servers on a copy of the database; any user may write it, as mod_wsgi's does."""
    with configured_deployment("sqlite://") as deployment:
        copy = deployment.folder / "placement.sqlite"
        shutil.copy(database, copy)
        copy.chmod(0o666)
        deployment.folder.chmod(0o777)
        deployment.variables["OS_PLACEMENT_DATABASE__CONNECTION"] = f"sqlite:///{copy}"
        with open_files(OPEN_FILES):
            SERVERS[name].start(deployment)
        deployment.wait(f"{SERVERS[name].path}/")
        with open_files(4 * CLIENTS):
            yield deployment


@contextmanager
def others_are_served(deployed, path, attack):
    """Check that another client is served during the block, and print for how long it was not."""
    with OtherClient(f"{deployed.url}{path}/resource_providers") as other:
        yield
        wait_until(lambda: other.served > 1, SECONDS, message=deployed.logs)
    print(
        f"\n{attack}: served {other.served} of {other.tried} requests of another client, which "
        f"was not served for at most {other.longest_seconds:.2f} s"
    )
    assert other.served == other.tried > 1, deployed.logs()
    assert other.longest_seconds < LONGEST_SECONDS


@pytest.mark.parametrize("name", SERVERS)
def test_others_are_served_during_attacks(name, database):
    path = SERVERS[name].path
    with deployed(name, database) as deployment:
        for attack, (text, clients) in ATTACKS.items():
            if attack in SERVERS[name].weak:
                continue
            texts = [text.replace(" /", f" {path}/", 1)] * clients
            with (
                sent(texts, deployment.port) as connections,
                continuous_bytes(connections),
                others_are_served(deployment, path, f"{name}, {clients} {attack}"),
            ):
                time.sleep(SECONDS_OF_ATTACK)
            deployment.wait(f"{path}/")
        give_up(deployment, f"GET {path}/resource_providers HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert "CRITICAL" not in deployment.complete_logs()


def give_up(deployment, request):
    """Send requests, and close their connections before the responses."""
    for _ in range(CLIENTS_THAT_GIVE_UP):
        with connected(deployment) as connection:
            connection.sendall(request.encode())
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
    time.sleep(1)


@pytest.fixture(scope="module")
def nginx(database):
    """nginx in front of uWSGI for several tests."""
    with deployed("nginx and uWSGI", database) as deployment:
        yield deployment


def test_small_chunks_without_end(nginx):
    head = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
    until = time.monotonic() + SECONDS_OF_ATTACK

    def attack():
        while time.monotonic() < until:
            with connected(nginx) as connection, suppress(OSError):
                connection.sendall(head)
                while time.monotonic() < until:  # nginx closes the connection at 16 MiB
                    connection.sendall(b"1\r\na\r\n" * 10_000)

    threads = [threading.Thread(target=attack) for _ in range(CHUNKING_CLIENTS)]
    with others_are_served(
        nginx, "/placement", f"{CHUNKING_CLIENTS} clients that send small chunks"
    ):
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


def connected(deployed):
    return socket.create_connection(("127.0.0.1", deployed.port), SECONDS)


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
    "folded line": b"X-A: b\r\n Content-Length: 5\r\n",
    "folded coding": b"Transfer-Encoding:\r\n chunked\r\n",
}
UNKNOWN_CODINGS = {"chunked twice", "two codings", "unknown coding"}
MALFORMED_CHUNKS = {
    "size with sign": b"+5\r\nhello\r\n0\r\n\r\n",
    "size with 0x": b"0x5\r\nhello\r\n0\r\n\r\n",
    "size of text": b"pony\r\nhello\r\n0\r\n\r\n",
    "size of 17 digits": b"10000000000000005\r\nhello\r\n0\r\n\r\n",
    "no line end after the data": b"5\r\nhello0\r\n\r\n",
    "less data than the size": b"9\r\nhello\r\n0\r\n\r\n",
    "no size": b"\r\nhello\r\n0\r\n\r\n",
}


def test_ambiguous_requests(nginx):
    """nginx refuses each, and closes the connection: nothing after it is a request."""
    cases = {name: HEAD + lines + b"\r\n0\r\n\r\n" for name, lines in AMBIGUOUS.items()} | {
        name: HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + body
        for name, body in MALFORMED_CHUNKS.items()
    }
    statuses = set()
    with others_are_served(nginx, "/placement", f"{len(cases)} ambiguous requests"):
        until = time.monotonic() + SECONDS_OF_ATTACK
        while time.monotonic() < until:
            for name, request in cases.items():
                response = received(nginx, request + SMUGGLED)
                statuses.add((name, *re.findall(rb"HTTP/1\.[01] (\d+)", response)))
    refused = {(name, b"400") for name in cases.keys() - UNKNOWN_CODINGS}
    assert statuses == refused | {(name, b"501") for name in UNKNOWN_CODINGS}
    assert not is_executed(nginx)


def received(deployed, request):
    """Return what nginx sends until it closes the connection."""
    response = b""
    with connected(deployed) as connection, suppress(ConnectionError):
        connection.sendall(request)
        while part := connection.recv(2**16):
            response += part
    return response


def is_executed(deployed):
    url = f"{deployed.url}/placement/traits/CUSTOM_SMUGGLED"
    return requests.get(url, headers=LATEST, timeout=SECONDS).status_code == 204
