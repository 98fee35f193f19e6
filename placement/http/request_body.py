"""Reading and decoding of JSON request bodies."""

import json
from collections.abc import Iterable, Iterator
from typing import Any, cast
from wsgiref.types import InputStream, WSGIEnvironment

from placement import exception
from placement.core.text import is_storable

_MAX_DEPTH = 100
_MAX_VALUES = 1_000_000
_PIECE_BYTES = 2**16


def check_headers(environ: WSGIEnvironment, max_bytes: int) -> None:
    """Check that a body has a valid length and a type.

    Raises: BadRequest, RequestBodyTooLarge.
    """
    length = environ.get("CONTENT_LENGTH")
    if not length:
        return
    try:
        length_bytes = int(length)
    except ValueError:
        raise exception.BadRequest("content-length header must be an integer") from None
    if length_bytes < 0:
        raise exception.BadRequest("content-length header must not be negative")
    if length_bytes > max_bytes:
        raise exception.RequestBodyTooLarge(max_bytes)
    if length_bytes and not environ.get("CONTENT_TYPE"):
        raise exception.BadRequest("content-type header required when content-length > 0")


def decode(environ: WSGIEnvironment, max_bytes: int) -> Any:
    """Return the body as Python values.

    Raises: RequestBodyTooLarge; BadRequest if the body cannot be read to its end; MalformedJson,
    also for values that JSON does not have (NaN), that databases cannot store (NUL, unpaired
    surrogates), or that exceed limits (number and nesting of values, digits of an integer).
    """
    body = _read(environ, max_bytes)
    try:
        _refuse_many(body)
        value = json.loads(body.decode(), parse_constant=_refuse_constant)
        _refuse_depth(value, body)
        if b"\\u" in body:
            _refuse_unstorable(value)
    except (ValueError, RecursionError) as error:
        raise exception.MalformedJson(f"Malformed JSON: {error}") from None
    return value


def _read(environ: WSGIEnvironment, max_bytes: int) -> bytes:
    """Return the body up to its declared length, or to the end of a terminated input."""
    stream = environ["wsgi.input"]
    length = int(environ.get("CONTENT_LENGTH") or 0)
    try:
        if environ.get("wsgi.input_terminated"):
            return _read_terminated(stream, max_bytes)
        body = cast("bytes", stream.read(length))
    except exception.RequestBodyTooLarge:
        raise
    except Exception as error:  # each server has its own: the body is malformed or breaks off
        raise _incomplete(f"cannot be read: {error}") from None
    if len(body) < length:
        raise _incomplete(f"ends after {len(body)} of {length} bytes")
    return body


def _read_terminated(stream: InputStream, max_bytes: int) -> bytes:
    pieces, size = [], 0
    while piece := stream.read(_PIECE_BYTES):
        pieces.append(piece)
        size += len(piece)
        if size > max_bytes:
            raise exception.RequestBodyTooLarge(max_bytes)
    return b"".join(pieces)


def _incomplete(reason: str) -> exception.BadRequest:
    return exception.BadRequest(
        f"The request body {reason}. Check the connection and the proxies, then retry."
    )


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


def _refuse_many(body: bytes) -> None:
    """Refuse too many values: an empty list takes 3 bytes in the body and 64 in memory."""
    if body.count(b",") + body.count(b"[") + body.count(b"{") > _MAX_VALUES:
        raise ValueError(f"more than {_MAX_VALUES} values")


def _refuse_depth(value: object, body: bytes) -> None:
    """Refuse nesting that would exhaust the stack of recursive code such as validation."""
    if body.count(b"[") + body.count(b"{") <= _MAX_DEPTH:
        return
    level = [value]
    for _ in range(_MAX_DEPTH):
        level = [inner for item in level for inner in _children(item)]
    if level:
        raise ValueError(f"more than {_MAX_DEPTH} levels")


def _children(value: object) -> Iterable[object]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def _refuse_unstorable(value: object) -> None:
    if not all(map(is_storable, _texts(value))):
        raise ValueError("NUL and surrogates are not allowed")


def _texts(value: object) -> Iterator[str]:
    """Yield all strings in the value, including keys."""
    if isinstance(value, str):
        yield value
    if isinstance(value, dict):
        yield from value
    for inner in _children(value):
        yield from _texts(inner)
