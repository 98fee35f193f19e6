"""What is done once a response has been sent."""

import logging
from types import SimpleNamespace

import pytest
import webob.dec

from placement.http import middleware, request_log
from placement.http.middleware import AfterResponse
from placement.http.request import AFTER_RESPONSE
from placement.http.response import json_response
from placement.tests.support.loggers import messages
from placement.tests.support.stub_service import ADMIN, DECLARATIONS, application, configured


class Body:
    """A body that notes when it is sent and closed."""

    def __init__(self, events):
        self.events = events

    def __iter__(self):
        self.events.append("sent")
        yield b"body"

    def close(self):
        self.events.append("closed")


@pytest.fixture
def events():
    return []


def served(events, *tasks):
    def inner(environ, start_response):
        environ[AFTER_RESPONSE] += tasks
        start_response("200 OK", [])
        return Body(events)

    return AfterResponse(inner)({}, lambda status, headers: None)


def test_tasks_run_when_the_response_is_closed_and_once(events):
    parts = served(events, lambda: events.append("task"))
    assert list(parts) == [b"body"]
    assert events == ["sent"]
    parts.close()
    parts.close()
    assert events == ["sent", "closed", "task", "closed"]


def test_a_task_that_fails_is_logged_and_the_others_run(events, caplog):
    caplog.set_level(logging.ERROR, logger=middleware.LOG.name)
    parts = served(events, lambda: 1 / 0, lambda: events.append("task"))
    parts.close()
    assert events == ["closed", "task"]
    assert "ZeroDivisionError" in caplog.text


def test_tasks_run_if_the_parts_cannot_be_closed(events):
    def inner(environ, start_response):
        environ[AFTER_RESPONSE].append(lambda: events.append("task"))
        return SimpleNamespace(close=lambda: 1 / 0)

    parts = AfterResponse(inner)({}, None)
    with pytest.raises(ZeroDivisionError):
        parts.close()
    assert events == ["task"]


def test_tasks_run_before_an_exception_reaches_the_server(events):
    """As of ``start_response``, if the client has left."""

    def inner(environ, start_response):
        environ[AFTER_RESPONSE].append(lambda: events.append("task"))
        start_response("200 OK", [])

    def start(status, headers):
        raise OSError("the client has left")

    with pytest.raises(OSError, match="has left"):
        AfterResponse(inner)({}, start)
    assert events == ["task"]


def test_a_response_without_tasks_is_what_it_was(events):
    assert isinstance(served(events), Body)


def test_layers_made_of_webob_pass_the_end_on(events):
    """As Keystone's middleware, CORS and the profilers are."""

    @webob.dec.wsgify.middleware
    def layer(request, inner):
        return request.get_response(inner)

    def inner(environ, start_response):
        environ[AFTER_RESPONSE].append(lambda: events.append("task"))
        start_response("200 OK", [("content-type", "text/plain")])
        return [b"body"]

    request = webob.Request.blank("/")
    parts = AfterResponse(layer(layer(inner)))(request.environ, lambda *_: None)
    assert (b"".join(parts), events) == (b"body", [])
    parts.close()
    assert events == ["task"]


def test_the_request_is_logged_after_the_response_and_before_other_tasks(caplog, monkeypatch):
    def show(request):
        request.after_response(lambda: middleware.LOG.info("task"))
        return json_response(request, b"{}")

    caplog.set_level(logging.INFO)
    monkeypatch.setitem(DECLARATIONS, "/tasks", {"GET": show})
    request = webob.Request.blank("/tasks", headers=ADMIN)
    parts = application(configured())(request.environ, lambda *_: None)
    loggers = (request_log.LOG, middleware.LOG)
    assert (b"".join(parts), messages(caplog, *loggers)) == (b"{}", [])
    parts.close()
    line, task = messages(caplog, *loggers)
    assert line.startswith('- "GET /tasks" status: 200 len: 2 ')
    assert task == "task"


def test_the_whole_pipeline_ends_with_the_tasks(events, monkeypatch):
    def show(request):
        request.after_response(lambda: events.append("task"))
        return json_response(request, b"{}")

    monkeypatch.setitem(DECLARATIONS, "/tasks", {"GET": show})
    request = webob.Request.blank("/tasks", headers=ADMIN)
    parts = application(configured(cors__allowed_origin=["http://ui"]))(
        request.environ, lambda *_: None
    )
    assert (b"".join(parts), events) == (b"{}", [])
    parts.close()
    assert events == ["task"]
