"""What a handler gets and gives: the request, answers, and the documents that tell of errors."""

import functools
import logging
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, cast
from urllib.parse import parse_qsl, quote

import webob
import webob.exc
from webob.acceptparse import create_accept_header

from placement import errors, exception, microversion
from placement.http import request_body
from placement.http.context import RequestContext
from placement.microversion import Version

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

    from placement.http.services import Services

LOG = logging.getLogger(__name__)

JSON = "application/json"
REQUEST_ID = "openstack.request_id"
CONTEXT = "placement.context"
VERSION = "placement.version"
SERVICES = "placement.services"
ROUTE = "placement.route"
TEMPLATE = "placement.route.template"

_CODES_SINCE = Version(1, 23)
_TIMES_SINCE = Version(1, 15)
_LONGEST_DETAIL = 6000


class Request(webob.Request):  # type: ignore[misc]
    """One HTTP request, and what the layers above the handler found out about it."""

    @property
    def version(self) -> Version:
        """The version of the interface that the caller speaks."""
        return cast("Version", self.environ[VERSION])

    @property
    def known_version(self) -> Version | None:
        """The same, None as long as it is not negotiated."""
        return cast("Version | None", self.environ.get(VERSION))

    @property
    def context(self) -> RequestContext:
        """The caller: ``request.context.can(rule)``."""
        return cast("RequestContext", self.environ[CONTEXT])

    @property
    def services(self) -> "Services":
        """The services of the service."""
        return cast("Services", self.environ[SERVICES])

    @property
    def route(self) -> dict[str, str]:
        """The parameters in the path, by their names in the declaration of the route."""
        return cast("dict[str, str]", self.environ[ROUTE])

    @property
    def query_pairs(self) -> list[tuple[str, str]]:
        """The parameters of the query string, decoded, in order.

        Raises: BadRequest for what is not UTF-8, and for NUL, which no database stores.
        """
        query = self.environ.get("QUERY_STRING", "")
        if not query:
            return []
        try:
            text = query.encode("latin-1").decode().replace(";", "&")  # both separate
            decoded = parse_qsl(text, keep_blank_values=True, errors="strict")
        except UnicodeError as error:
            raise exception.BadRequest(f"Invalid query string parameters: {error}") from None
        if any("\0" in key or "\0" in value for key, value in decoded):
            raise exception.BadRequest("Invalid query string parameters: NUL is not allowed")
        return decoded

    @property
    def json_body(self) -> Any:
        """The body as Python values.

        Raises: MalformedJson, also for what JSON cannot say (NaN) and no database stores (NUL,
        halves of surrogate pairs).
        """
        return request_body.decoded(self.environ)


# --- what a handler demands of a request -------------------------------------------

HandlerFunction = Callable[[Request], webob.Response]


def accepts_json(handler: HandlerFunction) -> HandlerFunction:
    """Refuse callers that do not accept JSON: for handlers that answer with a body (406)."""

    @functools.wraps(handler)
    def checked(request: Request) -> webob.Response:
        accept = request.environ.get("HTTP_ACCEPT", JSON)
        if accept != JSON and not create_accept_header(accept).acceptable_offers([JSON]):
            raise exception.NotAcceptable
        return handler(request)

    return checked


def requires_json(handler: HandlerFunction) -> HandlerFunction:
    """Refuse bodies that are not said to be JSON: for handlers that read the body (415)."""

    @functools.wraps(handler)
    def checked(request: Request) -> webob.Response:
        media_type = request.environ.get("CONTENT_TYPE", "").partition(";")[0].strip()
        if media_type != JSON:
            raise exception.UnsupportedMediaType(media_type or None)
        return handler(request)

    return checked


# --- what it answers ----------------------------------------------------------------


class Unsent:
    """The answer tells no time of modification."""


UNSENT: Final = Unsent()


def json_response(
    request: Request,
    document: bytes,
    *,
    status: int = 200,
    modified_at: datetime | Unsent | None = UNSENT,
    location: str | None = None,
) -> webob.Response:
    """Return an answer with a JSON body.

    ``modified_at`` (naive UTC; None is now) is told since 1.15, with ``cache-control``.
    ``location`` is a path below the mount point: ``/traits/CUSTOM_A``.
    """
    response = webob.Response(document, status=status, content_type=JSON, charset=None)
    return _completed(request, response, modified_at, location)


