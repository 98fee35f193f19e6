"""Requests and responses of handlers: the caller, the services, and errors as responses.

``deploy`` creates the services of a process. ``error_response`` turns an exception of a handler
into the response that :mod:`placement.errors` defines for its class.
"""

import functools
import json
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import format_datetime
from typing import Any, Final, Protocol, cast
from urllib.parse import parse_qsl, quote
from wsgiref.types import WSGIEnvironment

import webob
import webob.exc
from oslo_context.context import RequestContext
from oslo_policy.policy import RuleDefault
from webob.acceptparse import create_accept_header

from placement import errors, exception, microversion
from placement.core.model import ConsumerClaim, IncompleteConsumer
from placement.core.request import CandidateRequest, SearchSettings
from placement.core.snapshot.snapshot import Snapshot
from placement.core.text import is_storable, printable
from placement.db.store import Store
from placement.engine.engine import Engine
from placement.engine.shared import SharedRuns
from placement.events import VERSION, Observer
from placement.http import request_body
from placement.microversion import Version
from placement.policy import Policy

LOG = logging.getLogger(__name__)

JSON = "application/json"
NOSNIFF = ("X-Content-Type-Options", "nosniff")
"""Browsers take no response for a document of another type."""
REQUEST_ID = "openstack.request_id"
CONTEXT = "placement.context"
SERVICES = "placement.services"
ROUTE = "placement.route"
AFTER_RESPONSE = "placement.after_response"

Task = Callable[[], object]

_CODES_SINCE = Version(1, 23)
_TIMES_SINCE = Version(1, 15)
_LONGEST_DETAIL = 6000
_LONGEST_QUOTED = 1000
_QUOTED = {"REQUEST_METHOD": "-", "CONTENT_TYPE": "None", "HTTP_ACCEPT": JSON}
_MAX_PARAMETERS = 2000
_LONGEST_IN_MEMORY_BYTES = 32 * 2**20


class Reports(Protocol):
    """Reports requests without result to operators; implemented by ``insight``."""

    @property
    def is_recording(self) -> bool:
        """Whether requests are recorded."""

    def empty_response(
        self, request: "Request", snapshot: Snapshot, candidate_request: CandidateRequest
    ) -> None:
        """Report, after the response, why there are no candidates."""

    def invalid_names_of(
        self, request: "Request", snapshot: Snapshot, candidate_request: CandidateRequest
    ) -> AbstractContextManager[None]:
        """Return a context that reports that a trait or class does not exist, and raises it."""

    def results_of(
        self, request: "Request", claims: Sequence[ConsumerClaim]
    ) -> AbstractContextManager[None]:
        """Return a context that reports a refusal of the claims, or how they were written."""

    def name_conflicts_of(
        self, request: "Request", name: str, uuid: str
    ) -> AbstractContextManager[None]:
        """Return a context that reports that the name or UUID of a provider is taken."""


@dataclass(frozen=True, slots=True)
class Services:
    """The services of one process: ``request.services`` of each request."""

    store: Store
    store_for_allocations: Store  # retries as [placement]allocation_conflict_retry_count says
    engine: Engine
    policy: Policy
    search: SearchSettings
    incomplete_consumer: IncompleteConsumer
    reports: Reports
    observer: Observer
    shared: SharedRuns = field(default_factory=SharedRuns)
    max_body_bytes: int = 16 * 2**20


class Context(RequestContext):
    """The caller of a request, as policy rules and log lines read it."""

    def get_logging_values(self) -> dict[str, Any]:
        """Return the values for log lines, in which control characters are escaped."""
        values: dict[str, Any] = super().get_logging_values()
        texts = [value for value in values.values() if value.__class__ is str]
        if "".join(texts).isprintable():  # as a whole: every log line has 30 values
            return values
        return {
            name: printable(value) if isinstance(value, str) else value
            for name, value in values.items()
        }


