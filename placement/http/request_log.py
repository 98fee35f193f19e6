"""The outermost middleware: request ids, the request log, and the default ``accept`` header."""

import logging
import re
import uuid
from collections.abc import Callable, Iterable, Mapping, MutableMapping
from functools import partial
from typing import Any
from urllib.parse import quote
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from oslo_middleware.request_id import GLOBAL_REQ_ID, ID_FORMAT

from placement import exception
from placement.events import VERSION
from placement.http.errors import error_response, unexpected
from placement.http.request import AFTER_RESPONSE, JSON, REQUEST_ID, Context, Request

LOG = logging.getLogger("placement.requestlog")  # part of the operator interface

_MAX_HEAD_LENGTH = 2**16  # servers have smaller limits or no limit
_MAX_LOGGED_LENGTH = 1000
_HEADER = "x-openstack-request-id"
_NOSNIFF = ("X-Content-Type-Options", "nosniff")  # no document of another type

# A query string is usually encoded; unencoded characters must not break the log line.
_QUERY_SAFE = "/?:@!$&'()*+,;=-._~%[]{}|^`<>#"


class RequestLog:
    """Gives each request an id, adds it to the response, and logs request and response.

    The line of a response is written after the response: the client does not wait for the log.
    It needs AfterResponse around it. A global request id sent by the caller is added to the log
    lines.
    """

    def __init__(self, application: WSGIApplication) -> None:
        self._application = application

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Handle the request."""
        refusal = _refusal(environ)
        application = self._application if refusal is None else partial(refuse, refusal)
        request_id = _identify(environ)
        if environ.get("HTTP_ACCEPT", "") in {"", "*/*"}:
            environ["HTTP_ACCEPT"] = JSON
        request_line = _request_line(environ)
        LOG.debug("Starting request: %s", request_line)

        def start(
            status: str, headers: list[tuple[str, str]], exc_info: Any = None, /
        ) -> Callable[[bytes], object]:
            if LOG.isEnabledFor(logging.INFO):
                log = partial(_log_response, request_line, status, headers, environ.get(VERSION))
                environ[AFTER_RESPONSE].insert(0, log)  # before the lines of other tasks
            return start_response(
                status,
                [*headers, (_HEADER, request_id), _NOSNIFF],
                exc_info,
            )

        try:
            return application(environ, start)
        except Exception as error:
            # Raised by middleware: PlacementHandler handles exceptions of request handlers.
            response: WSGIApplication = unexpected(Request(environ), error)
            return response(environ, start)


def _refusal(environ: MutableMapping[str, Any]) -> exception.PlacementException | None:
    """Return the error of a request head, None if it is valid; truncates long values."""
    if "PATH_INFO" not in environ or "REQUEST_METHOD" not in environ:
        # uWSGI passes on requests whose first line has no protocol, as in HTTP/0.9
        environ.setdefault("PATH_INFO", "")
        environ.setdefault("REQUEST_METHOD", "-")
        return exception.BadRequest(
            "Malformed request line. Send method, path and protocol, such as: GET / HTTP/1.1"
        )
    if len(environ["PATH_INFO"]) + len(environ.get("QUERY_STRING", "")) > _MAX_HEAD_LENGTH:
        environ["PATH_INFO"] = environ["PATH_INFO"][:_MAX_LOGGED_LENGTH]
        environ["QUERY_STRING"] = environ.get("QUERY_STRING", "")[:_MAX_LOGGED_LENGTH]
        return exception.RequestUriTooLong(_MAX_HEAD_LENGTH)
    headers = (len(value) for name, value in environ.items() if name.startswith("HTTP_"))
    return (
        exception.RequestHeadTooLarge(_MAX_HEAD_LENGTH)
        if sum(headers) > _MAX_HEAD_LENGTH
        else None
    )


def refuse(
    error: Exception, environ: WSGIEnvironment, start_response: StartResponse
) -> Iterable[bytes]:
    """Respond with the error document of an error."""
    response: WSGIApplication = error_response(Request(environ), error)
    return response(environ, start_response)


def _identify(environ: MutableMapping[str, Any]) -> str:
    """Return a new request id, which the log lines of this thread carry from now on."""
    request_id = f"req-{uuid.uuid4()}"
    sent = environ.get("HTTP_X_OPENSTACK_REQUEST_ID", "")
    global_id = sent if re.fullmatch(ID_FORMAT, sent) else None
    environ[REQUEST_ID] = request_id
    environ[GLOBAL_REQ_ID] = global_id
    Context(request_id=request_id, global_request_id=global_id)
    return request_id


def _request_line(environ: Mapping[str, Any]) -> str:
    """Return the client, the method and the URI, encoded for the log."""
    uri = _quoted(environ.get("SCRIPT_NAME", "") + environ.get("PATH_INFO", ""), safe="/")
    if query := environ.get("QUERY_STRING"):
        uri = f"{uri}?{_quoted(query, safe=_QUERY_SAFE)}"
    # proxies write "client, proxy" into X-Forwarded-For; clients can write any text
    client = _quoted((environ.get("REMOTE_ADDR") or "-").replace(", ", ","), safe=":,.[]%")
    return f'{client} "{_quoted(environ["REQUEST_METHOD"], safe="")} {uri}"'


def _quoted(text: str, *, safe: str) -> str:
    return quote(text, safe=safe, encoding="latin-1", errors="replace")


def _log_response(
    request_line: str, status: str, headers: Iterable[tuple[str, str]], version: object
) -> None:
    length = next((value for name, value in headers if name.lower() == "content-length"), "-")
    LOG.info(
        "%s status: %s len: %s microversion: %s",
        request_line,
        status.partition(" ")[0],
        length,
        version or "-",
    )
