"""What is bounded in a request, before it costs time or memory."""

import io
import json
import time

import pytest
import webob

from placement import exception
from placement.http import request_body, request_log
from placement.tests.support.loggers import messages
from placement.tests.support.stub_service import LATEST, service

JSON = {"Content-Type": "application/json"}


@pytest.fixture(scope="module")
def http():
    return service()


@pytest.fixture(scope="module")
def send(http):
    """Return a function that sends an environment as it is."""

    def response_to(**environ):
        request = webob.Request.blank("/things/1", headers=LATEST | JSON)
        request.environ.update(environ)
        return request.get_response(http.app)

    return response_to


def error(response):
    """Return the error document, which every refusal has."""
    (document,) = response.json["errors"]
    assert document["status"] == response.status_int
    assert document["request_id"] == response.headers["x-openstack-request-id"]
    return document


# --- bodies --------------------------------------------------------------------------


class Unread:
    def read(self, size=-1):
        raise AssertionError("a body that is too long is not read")


class Endless:
    """A chunked body that does not end."""

    sent = 0

    def read(self, size=-1):
        assert size > 0
        self.sent += size
        return b" " * size


@pytest.mark.parametrize("path", ["/things/1", "/nowhere"])
def test_a_long_body_is_413_before_it_is_read(send, path):
    """It was read, parsed and copied into a message: 60 MB took 18 s and 1.9 GiB."""
    body = {"wsgi.input": Unread(), "CONTENT_LENGTH": str(2**24 + 1)}
    response = send(REQUEST_METHOD="PUT", PATH_INFO=path, **body)
    assert response.status_int == 413
    document = error(response)
    assert document["title"] == "Request Entity Too Large"
    assert document["code"] == "placement.undefined_code"
    assert "The request body exceeds 16777216 bytes." in document["detail"]


def test_an_endless_body_is_413_after_the_limit(send):
    stream = Endless()
    body = {"wsgi.input": stream, "wsgi.input_terminated": True, "CONTENT_LENGTH": ""}
    response = send(REQUEST_METHOD="PUT", **body)
    assert response.status_int == 413
    assert "The request body exceeds" in error(response)["detail"]
    assert stream.sent < 2**25


def test_a_body_of_exactly_the_limit_is_read():
    body = json.dumps("x" * 998).encode()
    length = {"CONTENT_LENGTH": "1000", "CONTENT_TYPE": "application/json"}
    request_body.check_headers(length, 1000)
    chunked = {"wsgi.input": io.BytesIO(body), "wsgi.input_terminated": True}
    assert request_body.decode(chunked, 1000) == "x" * 998
    with pytest.raises(exception.RequestBodyTooLarge):
        request_body.check_headers(length, 999)


class Broken:
    def read(self, size=-1):
        raise OSError("error during read(65536) on wsgi.input")


class InvalidChunkSizeError(Exception):
    """As the errors of Gunicorn: no OSError, no ValueError."""


class Malformed:
    def read(self, size=-1):
        raise InvalidChunkSizeError("Invalid chunk size: b'-1'")


@pytest.mark.parametrize(
    ("environ", "reason"),
    [
        (
            {"wsgi.input": Malformed(), "wsgi.input_terminated": True},
            "cannot be read: Invalid chunk size: b'-1'",
        ),
        (
            {"wsgi.input": Broken(), "CONTENT_LENGTH": "9"},
            "cannot be read: error during read(65536) on wsgi.input",
        ),
        ({"wsgi.input": Broken(), "wsgi.input_terminated": True}, "cannot be read: error during"),
        ({"wsgi.input": io.BytesIO(b'{"a"'), "CONTENT_LENGTH": "9"}, "ends after 4 of 9 bytes"),
    ],
    ids=["negative size", "timeout", "chunk size", "connection ended"],
)
def test_a_body_that_breaks_off_is_not_called_malformed_json(send, environ, reason):
    response = send(REQUEST_METHOD="PUT", **environ)
    assert response.status_int == 400
    assert f"The request body {reason}" in error(response)["detail"]
    assert "Malformed JSON" not in response.text


@pytest.mark.parametrize("item", [b"[]", b"{}", b"1", b'{"a":1}'])
def test_very_many_values_are_refused_before_they_are_decoded(monkeypatch, item):
    monkeypatch.setattr(request_body.json, "loads", None)
    body = b"[" + b",".join([item] * 1_000_001) + b"]"
    environ = {"wsgi.input": io.BytesIO(body), "CONTENT_LENGTH": str(len(body))}
    with pytest.raises(exception.MalformedJson, match="more than 1000000 values"):
        request_body.decode(environ, 2**24)


# --- heads ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["PATH_INFO", "QUERY_STRING"])
def test_a_long_request_line_is_414_without_authentication(send, name, caplog):
    caplog.set_level("DEBUG", "placement.requestlog")
    response = send(HTTP_X_AUTH_TOKEN="", **{name: "a" * 2**17})
    assert response.status_int == 414
    assert "The request line exceeds 65536 bytes." in error(response)["detail"]
    assert max(map(len, messages(caplog, request_log.LOG))) < 3000


def test_very_many_accept_lines_are_431(http):
    """300,000 of them took 7 s."""
    many = ", ".join(["text/html"] * 10_000)
    response = http.get("/", headers={"Accept": many}, status=431)
    assert "The request line and headers exceed 65536 bytes." in error(response)["detail"]


@pytest.mark.parametrize("separator", ["&", ";"])
def test_the_number_of_parameters_is_bounded(http, separator):
    pairs = ["project_id=a"] * 2000
    http.get(f"/things?{separator.join(pairs)}", headers=LATEST, status=200)
    response = http.get(f"/things?{separator.join([*pairs, 'a=b'])}", headers=LATEST, status=400)
    assert "parameters: more than 2000 of them" in error(response)["detail"]


LONG = "<" * 60_000


@pytest.mark.parametrize(
    ("environ", "status"),
    [
        ({"HTTP_ACCEPT": f'text/html;a="{LONG}"'}, 406),
        ({"REQUEST_METHOD": "PUT", "CONTENT_TYPE": LONG}, 415),
        ({"REQUEST_METHOD": LONG}, 405),
    ],
    ids=["accept", "content-type", "method"],
)
def test_what_an_error_quotes_of_a_request_is_bounded(send, environ, status):
    """WebOb searches it for tags in quadratic time: 60 kB took 12 s."""
    began = time.process_time()
    response = send(**environ)
    assert response.status_int == status
    assert len(response.body) < 10_000
    assert time.process_time() - began < 5
