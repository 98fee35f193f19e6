"""Responses of handlers: JSON, as a whole or streamed, and responses without a body."""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import format_datetime
from functools import partial
from types import EllipsisType
from typing import Any
from urllib.parse import quote

import webob

from placement.http.request import JSON, Request

_TIMES_SINCE = (1, 15)
_LONGEST_IN_MEMORY_BYTES = 32 * 2**20


@dataclass(frozen=True, slots=True)
class StreamedBody:
    """A body that is written in pieces while it is sent; it is never in memory as a whole."""

    write: Callable[[], Iterable[bytes]]
    length: int


def body_of(
    write: Callable[[Callable[[], None]], Iterable[bytes]], check_deadline: Callable[[], None]
) -> bytes | StreamedBody:
    """Return a body as a whole if it is short.

    A long body is written twice: within the deadline, to compute its length, which some servers
    need to end the response, and while it is sent.
    """
    kept: list[bytes] = []
    length = 0
    for piece in write(check_deadline):
        length += len(piece)
        if length <= _LONGEST_IN_MEMORY_BYTES:
            kept.append(piece)
        else:
            kept.clear()
    if length <= _LONGEST_IN_MEMORY_BYTES:
        return b"".join(kept)
    return StreamedBody(partial(write, lambda: None), length)


def json_response(
    request: Request,
    document: bytes | StreamedBody | Mapping[str, Any] | None,
    *,
    status: int = 200,
    modified_at: datetime | EllipsisType | None = ...,
    location: str | None = None,
) -> webob.Response:
    """Return a response with a JSON body, of a text or of a document; with None, without a body.

    ``modified_at`` (naive UTC; None means now) is sent since 1.15, with ``cache-control``; by
    default it is not sent.
    ``location`` is a path below the mount point: ``/traits/CUSTOM_A``.
    """
    if document is None:
        # by default, WebOb adds a Content-Type to 201, and no Content-Length to 204
        length = [("Content-Length", "0")]
        response = webob.Response(status=status, headerlist=length, app_iter=[b""])
    elif isinstance(document, StreamedBody):
        response = webob.Response(status=status, content_type=JSON, charset=None)
        response.app_iter = document.write()
        response.content_length = document.length
    else:
        body = document if isinstance(document, bytes) else json.dumps(document).encode("ascii")
        response = webob.Response(body, status=status, content_type=JSON, charset=None)
    headers = response.headerlist  # a new response has none of these headers
    if modified_at is not ... and request.version >= _TIMES_SINCE:
        moment = (modified_at or datetime.now(UTC)).replace(tzinfo=UTC)
        headers.append(("Last-Modified", format_datetime(moment, usegmt=True)))
        headers.append(("cache-control", "no-cache"))
    if location is not None:
        headers.append(("location", request.application_url + quote(location)))
    return response


no_content = partial(json_response, document=None, status=204)
"""Returns a response without a body, by default 204."""
