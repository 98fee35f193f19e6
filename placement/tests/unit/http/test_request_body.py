import io
import json

import pytest

from placement import exception
from placement.http import request_body

MAX_BYTES = 2**24


def environ(content, **more):
    return {"wsgi.input": io.BytesIO(content), "CONTENT_LENGTH": str(len(content)), **more}


@pytest.mark.parametrize(
    "value", [{}, [], 1, 1.5, "☃", None, True, {"a": ["😀", {"b": "\\u0000"}]}, [[]] * 200]
)
def test_json_is_decoded(value):
    assert request_body.decode(environ(json.dumps(value).encode()), MAX_BYTES) == value
    assert (
        request_body.decode(environ(json.dumps(value, ensure_ascii=False).encode()), MAX_BYTES)
        == value
    )


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"pony",
        b"{",
        b"\xff",
        b"\xef\xbb\xbf{}",
        "{}".encode("utf-16"),
        b"NaN",
        b'{"a": -Infinity}',
        rb'"\u0000"',
        rb'{"\u0000": 1}',
        rb'[{"a": "\ud800"}]',
        b'"\0"',
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b"[" * 101 + b"]" * 101,
        b"9" * 5000,
    ],
    ids=lambda content: repr(content[:20]),
)
def test_invalid_json_is_malformed(content):
    with pytest.raises(exception.MalformedJson, match="Malformed JSON:"):
        request_body.decode(environ(content), MAX_BYTES)


def test_body_without_length_is_read_if_input_is_terminated():
    chunked = {"wsgi.input": io.BytesIO(b"{}"), "wsgi.input_terminated": True}
    assert request_body.decode(chunked, MAX_BYTES) == {}


@pytest.mark.parametrize("length", ["pony", "1.5", "-1", "9" * 5000])
def test_a_length_that_makes_no_sense_is_refused(length):
    with pytest.raises(exception.BadRequest, match="content-length"):
        request_body.check_headers(
            {"CONTENT_LENGTH": length, "CONTENT_TYPE": "application/json"}, MAX_BYTES
        )


@pytest.mark.parametrize("content_type", [{}, {"CONTENT_TYPE": ""}])
def test_a_body_needs_a_type(content_type):
    with pytest.raises(exception.BadRequest, match="content-type header required"):
        request_body.check_headers({"CONTENT_LENGTH": "1", **content_type}, MAX_BYTES)
    request_body.check_headers({"CONTENT_LENGTH": "0", **content_type}, MAX_BYTES)
    request_body.check_headers({"CONTENT_LENGTH": "", **content_type}, MAX_BYTES)