class Request(webob.Request):  # type: ignore[misc]
    """One HTTP request, with its route, microversion and caller."""

    @property
    def version(self) -> Version:
        """The microversion of the request."""
        return cast("Version", self.environ[VERSION])

    @property
    def known_version(self) -> Version | None:
        """The microversion of the request; None before it is negotiated."""
        return cast("Version | None", self.environ.get(VERSION))

    @property
    def context(self) -> Context:
        """The authenticated caller; log lines of the current thread carry its ids."""
        return cast("Context", self.environ[CONTEXT])

    @property
    def services(self) -> Services:
        """The services available to handlers."""
        return cast("Services", self.environ[SERVICES])

    def can(self, rule: RuleDefault, target: Mapping[str, Any] | None = None) -> None:
        """Return if the policy allows this; the default target is the caller's project.

        Raises: PolicyNotAuthorized, ScopeNotAuthorized, PolicyCheckFailed.
        """
        caller = self.context
        if target is None:
            target = {"project_id": caller.project_id, "user_id": caller.user_id}
        decisions = self.services.policy.decisions()
        decisions.authorize(rule.name, target, caller.to_policy_values())

    @property
    def route(self) -> dict[str, str]:
        """The parameters in the path, by their names in the declared route."""
        return cast("dict[str, str]", self.environ[ROUTE])

    @property
    def query_pairs(self) -> list[tuple[str, str]]:
        """The decoded parameters of the query string, in order.

        Raises: BadRequest if it is not UTF-8, contains NUL, which databases cannot store, or has
        too many parameters.
        """
        try:
            # both & and ; are separators
            text = self.query_string.encode("latin-1").decode().replace(";", "&")
            if text.count("&") >= _MAX_PARAMETERS:
                raise exception.BadRequest(
                    f"Invalid query string parameters: more than {_MAX_PARAMETERS} of them"
                )
            decoded = parse_qsl(text, keep_blank_values=True, errors="strict")
        except UnicodeError as error:
            raise exception.BadRequest(f"Invalid query string parameters: {error}") from None
        if not all(is_storable(text) for pair in decoded for text in pair):
            raise exception.BadRequest("Invalid query string parameters: NUL is not allowed")
        return decoded

    def after_response(self, task: Task) -> None:
        """Have the task run once the response has been sent, as ``AfterResponse`` does."""
        self.environ.setdefault(AFTER_RESPONSE, []).append(task)

    @property
    def json_body(self) -> Any:
        """The decoded body; see ``request_body.decode``.

        Raises: RequestBodyTooLarge, BadRequest, MalformedJson.
        """
        return request_body.decode(self.environ, self.services.max_body_bytes)


# --- requirements of handlers --------------------------------------------------------

HandlerFunction = Callable[[Request], webob.Response]


def accepts_json(handler: HandlerFunction) -> HandlerFunction:
    """Decorate a handler that returns a body: 406 unless the client accepts JSON."""

    @functools.wraps(handler)
    def checked(request: Request) -> webob.Response:
        accept = request.environ.get("HTTP_ACCEPT", JSON)
        if accept != JSON and not create_accept_header(accept).acceptable_offers([JSON]):
            raise exception.NotAcceptable
        return handler(request)

    return checked


def requires_json(handler: HandlerFunction) -> HandlerFunction:
    """Decorate a handler that reads the body: 415 unless its media type is JSON."""

    @functools.wraps(handler)
    def checked(request: Request) -> webob.Response:
        media_type = request.environ.get("CONTENT_TYPE", "").partition(";")[0].strip()
        if media_type != JSON:
            raise exception.UnsupportedMediaType(media_type or None)
        return handler(request)

    return checked


# --- responses -----------------------------------------------------------------------


class Omitted:
    """The type of OMITTED: the response has no ``last-modified`` header."""


OMITTED: Final = Omitted()


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
    return StreamedBody(functools.partial(write, lambda: None), length)


def json_response(
    request: Request,
    document: bytes | StreamedBody | Mapping[str, Any],
    *,
    status: int = 200,
    modified_at: datetime | Omitted | None = OMITTED,
    location: str | None = None,
) -> webob.Response:
    """Return a response with a JSON body, of a text or of a document.

    ``modified_at`` (naive UTC; None means now) is sent since 1.15, with ``cache-control``.
    ``location`` is a path below the mount point: ``/traits/CUSTOM_A``.
    """
    if isinstance(document, StreamedBody):
        response = webob.Response(status=status, content_type=JSON, charset=None)
        response.app_iter = document.write()
        response.content_length = document.length
    else:
        body = document if isinstance(document, bytes) else json.dumps(document).encode("ascii")
        response = webob.Response(body, status=status, content_type=JSON, charset=None)
    return _completed(request, response, modified_at, location)


def no_content(
    request: Request,
    *,
    status: int = 204,
    modified_at: datetime | Omitted | None = OMITTED,
    location: str | None = None,
) -> webob.Response:
    """Return a response without a body, 204 or another status; see ``json_response``."""
    # by default, WebOb adds a Content-Type to 201, and no Content-Length to 204
    headers = [("Content-Length", "0")]
    response = webob.Response(status=status, headerlist=headers, app_iter=[b""])
    return _completed(request, response, modified_at, location)


def _completed(
    request: Request,
    response: webob.Response,
    modified_at: datetime | Omitted | None,
    location: str | None,
) -> webob.Response:
    headers = response.headerlist  # a new response has none of these headers
    if not isinstance(modified_at, Omitted) and request.version >= _TIMES_SINCE:
        moment = (modified_at or datetime.now(UTC)).replace(tzinfo=UTC)
        headers.append(("Last-Modified", format_datetime(moment, usegmt=True)))
        headers.append(("cache-control", "no-cache"))
    if location is not None:
        headers.append(("location", request.application_url + quote(location)))
    return response


# --- errors ---------------------------------------------------------------------------


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
        json_formatter=functools.partial(_document, request, error, http_error),
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
