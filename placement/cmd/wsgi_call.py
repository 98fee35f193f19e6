"""Calls of a WSGI application in a thread (PEP 3333)."""

import logging
import re
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from email.utils import formatdate
from functools import partial
from tempfile import SpooledTemporaryFile
from typing import IO, Any
from urllib.parse import unquote
from wsgiref.types import WSGIApplication, WSGIEnvironment

import h11

from placement import exception
from placement.http.middleware import AfterResponse
from placement.http.request import Request
from placement.http.request_log import RequestLog, refuse

LOG = logging.getLogger(__name__)

_REQUEST_LINE = re.compile(r"([A-Z]{1,20}) (/[^ ?]{0,1000})")
_SCHEME_AND_HOST = re.compile(r"\Ahttps?://[^/?]*", re.IGNORECASE)  # a target may have them
_INVALID_VALUE = re.compile(r"[^\t -~\x80-\xff]")
_WITHOUT_BODY = ("204", "304")
_RESPONSE_MEMORY_BYTES = 256 * 2**10  # larger responses are stored in a temporary file


@dataclass(frozen=True, slots=True)
class Response:
    """A response that the application has completed; ``body`` is at its beginning."""

    status: str
    headers: Sequence[tuple[str, str]]
    body: IO[bytes]
    size: int

    def head(self, *, keeps: bool) -> bytes:
        """Return the status line and the headers."""
        headers = [*self.headers, ("Date", formatdate(usegmt=True))]
        if not keeps:
            headers.append(("Connection", "close"))
        lines = [f"HTTP/1.1 {self.status}", *(f"{name}: {value}" for name, value in headers)]
        return "\r\n".join([*lines, "", ""]).encode("latin-1")


def refusal(error: Exception) -> WSGIApplication:
    """Return an application that responds with an error document, and logs the request."""
    return AfterResponse(RequestLog(partial(refuse, error)))


def refused_environment(head: bytes, peer: tuple[str, int]) -> WSGIEnvironment:
    """Return the environment of a request that is not parsed, for the response and the log."""
    line = _REQUEST_LINE.match(head.decode("latin-1"))
    method, path = line.groups() if line else ("-", "")
    values = {"REMOTE_ADDR": peer[0], "REQUEST_METHOD": method, "PATH_INFO": path}
    environ: WSGIEnvironment = Request.blank("/", values).environ
    return environ


def environment(
    request: h11.Request, peer: tuple[str, int], local: tuple[str, int], body: IO[bytes]
) -> WSGIEnvironment:
    """Return the environment of a request."""
    path, _, query = _SCHEME_AND_HOST.sub("", request.target.decode()).partition("?")
    environ: WSGIEnvironment = {
        "REQUEST_METHOD": request.method.decode(),
        "SCRIPT_NAME": "",
        "PATH_INFO": unquote(path, "latin-1"),
        "QUERY_STRING": query,
        "SERVER_NAME": local[0],
        "SERVER_PORT": str(local[1]),
        "SERVER_PROTOCOL": f"HTTP/{request.http_version.decode()}",
        "REMOTE_ADDR": peer[0],
        "REMOTE_PORT": str(peer[1]),
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": "http",
        "wsgi.input": body,
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": True,
        "wsgi.multiprocess": True,
        "wsgi.run_once": False,
    }
    for name, value in request.headers:
        if b"_" not in name:  # X_Auth_Token would be taken for X-Auth-Token
            _add_header(environ, name.decode(), value.decode("latin-1"))
    return environ


def _add_header(environ: WSGIEnvironment, name: str, value: str) -> None:
    key = name.upper().replace("-", "_")
    if key not in {"CONTENT_TYPE", "CONTENT_LENGTH"}:
        key = f"HTTP_{key}"
    environ[key] = f"{environ[key]}, {value}" if key in environ else value


def call(
    application: WSGIApplication, environ: WSGIEnvironment, deliver: Callable[[Response], object]
) -> None:
    """Call the application, deliver its complete response, then close its iterable.

    The client does not wait for what the application does when it is closed.
    """
    try:
        with ExitStack() as closing:
            try:
                response = _respond(application, environ, closing)
            except Exception as error:
                LOG.exception("The response ended unexpectedly")
                response = _respond(refusal(error), environ, closing)
            deliver(response)
    except Exception:
        LOG.exception("The response could not be closed")


def _store(body: IO[bytes], part: bytes) -> None:
    try:
        body.write(part)
    except OSError as error:
        raise exception.BodyNotStored(str(error)) from None


def _respond(
    application: WSGIApplication, environ: WSGIEnvironment, closing: ExitStack
) -> Response:
    status, headers, is_head = "", [], environ["REQUEST_METHOD"] == "HEAD"
    with ExitStack() as if_failed:
        body = if_failed.enter_context(SpooledTemporaryFile(_RESPONSE_MEMORY_BYTES))

        def start(
            new_status: str, new_headers: list[tuple[str, str]], _exc_info: Any = None, /
        ) -> Callable[[bytes], object]:
            nonlocal status, headers
            if any(_INVALID_VALUE.search(value) for _, value in new_headers):
                raise ValueError("a response header has a line break or an invalid character")
            status, headers = new_status, new_headers
            return body.write

        parts = application(environ, start)
        if hasattr(parts, "close"):
            closing.callback(parts.close)
        for part in parts:  # writelines stores all of them in memory first
            if not is_head:
                _store(body, part)
        if not status:
            raise RuntimeError("the application has not started a response")
        if_failed.pop_all()
    size = body.tell()
    body.seek(0)
    has_length = any(name.lower() == "content-length" for name, _ in headers)
    if not (has_length or is_head or status.startswith(_WITHOUT_BODY)):
        headers = [*headers, ("Content-Length", str(size))]
    return Response(status, headers, body, size)
