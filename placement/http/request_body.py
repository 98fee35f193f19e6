"""The body of a request: how long it is, and what JSON it holds."""

import json
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, cast

from placement import exception

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIEnvironment

_LIMIT_BYTES = 2**31
_LIMIT_LEVELS = 100


def check_headers(environ: "WSGIEnvironment") -> None:
    """Refuse a body of no type or of no sensible length.  Raises: BadRequest."""
    length = environ.get("CONTENT_LENGTH")
    if not length:
        return
    try:
        bytes_to_come = int(length)
    except ValueError:
        raise exception.BadRequest("content-length header must be an integer") from None
    if not 0 <= bytes_to_come < _LIMIT_BYTES:
        raise exception.BadRequest(f"content-length must be less than {_LIMIT_BYTES}")
    if bytes_to_come and not environ.get("CONTENT_TYPE"):
        raise exception.BadRequest("content-type header required when content-length > 0")


def decoded(environ: "WSGIEnvironment") -> Any:
    """Return the body as Python values.

    Raises: MalformedJson, also for what JSON cannot say (NaN), and for what no database stores
    (NUL, halves of surrogate pairs) or nobody needs (a hundred levels, integers of 5000 digits).
    """
    try:
        body = _read(environ)
        value = json.loads(body.decode(), parse_constant=_refuse_constant)
        _refuse_depth(value, body)
        if b"\\u" in body:
            _refuse_unstorable(value)
    except (OSError, ValueError, RecursionError) as error:
        raise exception.MalformedJson(f"Malformed JSON: {error}") from None
    return value


def _read(environ: "WSGIEnvironment") -> bytes:
    """Return the body: as long as it is said to be, or to its end where the server knows that."""
    stream = environ["wsgi.input"]
    if environ.get("wsgi.input_terminated"):
        return cast("bytes", stream.read())
    length = int(environ.get("CONTENT_LENGTH") or 0)
    body = cast("bytes", stream.read(length))
    if len(body) < length:
        raise ValueError(f"the body ends after {len(body)} of {length} bytes")
    return body


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


def _refuse_depth(value: object, body: bytes) -> None:
    """Refuse what would exhaust the stack of those who walk it after us, as validation does."""
    if body.count(b"[") + body.count(b"{") <= _LIMIT_LEVELS:
        return
    level = [value]
    for _ in range(_LIMIT_LEVELS):
        level = [inner for item in level for inner in _inside(item)]
    if level:
        raise ValueError(f"more than {_LIMIT_LEVELS} levels")


def _inside(value: object) -> Iterable[object]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def _refuse_unstorable(value: object) -> None:
    for text in _texts(value):
        text.encode()
        if "\0" in text:
            raise ValueError("NUL is not allowed")


def _texts(value: object) -> Iterator[str]:
    """Yield all strings in the value, keys too."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from value
        yield from _texts(list(value.values()))
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)