def no_content(
    request: Request,
    *,
    status: int = 204,
    modified_at: datetime | Unsent | None = UNSENT,
    location: str | None = None,
) -> webob.Response:
    """Return an answer without a body, 204 or another status; see ``json_response``."""
    response = webob.Response(status=status)
    del response.content_type
    response.content_length = 0
    return _completed(request, response, modified_at, location)


def created(
    request: Request, location: str, *, modified_at: datetime | Unsent | None = UNSENT
) -> webob.Response:
    """Return 201 without a body; see ``json_response``."""
    return no_content(request, status=201, modified_at=modified_at, location=location)


def _completed(
    request: Request,
    response: webob.Response,
    modified_at: datetime | Unsent | None,
    location: str | None,
) -> webob.Response:
    if not isinstance(modified_at, Unsent) and request.version >= _TIMES_SINCE:
        response.last_modified = (modified_at or datetime.now(UTC)).replace(tzinfo=UTC)
        response.headers["cache-control"] = "no-cache"
    if location is not None:
        response.headers["location"] = request.application_url + quote(location)
    return response


# --- errors ---------------------------------------------------------------------------


class PlacementWsgify:
    """A WSGI application made of a function from request to response.

    What the function raises becomes an error document, by ``errors.TABLE``.
    """

    def __init__(self, function: HandlerFunction) -> None:
        self._function = function

    def __call__(
        self, environ: "WSGIEnvironment", start_response: "StartResponse"
    ) -> Iterable[bytes]:
        """Answer the request."""
        request = Request(environ)
        try:
            response = self._function(request)
            _tell_version(request, response)
        except exception.PlacementException as error:
            if isinstance(error, exception.DatabaseUnavailable):
                LOG.warning("%s Reason: %s", error, error.reason)
            response = error_response(request, error)
        except Exception as error:
            response = unexpected(request, error)
        return cast("Iterable[bytes]", response(environ, start_response))


def unexpected(request: Request, error: Exception) -> webob.Response:
    """Return the document for an exception that is being handled, and that nobody foresaw."""
    LOG.exception("Placement API unexpected error")
    return error_response(request, error)


def error_response(request: Request, error: Exception) -> webob.Response:
    """Return the document that tells of the error: JSON, or HTML or text by ``accept``."""
    wire = errors.wire(error)
    response = webob.exc.status_map[wire.status](
        detail=_printable(str(error)),
        headers=wire.headers,
        json_formatter=functools.partial(_document, request, error, wire),
    )
    if isinstance(error, exception.MethodNotAllowed) and error.allowed:
        response.headers["allow"] = ", ".join(error.allowed)
    if wire is not errors.UNEXPECTED:
        _tell_version(request, response)
    return response


def _document(
    request: Request, error: Exception, wire: errors.Wire, body: str, **_: object
) -> dict[str, object]:
    """Return the one error; ``body`` is what WebOb made of its own text and ours."""
    detail = webob.exc.strip_tags(body)
    told: dict[str, object] = {"status": wire.status, "title": wire.title, "detail": detail}
    version = request.known_version
    if version is not None and version >= _CODES_SINCE:
        told["code"] = wire.code
    if isinstance(error, exception.UnacceptableVersion):
        told |= {"max_version": error.max_version, "min_version": error.min_version}
    told["request_id"] = request.environ.get(REQUEST_ID)
    return {"errors": [told]}


def _printable(text: str) -> str:
    """Return the text without what UTF-8 cannot write, and no longer than anybody reads.

    WebOb looks for tags in it, in time that is quadratic in the number of ``<``: a body of
    100 kB of these, quoted whole, took a minute.
    """
    if len(text) > _LONGEST_DETAIL:
        text = f"{text[:_LONGEST_DETAIL]} ..."
    return text.encode(errors="backslashreplace").decode()


def _tell_version(request: Request, response: webob.Response) -> None:
    version = request.known_version
    if version is not None:
        response.headers[microversion.HEADER] = f"{microversion.SERVICE_TYPE} {version}"
        response.headers["vary"] = microversion.HEADER
