"""Errors as responses: an exception becomes the response that :mod:`placement.errors` defines."""

import logging
from functools import partial
from wsgiref.types import WSGIEnvironment

import webob
import webob.exc

from placement import errors, exception, microversion
from placement.http.request import JSON, REQUEST_ID, Request

LOG = logging.getLogger(__name__)

_CODES_SINCE = (1, 23)
_LONGEST_DETAIL = 6000
_LONGEST_QUOTED = 1000
_QUOTED = {"REQUEST_METHOD": "-", "CONTENT_TYPE": "None", "HTTP_ACCEPT": JSON}


def unexpected(request: Request, error: Exception) -> webob.Response:
    """Log the unexpected exception that is being handled, and return its error document."""
    LOG.exception("Placement API unexpected error")
    return error_response(request, error)


def error_response(request: Request, error: Exception) -> webob.Response:
    """Return the error document: JSON, or HTML or plain text according to ``accept``."""
    http_error = errors.http_error(error)
    _make_quotable(request.environ)
    response = webob.exc.status_map[http_error.status](
        detail=_printable(_text(request, error)),
        headers=http_error.headers,
        json_formatter=partial(_document, request, error, http_error),
    )
    if isinstance(error, exception.MethodNotAllowed) and error.allowed:
        response.headers["allow"] = ", ".join(error.allowed)
    if http_error is not errors.UNEXPECTED:
        add_version_headers(request, response)
    return response


def _text(request: Request, error: Exception) -> str:
    """Return the message for the client; of an unexpected error, where to find it in the log.

    It could contain statements and rows of the database.
    """
    if isinstance(error, exception.PlacementException) and error.newer:
        since = microversion.exists_from(error.newer.first, request.version)
        return f"{str(error).removesuffix('.')}. {error.newer.form} {since}"
    if errors.http_error(error) is not errors.UNEXPECTED:
        return str(error)
    request_id = request.environ.get(REQUEST_ID)
    return f"The request failed unexpectedly. The log of the service has the reason: {request_id}."


def _make_quotable(environ: WSGIEnvironment) -> None:
    """Replace what WebOb's texts quote of the request if it is missing or very long."""
    for name, other in _QUOTED.items():
        if not 0 < len(environ.get(name) or "") <= _LONGEST_QUOTED:
            environ[name] = other


def _document(
    request: Request,
    error: Exception,
    http_error: errors.HttpError,
    *,
    body: str,
    title: str,
    **_: object,
) -> dict[str, object]:
    """Return the error document; ``body`` is WebOb's text with the detail in it."""
    detail = webob.exc.strip_tags(body)
    document: dict[str, object] = {
        "status": http_error.status,
        "title": title,
        "detail": detail,
    }
    version = request.known_version
    if version is not None and version >= _CODES_SINCE:
        document["code"] = http_error.code
    if isinstance(error, exception.UnacceptableVersion):
        document |= {"max_version": error.max_version, "min_version": error.min_version}
    document["request_id"] = request.environ.get(REQUEST_ID)
    return {"errors": [document]}


def _printable(text: str) -> str:
    """Return the text encodable in UTF-8 and shortened to 6000 characters.

    WebOb searches it for tags in time quadratic in the number of ``<``: a quoted body of 100 kB
    of them took a minute.
    """
    if len(text) > _LONGEST_DETAIL:
        text = f"{text[:_LONGEST_DETAIL]} ..."
    return text.encode(errors="backslashreplace").decode()


def add_version_headers(request: Request, response: webob.Response) -> None:
    """Add the microversion to the response, if it is negotiated."""
    version = request.known_version
    if version is not None:
        headers = response.headerlist
        vary_values = [value for name, value in headers if name.lower() == "vary"]
        if vary_values:
            del response.headers["vary"]
        headers.append((microversion.HEADER, f"{microversion.SERVICE_TYPE} {version}"))
        headers.append(("vary", ", ".join((microversion.HEADER, *filter(None, vary_values)))))
