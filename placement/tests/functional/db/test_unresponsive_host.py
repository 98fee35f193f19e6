"""Concurrent requests while the database host is unresponsive: the longest time until a 503."""

import threading
import time
import uuid
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest
import webtest

from placement.db.sqlalchemy import server_checks, tcp_timeouts
from placement.tests import servers
from placement.tests.functional.db.factories import new_provider

UNRESPONSIVE_SECONDS = 3
CONNECT_SECONDS = 2  # the least of libpq
MARGIN_SECONDS = 1.5  # coarse timers of the kernel, and a busy machine; less than a timeout
BOUND_SECONDS = UNRESPONSIVE_SECONDS + CONNECT_SECONDS + MARGIN_SECONDS
SECONDS_IDLE = server_checks.INTERVAL_SECONDS + 0.2  # connections are checked at the next use
SECONDS_OF_OUTAGE = BOUND_SECONDS + CONNECT_SECONDS
SECONDS_TO_RECOVER = CONNECT_SECONDS + MARGIN_SECONDS
THREADS_EACH = 3
HEADERS = {"X-Auth-Token": "admin", "OpenStack-API-Version": "placement 1.39"}
SERVER_ERROR = 500

Request = tuple[str, str, object]


@pytest.fixture(params=["pymysql", "psycopg"])
def driver(request):
    return request.param


@pytest.fixture
def backend(driver):
    return servers.DRIVERS[driver]


@pytest.fixture
def short_timeouts(monkeypatch):
    """Set timeouts that are short enough for a test."""
    monkeypatch.setattr(tcp_timeouts, "CONNECT_SECONDS", CONNECT_SECONDS)
    monkeypatch.setattr(tcp_timeouts, "UNRESPONSIVE_SECONDS", UNRESPONSIVE_SECONDS)
    monkeypatch.setattr(tcp_timeouts, "PROBE_SECONDS", 1)


@pytest.fixture
def conf(conf, far_url, short_timeouts):
    """The options of a service whose database is on the host."""
    conf.set_override("connection", far_url, "placement_database")
    return conf


@dataclass(frozen=True)
class Response:
    """The status of a request; its begin and duration in seconds."""

    request: str
    status: int
    begun_at: float
    seconds: float


@dataclass
class Clients:
    """Threads that send one request after another while ``is_active``."""

    application: object
    responses: list[Response] = field(default_factory=list)
    is_active: threading.Event = field(default_factory=threading.Event)
    is_ended: threading.Event = field(default_factory=threading.Event)

    def run(self, new_request: Callable[[], Request]) -> None:
        http = webtest.TestApp(self.application)
        while not self.is_ended.is_set():
            if not self.is_active.wait(0.1):
                continue
            method, path, body = new_request()
            begun_at = time.monotonic()
            status = send(http, method, path, body)
            seconds = time.monotonic() - begun_at
            self.responses.append(Response(f"{method} {path}", status, begun_at, seconds))
            time.sleep(0.05)

    def since(self, moment: float) -> list[Response]:
        """Return the responses to requests that began at this moment or later."""
        return [each for each in self.responses if each.begun_at >= moment]


def send(http, method, path, body) -> int:
    arguments = {"headers": HEADERS, "expect_errors": True}
    if method == "GET":
        return http.get(path, **arguments).status_int
    return http.put_json(path, body, **arguments).status_int


@contextmanager
def running(application, requests):
    clients = Clients(application)
    threads = [threading.Thread(target=clients.run, args=(each,)) for each in requests]
    for thread in threads:
        thread.start()
    try:
        yield clients
    finally:
        clients.is_ended.set()
        for thread in threads:
            thread.join()


def requests_for(provider) -> list[Callable[[], Request]]:
    """Return functions for a claim, a search of candidates, and a read."""

    def claim():
        body = {
            "allocations": {provider: {"resources": {"VCPU": 1}}},
            "consumer_generation": None,
            "consumer_type": "INSTANCE",
            "project_id": "project",
            "user_id": "user",
        }
        return "PUT", f"/allocations/{uuid.uuid4()}", body

    return [
        claim,
        lambda: ("GET", "/allocation_candidates?resources=VCPU:1", None),
        lambda: ("GET", f"/resource_providers/{provider}/inventories", None),
    ]


def slowest(responses) -> Response:
    return max(responses, key=lambda response: response.seconds)


def test_each_request_gets_its_503_within_two_timeouts(application, database_host, store):
    requests = requests_for(new_provider(store, VCPU=100_000)) * THREADS_EACH
    with running(application, requests) as clients:
        clients.is_active.set()
        time.sleep(1)
        clients.is_active.clear()
        time.sleep(SECONDS_IDLE)
        stopped_at = time.monotonic()
        database_host.stop_responding()
        clients.is_active.set()
        time.sleep(SECONDS_OF_OUTAGE)
        database_host.resume_responding()
        time.sleep(SECONDS_TO_RECOVER)
        recovered_at = time.monotonic()
        time.sleep(0.5)
    assert {each.status for each in clients.responses if each.begun_at < stopped_at} <= {200, 204}
    unavailable = [each for each in clients.responses if each.status >= SERVER_ERROR]
    assert {each.status for each in unavailable} == {503}
    longest = slowest(clients.responses)
    assert longest.seconds < BOUND_SECONDS, longest
    assert len(unavailable) >= 2 * len(requests)
    # without an open connection: no second attempt to connect
    later = [each for each in unavailable if stopped_at + UNRESPONSIVE_SECONDS < each.begun_at]
    assert slowest(later).seconds < CONNECT_SECONDS + MARGIN_SECONDS, slowest(later)
    assert all(each.begun_at < recovered_at for each in unavailable)
    assert len(clients.since(recovered_at)) >= len(requests)
