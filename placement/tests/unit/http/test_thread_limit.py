"""Few threads serve the routes without microversions; however a request ends, others follow it."""

import logging
from contextlib import suppress

import pytest
import webob

from placement.http.response import StreamedBody, json_response
from placement.tests.support.stub_service import ADMIN, DECLARATIONS, application, configured

MOST = 6
MORE_THAN_PLACES = 20
PATH = "/insight/all"


class ClientLeftError(OSError):
    """Servers raise such an error if the client has closed the connection."""


def listed(request):
    return json_response(request, StreamedBody(lambda: iter([b"[1,", b"2]"]), 6))


def failing(request):
    raise ZeroDivisionError


def broken(request):
    def pieces():
        yield b"[1,"
        raise ZeroDivisionError

    return json_response(request, StreamedBody(pieces, 6))


@pytest.fixture
def send(monkeypatch):
    """Return a function that begins a request; it returns status, headers and parts."""
    for name, handler in (("all", listed), ("failing", failing), ("broken", broken)):
        monkeypatch.setitem(DECLARATIONS, f"/insight/{name}", {"GET": handler})
    served = application(configured())

    def begin(path=PATH, start=lambda *_: None, **headers):
        request, started = webob.Request.blank(path, headers=ADMIN | headers), []

        def start_response(*arguments):
            started.append(arguments)
            start(*arguments)

        parts = served(request.environ, start_response)
        status, response_headers, *_ = started[-1]
        return status[:3], dict(response_headers), parts

    return begin


def end(parts):
    """Send a response to its end, as a server does."""
    try:
        return b"".join(parts)
    finally:
        if hasattr(parts, "close"):
            parts.close()


def test_a_request_beyond_the_limit_is_refused_at_once(send, caplog):
    caplog.set_level(logging.WARNING)
    unread = [send() for _ in range(MOST)]
    assert [status for status, *_ in unread] == ["200"] * MOST
    status, headers, parts = send()
    assert (status, headers["Retry-After"]) == ("503", "1")
    assert b"handles 6 requests of this kind already" in end(parts)
    assert send("/")[0] == send("/things")[0] == "200"
    assert end(unread[0][2]) == b"[1,2]"
    assert send()[0] == "200"
    assert caplog.records == []


def leave(*_arguments):
    raise ClientLeftError


def not_started(send):
    send(start=leave)


def started_late(send):
    calls = []
    end(send(start=lambda *_: calls.append(1) or (len(calls) == 1 and leave()))[2])


def closed_before_the_first_part(send):
    send()[2].close()


def closed_between_parts(send):
    parts = send()[2]
    assert next(iter(parts)) == b"[1,"
    parts.close()


def dropped(send):
    next(iter(send()[2]))


def failed_in_the_handler(send):
    end(send("/insight/failing")[2])


def failed_between_parts(send):
    end(send("/insight/broken")[2])


def not_acceptable(send):
    end(send(OpenStack_API_Version="placement 9.9")[2])


def closed_twice(send):
    parts = send()[2]
    end(parts)
    parts.close()


@pytest.mark.parametrize(
    "break_off",
    [
        *(not_started, started_late, closed_before_the_first_part, closed_between_parts, dropped),
        *(failed_in_the_handler, failed_between_parts, not_acceptable, closed_twice),
    ],
)
def test_a_place_is_given_back_however_a_request_ends(send, break_off):
    for _ in range(MORE_THAN_PLACES):
        with suppress(ClientLeftError, ZeroDivisionError):
            break_off(send)
    unread = [send() for _ in range(MOST + 1)]
    assert [status for status, *_ in unread] == ["200"] * MOST + ["503"]
