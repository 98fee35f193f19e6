"""Concurrent requests while the database host is unresponsive: the longest time until a 503."""

import threading
import time
import uuid
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass

import pytest
import webtest

from placement.db.connections import server_checks, timeouts
from placement.tests.functional.db.connections.connect_timeouts import (
    SHORT_SECONDS as CONNECT_SECONDS,
)
from placement.tests.support import servers
from placement.tests.support.factories import new_provider
from placement.tests.support.waiting import Stalls, wait_until

pytestmark = pytest.mark.long

UNRESPONSIVE_SECONDS = 3
MARGIN_SECONDS = 2.5  # for a busy machine; less than UNRESPONSIVE_SECONDS
BOUND_SECONDS = UNRESPONSIVE_SECONDS + CONNECT_SECONDS + MARGIN_SECONDS
SECONDS_IDLE = server_checks.INTERVAL_SECONDS + 0.2  # connections are checked at the next use
THREADS_EACH = 3
HEADERS = {"X-Auth-Token": "admin", "OpenStack-API-Version": "placement latest"}
UNAVAILABLE = 503

Request = tuple[str, str, object]


@pytest.fixture(params=["pymysql", "psycopg"])
def driver(request):
    return request.param


@pytest.fixture
def backend(driver):
    return servers.DRIVERS[driver]


@pytest.fixture
def short_timeouts(monkeypatch, connect_timeouts):
    """Set timeouts that are short enough for a test.

    That of an open connection may be short from the beginning: the kernel of a busy machine
    acknowledges packets at once.
    """
    monkeypatch.setattr(timeouts, "UNRESPONSIVE_SECONDS", UNRESPONSIVE_SECONDS)
    monkeypatch.setattr(timeouts, "PROBE_SECONDS", 1)
    return connect_timeouts


@pytest.fixture
def conf(conf, far_url, short_timeouts):
    """The options of a service whose database is on the host."""
    conf.set_override("connection", far_url, "placement_database")
    return conf


@dataclass(frozen=True)
class Response:
    """The status of a request; its begin and end, and the connections that timed out for it."""

    request: str
    status: int
    begun_at: float
    ended_at: float
    connect_timeouts: int


class Client:
    """A thread that sends one request after another while it is active."""

    def __init__(
        self, application: object, new_request: Callable[[], Request], connect_timeouts
    ) -> None:
        self.responses: list[Response] = []
        self._http = webtest.TestApp(application)
        self._new_request = new_request
        self._connect_timeouts = connect_timeouts
        self._is_active = threading.Event()
        self._is_ended = threading.Event()
        self._sending = threading.Lock()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def resume(self) -> None:
        self._is_active.set()

    def pause(self) -> None:
        """Return when no request is in progress."""
        self._is_active.clear()
        with self._sending:
            pass

    def end(self) -> None:
        self._is_ended.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._is_ended.is_set():
            self._is_active.wait(0.1)
            with self._sending:
                if self._is_active.is_set():
                    self.responses.append(self._response())
            time.sleep(0.05)

    def _response(self) -> Response:
        method, path, body = self._new_request()
        timeouts, begun_at = self._connect_timeouts.count(), time.monotonic()
        status = send(self._http, method, path, body)
        ended_at, timeouts = time.monotonic(), self._connect_timeouts.count() - timeouts
        return Response(f"{method} {path}", status, begun_at, ended_at, timeouts)

    def since(self, moment: float) -> list[Response]:
        """Return the responses to requests that began at this moment or later."""
        return [each for each in self.responses if each.begun_at >= moment]

    def unavailable(self) -> list[Response]:
        return [each for each in self.responses if each.status == UNAVAILABLE]


def send(http, method, path, body) -> int:
    arguments = {"headers": HEADERS, "expect_errors": True}
    if method == "GET":
        return http.get(path, **arguments).status_int
    return http.put_json(path, body, **arguments).status_int


@contextmanager
def running(application, requests, connect_timeouts):
    clients = [Client(application, each, connect_timeouts) for each in requests]
    try:
        yield clients
    finally:
        for client in clients:
            client.end()


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


def send_at_least(count, clients, since) -> None:
    """Return when each client has had so many responses to requests that began since."""
    for client in clients:
        client.resume()
    wait_until(lambda: all(len(client.since(since)) >= count for client in clients))


def test_each_request_gets_its_503_within_two_timeouts(
    application, database_host, store, short_timeouts
):
    requests = requests_for(new_provider(store, VCPU=100_000)) * THREADS_EACH
    with Stalls() as stalls, running(application, requests, short_timeouts) as clients:
        send_at_least(3, clients, since=0)
        for client in clients:
            client.pause()
        time.sleep(SECONDS_IDLE)
        stopped_at = time.monotonic()
        database_host.stop_responding()
        send_at_least(2, clients, since=stopped_at)
        database_host.resume_responding()
        send_at_least(1, clients, since=time.monotonic())
        recovered_at = time.monotonic()
        send_at_least(2, clients, since=recovered_at)
    responses = [each for client in clients for each in client.responses]
    assert {each.status for each in responses} == {200, 204, UNAVAILABLE}
    unavailable = [each for each in responses if each.status == UNAVAILABLE]
    assert all(stopped_at <= each.begun_at < recovered_at for each in unavailable)
    assert all(len(client.unavailable()) >= 2 for client in clients)

    def seconds_of(response):
        stalled = stalls.seconds(response.begun_at, response.ended_at)
        return response.ended_at - response.begun_at - stalled

    longest = max(responses, key=seconds_of)
    assert seconds_of(longest) < BOUND_SECONDS, longest
    # without an open connection: no second attempt to connect
    assert {each.connect_timeouts for each in responses} == {0, 1}
    later = [each for each in unavailable if stopped_at + UNRESPONSIVE_SECONDS < each.begun_at]
    slowest = max(later, key=seconds_of)
    assert seconds_of(slowest) < CONNECT_SECONDS + MARGIN_SECONDS, slowest
